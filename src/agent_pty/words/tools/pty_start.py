"""`pty_start`: a program in a session of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from agent_pty.words.tools.pty_answer import PtyAnswer
from agent_pty.words.tools.pty_arguments import ReadArguments, StartArguments
from agent_pty.words.tools.pty_client import PtyClient
from agent_pty.words.tools.pty_end import retire
from agent_pty.words.tools.pty_program import COLS, PREFIX, ROWS, checked, created
from agent_pty.words.tools.pty_read import read
from agent_pty.words.tools.tool import ToolOps

_OURS = re.compile(rf"{PREFIX}\d+")
# The daemon forgets those that have exited when there are more than 25: that must not be first.
_MOST_EXITED = 20
# With until alone.
_WAIT_MS = 2000


async def start(client: PtyClient, asked: ToolOps, arguments: StartArguments) -> PtyAnswer:
    """Start the program; return at once, or with `wait_ms` what it shows first."""
    argv, cwd = await checked(client, asked, "pty_start", arguments)
    name = await created(client, asked, argv, cwd, title=arguments.title or None)
    sessions = await asked.ask("list")
    mine = next(one for one in sessions if one["id"] == name)
    client.knows(mine)
    body = f"started {name}: {' '.join(argv)} ({ROWS} rows, {COLS} columns)\n"
    for one in sessions:
        same = all(one[fact] == mine[fact] for fact in ("argv", "workspace"))
        if same and one["id"] != name and one["state"] == "running":
            body += f"[{one['id']} runs the same command here already]\n"
    await _retire_oldest(client, asked, sessions)
    if not arguments.wait_ms and arguments.until is None:
        running = {"state": "running", "exit_code": None, "signal": None}
        return PtyAnswer(body=body, name=name, cursor=0, ended=running)
    wanted = ReadArguments(
        id=name, since=0, wait_ms=arguments.wait_ms or _WAIT_MS, until=arguments.until
    )
    seen = await read(client, asked, wanted)
    return replace(seen, body=body + seen.body)


async def _retire_oldest(client: PtyClient, asked: ToolOps, sessions: list[dict[str, Any]]) -> None:
    """Keep the sessions of a few programs that have ended; of older ones the text is enough."""
    ended = [one for one in sessions if one["state"] == "exited" and _OURS.fullmatch(one["id"])]
    ended.sort(key=lambda one: one["started_at"])
    for one in ended[:-_MOST_EXITED]:
        await retire(client, asked, one, stopped=False)
