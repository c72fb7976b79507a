"""Fork hosts and daemons from the preloaded keeper: 10 ms instead of 300.

The roles are known by name only, because they belong to layers above the keeper. It imports them so
that its children share the memory, and calls them only in a child.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from agent_pty import log
from agent_pty.keeper.libc import name_process

ROLES = {"daemon": "agent_pty.daemon.serve", "host": "agent_pty.host.serve"}
# Imported by the child alone: what it needs is large, and nobody else may pay for it.
_LATE_ROLES = {"gateway": "agent_pty.gateway.serve"}
_CRASHED = 70
# A child must not run the destructors of the keeper's sockets: their descriptors are closed, and
# the numbers may belong to other files by then. A reference from here keeps the objects alive.
_kept_alive: list[object] = []


def preload() -> None:
    """Import every role, so that the children share the memory pages."""
    for module in ROLES.values():
        importlib.import_module(module)
    gc.collect()
    gc.freeze()


def fork(
    role: str, arguments: dict[str, Any], *, keep_alive: Sequence[object], keep_open: Sequence[int]
) -> int:
    """Fork a *role* that inherits only memory, the log and the descriptors *keep_open*.

    *keep_alive* are objects whose destructors must not run in the child.
    """
    pid = os.fork()
    if pid:
        return pid
    status = _CRASHED
    try:
        _kept_alive.extend(keep_alive)
        _forget(keep_open)
        name_process(role)
        module = importlib.import_module({**ROLES, **_LATE_ROLES}[role])
        main: Callable[[dict[str, Any]], None] = module.main
        main(arguments)
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 0
    except BaseException as error:  # noqa: BLE001  this is a fork: nothing may return from here
        log.error(error)
    finally:
        os._exit(status)


def _forget(keep_open: Sequence[int]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.setsid()
    start = 3
    for fd in [*sorted(keep_open), os.sysconf("SC_OPEN_MAX")]:
        os.closerange(start, fd)
        start = fd + 1
