"""`pty_start`: a program in a session of its own."""

from __future__ import annotations

import os
import re
from typing import Any

from agent_pty.errors import BadRequest, SpawnFailed
from agent_pty.words.tools.pty_answer import PtyAnswer
from agent_pty.words.tools.pty_arguments import ExecArguments, StartArguments
from agent_pty.words.tools.pty_client import PtyClient
from agent_pty.words.tools.pty_end import retire
from agent_pty.words.tools.tool import ToolOps

ROWS, COLS = 40, 120
_PREFIX = "p"
_OURS = re.compile(rf"{_PREFIX}\d+")
# The daemon forgets those that have exited when there are more than 25: that must not be first.
_MOST_EXITED = 20
_REMEDY = "give an installed program or its path, and a directory that exists as cwd"
_REMEDIES = {
    "ENOENT": "give an installed program or its path as command",
    "EACCES": "make the file executable, or give its interpreter as command and the file in args",
    "ENOEXEC": "it is no program: give its interpreter as command and the file in args",
    "E2BIG": "the arguments are too long: write them to a file",
    "EAGAIN": "there are too many processes: pty_stop what you do not need",
    "ENOMEM": "memory is short: pty_stop what you do not need",
}
# What makes a command a line for a shell. A blank alone may be part of a file's name.
_SHELL_SYNTAX = re.compile(r"[\s|&;<>()$`*?~'\"\\]")


async def start(client: PtyClient, asked: ToolOps, arguments: StartArguments) -> PtyAnswer:
    """Start the program and return at once."""
    argv, cwd = checked(client, "pty_start", arguments)
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
    running = {"state": "running", "exit_code": None, "signal": None}
    return PtyAnswer(body=body, name=name, cursor=0, ended=running)


def checked(
    client: PtyClient, tool: str, arguments: StartArguments | ExecArguments
) -> tuple[list[str], str]:
    """Return program, arguments and directory of a call, if it is permitted."""
    cwd = os.path.normpath(os.path.join(client.cwd, os.path.expanduser(arguments.cwd)))
    _check_no_shell_line(tool, arguments, cwd)
    argv = [arguments.command, *arguments.args]
    client.check("terminal_start", argv)
    return argv, cwd


def _check_no_shell_line(tool: str, arguments: StartArguments | ExecArguments, cwd: str) -> None:
    """Refuse a line for a shell, and show the call that was meant."""
    command = arguments.command
    if arguments.args or not _SHELL_SYNTAX.search(command):
        return
    if os.path.exists(os.path.join(cwd, command)):
        return
    line = command.replace("\\", "\\\\").replace('"', '\\"')
    raise BadRequest(
        f"command is one executable, not a shell line; nothing was started. "
        f'Call: {tool} {{"command": "bash", "args": ["-lc", "{line}"]}}'
    )


async def created(
    client: PtyClient, asked: ToolOps, argv: list[str], cwd: str, **fields: Any
) -> str:
    """Start a program in a session as all six tools know it; return its name."""
    try:
        made = await asked.ask(
            "new",
            argv=argv,
            repo=cwd,
            prefix=_PREFIX,
            rows=ROWS,
            cols=COLS,
            pager=False,
            environment=client.environment,
            **fields,
        )
    except SpawnFailed as error:
        raise _explained(error) from error
    client.files.discard(made["id"])
    return str(made["id"])


def _explained(error: SpawnFailed) -> SpawnFailed:
    """Add the kernel's word for the failure, and what helps."""
    kind = error.details.get("errno")
    remedy = _REMEDIES.get(kind or "", _REMEDY)
    if error.details.get("field") == "repo":
        remedy = "give a directory that exists and that you may enter as cwd"
    code = f" ({kind})" if kind else ""
    return SpawnFailed(f"{error}{code}; nothing was started: {remedy}", **error.details)


async def _retire_oldest(client: PtyClient, asked: ToolOps, sessions: list[dict[str, Any]]) -> None:
    """Keep the sessions of a few programs that have ended; of older ones the text is enough."""
    ended = [one for one in sessions if one["state"] == "exited" and _OURS.fullmatch(one["id"])]
    ended.sort(key=lambda one: one["started_at"])
    for one in ended[:-_MOST_EXITED]:
        await retire(client, asked, one, stopped=False)
