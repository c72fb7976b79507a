"""`python -m agent_pty.keeper '{"home": ..., "socket": ..., "log_dir": ..., "daemon": true}'`.

Starts the keeper of a home in the background, and the first daemon with it if asked.
Ends at once, without a word, if the home has a keeper already.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import sys

from agent_pty.core.layout import Layout
from agent_pty.keeper import warm
from agent_pty.keeper.keeper import Keeper
from agent_pty.keeper.libc import adopt_orphans, keep_buffers, name_process
from agent_pty.keeper.listen import listen


def main() -> None:
    """Become the keeper, or leave if there is one."""
    arguments = json.loads(sys.argv[1])
    with_daemon, ready = arguments.pop("daemon", False), arguments.pop("ready")
    layout = Layout(**arguments)
    os.set_inheritable(ready, False)
    # A lock or pipe of whoever started us would be held as long as we and our programs live.
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
        return
    listener = listen(layout.keeper_socket)
    adopt_orphans()
    name_process("keeper")
    _raise_file_limit()
    keep_buffers()
    warm.preload()
    if with_daemon:
        warm.fork(
            "daemon", {"layout": layout.to_wire(), "ready": ready}, bury=[listener], keep=[ready]
        )
    else:
        os.write(ready, b"1")
    os.close(ready)
    Keeper(layout, listener).run()
    os.unlink(layout.keeper_socket)


def _raise_file_limit() -> None:
    """One master per session: the usual soft limit of 1,024 is too small."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
