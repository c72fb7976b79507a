"""A daemon for one command: it ends with it, whatever ends the command.

Another process of ours waits for the end of this one: by a pipe, which the kernel closes also if
this one is killed. It then stops the daemon and removes its home.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator

from agent_pty import log
from agent_pty.cli.lifecycle import stop_daemon
from agent_pty.client.connection import Connection, connect
from agent_pty.core.layout import Layout
from agent_pty.errors import AgentPtyError, DaemonUnreachable
from agent_pty.store import home
from agent_pty.store.lock import Lock

_STARTING_SECONDS = 30.0


@contextlib.contextmanager
def private_daemon(where: Layout) -> Iterator[Connection]:
    """Start a daemon, and connect to it; when the caller is done, nothing of it is left."""
    home.prepare(where)
    read, hold = os.pipe()
    attendant = os.fork()
    if attendant == 0:
        os.close(hold)
        _attend(where, read)
    os.close(read)
    try:
        with connect(where) as connection:
            yield connection
    finally:
        os.close(hold)
        os.waitpid(attendant, 0)


def _attend(where: Layout, read: int) -> None:
    """Wait until our parent has closed its end, or has died; then remove the daemon."""
    status = 1
    try:
        os.setsid()  # Ctrl-C at the terminal is for our parent
        while os.read(read, 1):
            pass
        _remove(where)
        status = 0
    finally:
        os._exit(status)


def _remove(where: Layout) -> None:
    # A daemon that is being started must listen before it can be stopped.
    lock = Lock(where.start_lock)
    lock.acquire(patience=_STARTING_SECONDS)
    lock.release()
    try:
        with contextlib.suppress(DaemonUnreachable):  # it was not started
            stop_daemon(where, keep=False)
        shutil.rmtree(where.home)
    except (AgentPtyError, OSError) as error:
        log.line(f"the daemon of {where.log_dir} is not removed: {error}")
