"""What `[permission]` says about a call of the six tools: allowed, denied, or left to a person."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Literal

from agent_pty.core.permission import verdict
from agent_pty.errors import ApprovalRequired, NotPermitted
from agent_pty.store import config
from agent_pty.words.tools.pty_client import Info, PtyClient
from agent_pty.words.tools.tool import ToolOps

What = Literal["terminal_start", "terminal_stop"]
_SHELLS = frozenset({"sh", "bash", "zsh", "fish", "dash", "ksh", "ash"})


async def check_start(client: PtyClient, asked: ToolOps, argv: list[str], cwd: str) -> None:
    """Refuse a program that may not be started."""
    if _asking(client, "terminal_start", [" ".join(argv)]):
        await _permitted(client, asked, "terminal_start", [" ".join(argv)], argv=argv, cwd=cwd)


async def check_stop(client: PtyClient, asked: ToolOps, info: Info) -> None:
    """Refuse to stop a session that may not be stopped."""
    lines = [" ".join(info["argv"])]
    if _asking(client, "terminal_stop", lines):
        about = {"argv": info["argv"], "id": info["id"], "cwd": info["workspace"]}
        await _permitted(client, asked, "terminal_stop", lines, **about)


async def check_lines(
    client: PtyClient, asked: ToolOps, info: Info, lines: Sequence[str | None], cwd: str | None
) -> None:
    """Apply rules about command lines to lines for a shell: there they start programs, too.

    A line of which it is not known what it is cannot be judged, and is refused.
    """
    rules: Any = config.load(client.layout).permission.terminal_start
    if isinstance(rules, str) or os.path.basename(info["argv"][0]).lstrip("-") not in _SHELLS:
        return
    if None in lines:
        raise NotPermitted(
            f"terminal_start has rules for command lines, and what stands on the line of "
            f"{info['id']} is not known after keys that edit it; nothing was typed. Clear it "
            f'with "keys": ["C-c"], then send the whole line as input'
        )
    found = [line.strip() for line in lines if line is not None and line.strip()]
    asking = _asking(client, "terminal_start", found)
    if asking:
        about = {"argv": asking, "id": info["id"], "cwd": cwd}
        await _permitted(client, asked, "terminal_start", asking, **about)


def _asking(client: PtyClient, what: What, lines: Sequence[str]) -> list[str]:
    """Return the lines about which a person must be asked; the file is read anew each time."""
    rules = getattr(config.load(client.layout).permission, what)
    decided = {line: verdict(rules, line) for line in lines}
    for line, action in decided.items():
        if action == "deny":
            where = client.layout.config
            raise NotPermitted(f"{what} is denied for {line!r} by {where}: do it in another way")
    return [line for line, action in decided.items() if action == "ask"]


async def _permitted(
    client: PtyClient, asked: ToolOps, what: What, lines: Sequence[str], **about: Any
) -> None:
    """Use an approval; if there is none, say how the user grants this once, or for ever."""
    try:
        await asked.ask("permit", what=what, **about)
    except ApprovalRequired as error:
        request = error.details.get("request")
        if request is None:  # the user was asked, and said no
            raise
        rows = " and ".join(f'{json.dumps(line)} = "allow"' for line in lines)
        raise ApprovalRequired(
            f"{what} needs a person's permission for {', '.join(map(repr, lines))}; nothing was "
            f"done. Ask the user to permit it once: agent-pty approve --request {request}; or for "
            f'ever: to set {what} = "allow" under [permission], or to write {rows} as the last '
            f"line of [permission.{what}], in {client.layout.config}; then call again",
            **error.details,
        ) from error
