"""A log directory belongs to one daemon.

It has a lock, and a file that names the daemon's socket; a file in the daemon's home names the
directory. So a caller who gives only `--socket` or only `--log-dir` finds the daemon that was
given both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from agent_pty import log
from agent_pty.core.layout import Layout, layout
from agent_pty.errors import DaemonError, DaemonRunning
from agent_pty.store import atomic
from agent_pty.store.lock import Lock, held

# A client that only looks holds the lock for a moment, and a daemon that ends for a little longer.
_PATIENCE = 1.0
_LONGEST_PATH = 4096


def locate(
    env: Mapping[str, str], *, cwd: str, socket: str | None = None, log_dir: str | None = None
) -> Layout:
    """Return the paths of a call: those of `core.layout`, and what is noted in files."""
    where = layout(env, cwd=cwd, socket=socket, log_dir=log_dir, real=os.path.realpath)
    if log_dir is None:
        return where._replace(log_dir=_noted(where.log_dir_note) or where.log_dir)
    owner = _noted(where.owner_note)
    if owner is None or socket is not None or env.get("AGENT_PTY_SOCKET"):
        return where
    return layout(env, cwd=cwd, socket=owner, log_dir=log_dir, real=os.path.realpath)


def check(where: Layout) -> None:
    """Refuse a log directory that cannot be that of the daemon at this socket."""
    owner = _noted(where.owner_note)
    if owner is not None and not _same(owner, where.socket) and held(where.log_lock):
        raise _used(where, owner)
    present = _noted(where.log_dir_note)
    if present is not None and not _same(present, where.log_dir) and held(where.keeper_lock):
        raise DaemonError(
            f"the sessions at {where.socket} use the log directory {present}: "
            f"give that one, or stop them first with `agent-pty stop --socket {where.socket}`",
            log_dir=present,
        )


def claim(where: Layout) -> Lock:
    """Lock the log directory for the daemon at this socket, and note both."""
    lock = Lock(where.log_lock)
    if not lock.acquire(patience=_PATIENCE):
        raise _used(where, _noted(where.owner_note))
    _note(where.owner_note, where.socket)
    _note(where.log_dir_note, where.log_dir)
    return lock


def _used(where: Layout, owner: str | None) -> DaemonRunning:
    by = "another daemon" if owner is None else f"the daemon at {owner}"
    return DaemonRunning(
        f"{where.log_dir} is used by {by}: choose another --log-dir", log_dir=where.log_dir
    )


def _same(one: str, other: str) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _noted(file: str) -> str | None:
    """Return the path that a file contains; None if there is none, or the file is not ours."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        ours = os.fstat(fd).st_uid == os.getuid()
        path = os.fsdecode(os.read(fd, _LONGEST_PATH)) if ours else ""
    except OSError:
        return None
    finally:
        os.close(fd)
    return path if path.startswith("/") else None


def _note(file: str, path: str) -> None:
    """Write a path to a file; the caller must hold the lock."""
    if _noted(file) == path:
        return
    try:
        atomic.replace(file, os.fsencode(path))
    except OSError as error:  # a full disk: the daemon can work, but will not be found this way
        log.line(f"daemon: cannot write {file}: {error}")
