"""`list` where no daemon runs and none has left anything: nothing is started to say so."""

from __future__ import annotations

import os
import stat
import sys

from agent_pty.cli.command import write
from agent_pty.core.layout import Layout
from agent_pty.store import home, log_dir
from agent_pty.store.lock import held


def nothing_to_list(where: Layout) -> bool:
    """Whether there is no session at all; a home that cannot be used is an error, as ever."""
    home.prepare(where)
    log_dir.check(where)
    return not (held(where.daemon_lock) or home.left_behind(where) or _obstructed(where.socket))


def _obstructed(path: str) -> bool:
    """Whether something is there that is no socket: a daemon that is started says what to do."""
    try:
        return not stat.S_ISSOCK(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def list_nothing(words: list[str]) -> int:
    """Print what a daemon without sessions would print."""
    # They import every op; each command that runs in the client imports this file.
    from agent_pty.ops.registry import NO_SESSIONS  # noqa: PLC0415
    from agent_pty.words.agent_pty import parsed  # noqa: PLC0415

    _, options = parsed(words)
    if options.json:
        write("[]\n")
    elif sys.stdout.isatty():
        write(f"{NO_SESSIONS}\n")
    return 0
