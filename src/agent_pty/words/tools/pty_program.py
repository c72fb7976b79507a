"""A program that one of the six tools starts: what may be started, and how it is."""

from __future__ import annotations

import os
import re
from typing import Any

from agent_pty.errors import BadRequest, SpawnFailed
from agent_pty.words.tools.pty_arguments import ExecArguments, StartArguments
from agent_pty.words.tools.pty_client import PtyClient
from agent_pty.words.tools.pty_permission import check_start
from agent_pty.words.tools.tool import ToolOps

ROWS, COLS = 40, 120
PREFIX = "p"
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


async def checked(
    client: PtyClient, asked: ToolOps, tool: str, arguments: StartArguments | ExecArguments
) -> tuple[list[str], str]:
    """Return program, arguments and directory of a call, if it is permitted."""
    cwd = _directory(client, arguments.cwd)
    _check_no_shell_line(tool, arguments, cwd)
    argv = [arguments.command, *arguments.args]
    await check_start(client, asked, argv, cwd)
    return argv, cwd


def _directory(client: PtyClient, given: str) -> str:
    return os.path.normpath(os.path.join(client.cwd, os.path.expanduser(given)))


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
            prefix=PREFIX,
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
