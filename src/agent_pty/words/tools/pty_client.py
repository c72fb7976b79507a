"""One client of the six `pty_*` tools: where its programs start, and what it has been shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_pty.core.layout import Layout
from agent_pty.core.permission import verdict
from agent_pty.core.typed_line import TypedLine
from agent_pty.errors import NotPermitted, UnknownSession, from_wire
from agent_pty.store import config
from agent_pty.store.tombstone import Tombstone, ToolOutput
from agent_pty.words.tools.tool import ToolOps

Info = Mapping[str, Any]
_NAMED = 8
_MOST_ECHOES = 16


@dataclass(slots=True, kw_only=True)
class Known:
    """A session that this client has used: what it was shown of it."""

    name: str
    cursor: int = 0
    exit_shown: bool = False
    # What it typed on the line that is not submitted yet.
    line: TypedLine = field(default_factory=TypedLine)
    # What it typed and submitted, by the cursor before the echo.
    echoes: dict[int, str] = field(default_factory=dict)

    def saw(self, cursor: int) -> None:
        """It was shown the text before a cursor."""
        self.cursor = max(self.cursor, cursor)

    def typed(self, cursor: int, text: str, line: TypedLine) -> None:
        r"""It typed *text* at a cursor, after which *line* stands on the line."""
        self.line = line
        if text.endswith("\r") and text.strip("\r"):
            self.echoes[cursor] = text.replace("\r", "\n")
            while len(self.echoes) > _MOST_ECHOES:
                del self.echoes[next(iter(self.echoes))]

    def saw_exit(self) -> None:
        """It was shown that the program has ended: no notice is due."""
        self.exit_shown = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PtyClient:
    """Its directory and environment (None: the daemon's), and the sessions it has used."""

    layout: Layout
    cwd: str
    environment: dict[str, str] | None = None
    known: dict[str, Known] = field(default_factory=dict)  # by instance

    @property
    def files(self) -> ToolOutput:
        """What is kept on disk for it."""
        return ToolOutput(self.layout.tool_output)

    def knows(self, info: Info) -> Known:
        """Return what this client was shown of a session; from now on it is told of its exit."""
        return self.known.setdefault(info["instance"], Known(name=info["id"]))

    def check(self, what: Literal["terminal_start", "terminal_stop"], argv: Sequence[str]) -> None:
        """Refuse what `[permission]` does not allow; the file is read anew each time."""
        line = " ".join(argv)
        permission = config.load(self.layout).permission
        decided = verdict(getattr(permission, what), line)
        if decided == "allow":
            return
        where = self.layout.config
        if decided == "deny":
            raise NotPermitted(f"{what} is denied for {line!r} by {where}: do it in another way")
        raise NotPermitted(
            f"{what} needs a person's permission for {line!r}: ask the user to set "
            f'{what} = "allow" under [permission], or to write {json.dumps(line)} = "allow" as '
            f"the last line of [permission.{what}], in {where}; then call again"
        )


async def find(client: PtyClient, asked: ToolOps, name: str) -> Info | Tombstone:
    """Return a session, or what is left of it; otherwise name those that exist."""
    sessions = await asked.ask("list")
    for one in sessions:
        if one["id"] == name:
            return one  # type: ignore[no-any-return]
    stone = client.files.find(name)
    if stone is not None:
        return stone
    names = [one["id"] for one in sessions]
    shown = ", ".join(names[:_NAMED]) + (" ..." if len(names) > _NAMED else "")
    rest = f"there are: {shown}" if names else "there are none: pty_start starts one"
    raise from_wire(UnknownSession.code, f"no session {name[:80]!r}; {rest}", {"id": name})
