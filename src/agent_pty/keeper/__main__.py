"""`python -m agent_pty.keeper '{"home": ..., "socket": ..., "log_dir": ..., "daemon": true}'`.

Starts the keeper of a home in the background and, if `daemon` is true, the first daemon.
Ends at once, without a message, if the home has a keeper already.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import sys

from agent_pty import build
from agent_pty.core.layout import Layout
from agent_pty.keeper import warm
from agent_pty.keeper.keeper import Keeper
from agent_pty.keeper.libc import adopt_orphans, keep_buffers, name_process
from agent_pty.keeper.listen import listen
from agent_pty.keeper.program import mark_process
from agent_pty.keeper.signals import ignore_foreign
from agent_pty.keeper.upgrade import resumed


def main() -> None:
    """Become the keeper, or end if there is one; after an upgrade, continue as the keeper."""
    _ignore_signals()
    arguments = json.loads(sys.argv[1])
    resume, ready = arguments.pop("resume", None), arguments.pop("ready", None)
    with_daemon = arguments.pop("daemon", False)
    layout = Layout(**arguments)
    keeper = _started(layout, ready, with_daemon=with_daemon) if resume is None else None
    if resume is not None:
        keeper = Keeper.resume(layout, resumed(resume))
        _prepare()
    if keeper is not None:
        keeper.run()
        os.unlink(layout.keeper_socket)


def _started(layout: Layout, ready: int, *, with_daemon: bool) -> Keeper | None:
    """Go into the background and take the lock; None if another keeper has it."""
    os.set_inheritable(ready, False)
    # A lock or pipe of our caller would stay open as long as the keeper and its programs run.
    os.closerange(3, ready)
    os.closerange(ready + 1, os.sysconf("SC_OPEN_MAX"))
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    lock = os.open(layout.keeper_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    listener = listen(layout.keeper_socket)
    _prepare()
    keeper = Keeper(layout, listener, lock=lock)
    if with_daemon:
        keeper.start_daemon(ready)
    else:
        os.write(ready, b"1")
    os.close(ready)
    return keeper


def _ignore_signals() -> None:
    """Ignore Ctrl-C and signals not meant for us: a keeper is nobody's foreground program."""
    ignore_foreign()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _prepare() -> None:
    adopt_orphans()
    mark_process(None)  # we may have been started by a program in a session
    name_process("keeper")
    _raise_file_limit()
    keep_buffers()
    build.digest()  # of the sources as they are now; every process forked from here has it
    warm.preload()


def _raise_file_limit() -> None:
    """Allow one master per session: the usual soft limit of 1,024 is too small."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
