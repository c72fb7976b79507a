"""How to leave a shell, a REPL or a debugger that was started in a session."""

from __future__ import annotations

import re

from agent_pty.core.exit_code import is_shell

_COMMANDS = {
    "bc": "quit",
    "dlv": "exit",
    "gdb": "quit",
    "ghci": ":quit",
    "ipdb": "q",
    "ipython": "exit",
    "irb": "exit",
    "lldb": "quit",
    "lua": "os.exit()",
    "mysql": "quit",
    "node": ".exit",
    "pdb": "q",
    "pdb++": "q",
    "php": "exit",
    "psql": r"\q",
    "python": "exit()",
    "R": "q('no')",
    "redis-cli": "quit",
    "sqlite3": ".quit",
}
_VERSION = re.compile(r"-?[0-9.]+$")


def now_hint(program: str, *, last: bool) -> str:
    """Return one line for a caller whose code left *program* at the keyboard.

    *last*: there is no other program to go back to, so nothing is said about leaving it.

    >>> now_hint("python3.12", last=False)
    'python3.12 reads the keyboard now: the next code runs in it; leave it with: exit()'
    """
    command = None if last else _command(program)
    how = f"; leave it with: {command}" if command else ""
    return f"{program} reads the keyboard now: the next code runs in it{how}"


def _command(program: str) -> str | None:
    name = program.removeprefix("-")
    if is_shell(name):
        return "exit"
    return _COMMANDS.get(name) or _COMMANDS.get(_VERSION.sub("", name))
