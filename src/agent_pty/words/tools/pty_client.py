"""One client of the six `pty_*` tools: where its programs start, and what it has been shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from agent_pty.core.layout import Layout
from agent_pty.core.typed_line import TypedLine
from agent_pty.errors import UnknownSession, from_wire
from agent_pty.store.tombstone import Tombstone, ToolOutput
from agent_pty.store.tool_client import ClientFile, Shown
from agent_pty.words.tools.tool import ToolOps

Info = Mapping[str, Any]
_NAMED = 8
_MOST_ECHOES = 16
_MOST_CLIENTS = 1000


@dataclass(slots=True, kw_only=True)
class Known:
    """A session that this client has used: what it was shown of it."""

    name: str
    cursor: int = 0
    exit_shown: bool = False
    # The call with which it was told of the exit: repeated, it tells that again.
    notice_in: str = ""
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
        self.exit_shown, self.notice_in = True, ""

    def was_told(self, request: str) -> None:
        """It is told of the exit with the answer to this call."""
        self.exit_shown, self.notice_in = True, request

    def notice_due(self, request: str) -> bool:
        """Whether the answer to this call must tell that the program has ended, if it has."""
        return not self.exit_shown or bool(request and request == self.notice_in)


@dataclass(frozen=True, slots=True, kw_only=True)
class PtyClient:
    """Its directory and environment (None: the daemon's), and the sessions it has used.

    *file* keeps what it was shown, for the next gateway.
    """

    layout: Layout
    cwd: str
    environment: dict[str, str] | None = None
    known: dict[str, Known] = field(default_factory=dict)  # by instance
    file: ClientFile | None = None
    # What others were shown that use the same tools: over HTTP many clients share one server.
    others: dict[str, dict[str, Known]] = field(default_factory=dict)

    @classmethod
    def found_again(cls, layout: Layout, name: str, **facts: Any) -> PtyClient:
        """Return the client of this name, with what it was shown by a gateway before this one."""
        if not name:
            return cls(layout=layout, **facts)
        file = ClientFile(layout.tool_output, name)
        known = {
            instance: Known(**msgspec.structs.asdict(shown))
            for instance, shown in file.load().items()
        }
        return cls(layout=layout, known=known, file=file, **facts)

    def named(self, name: str) -> PtyClient:
        """Return one of the clients that share this; without a name they are one client."""
        if not name:
            return self
        known = self.others[name] = self.others.pop(name, {})
        while len(self.others) > _MOST_CLIENTS:
            del self.others[next(iter(self.others))]
        return dataclasses.replace(self, known=known)

    def save(self) -> None:
        """Keep what it was shown."""
        if self.file is None:
            return
        self.file.save(
            {
                instance: Shown(
                    name=known.name,
                    cursor=known.cursor,
                    exit_shown=known.exit_shown,
                    notice_in=known.notice_in,
                )
                for instance, known in self.known.items()
            }
        )

    def leave(self) -> None:
        """Forget it: it has hung up."""
        if self.file is not None:
            self.file.remove()

    @property
    def files(self) -> ToolOutput:
        """What is kept on disk for it."""
        return ToolOutput(self.layout.tool_output)

    def knows(self, info: Info) -> Known:
        """Return what this client was shown of a session; from now on it is told of its exit."""
        return self.known.setdefault(info["instance"], Known(name=info["id"]))


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
