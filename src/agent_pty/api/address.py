"""Which daemon a client speaks to, and how it is started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_pty.core.layout import Layout

# A daemon that has answered `shutdown` has this long to end.
_GONE_SECONDS = 15.0
# The environment may name another daemon than the caller does.
_OF_ANOTHER = ("AGENT_PTY_HOME", "AGENT_PTY_SOCKET")


def located(home: str | os.PathLike[str] | None, socket: str | os.PathLike[str] | None) -> Layout:
    """Return the paths of a daemon: by default those that the command line uses here."""
    from agent_pty.client.directory import here  # noqa: PLC0415  the import of the API is quick
    from agent_pty.store.log_dir import locate  # noqa: PLC0415

    env = dict(os.environ)
    if home is not None:
        for name in _OF_ANOTHER:
            env.pop(name, None)
        env["AGENT_PTY_HOME"] = os.fspath(home)
    return locate(env, cwd=here(), socket=None if socket is None else os.fspath(socket))


def start(where: Layout) -> None:
    """Return when a daemon listens; start one if there is none, as the command line does."""
    from agent_pty.client.connection import connect  # noqa: PLC0415
    from agent_pty.store import home, log_dir  # noqa: PLC0415

    home.prepare(where)
    log_dir.check(where)
    connect(where).close()


def left_behind(where: Layout) -> bool:
    """Whether a dead daemon left a keeper or sessions, which only a new one can end."""
    from agent_pty.store import home  # noqa: PLC0415

    return home.left_behind(where)


def wait_until_gone(where: Layout) -> None:
    """Return when the daemon's process has ended: then its lock is free."""
    import threading  # noqa: PLC0415

    waiter = threading.Thread(target=_take_and_release, args=(where.daemon_lock,), daemon=True)
    waiter.start()
    waiter.join(_GONE_SECONDS)


def _take_and_release(path: str) -> None:
    import fcntl  # noqa: PLC0415

    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
