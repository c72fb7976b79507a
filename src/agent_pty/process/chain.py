"""Catch processes that fork and exit faster than the process table can be read.

Each of them becomes a child of the keeper as soon as its parent has exited, and the list of a
process's children is read in microseconds. Once a new child of the keeper has ended before it
could be judged, new children are stopped first and judged afterwards: a stopped process forks no
successor. Those of other sessions go on at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable

from agent_pty.process import table
from agent_pty.process.spared import is_spared
from agent_pty.process.table import Entry

# Looks in a row that must find nothing new. One look can miss a process that is being handed over
# to the keeper in that moment.
_QUIET_LOOKS = 3
_LONGEST = 0.05


def catch(keeper: int, passed: set[int], owns: Callable[[Entry], bool]) -> list[Entry]:
    """Stop every new child of the keeper for which *owns* is true, with its descendants.

    Children in *passed* were judged before; those that are judged now are added.
    """
    if not hasattr(os, "pidfd_open"):  # macOS
        return []
    caught: list[Entry] = []
    quiet, hasty, deadline = 0, False, time.monotonic() + _LONGEST
    while quiet < _QUIET_LOOKS and time.monotonic() < deadline:
        fresh = [pid for pid in table.children(keeper) if pid not in passed]
        quiet = 0 if fresh else quiet + 1
        for pid in fresh:
            # A process that lives long enough to be judged is stopped only if it is ours.
            if hasty or judged(pid, keeper, owns) is not False:
                hasty = True
                caught += _stopped(pid, keeper, owns)
        passed.update(fresh)
    return caught


def judged(pid: int, keeper: int, owns: Callable[[Entry], bool]) -> bool | None:
    """Return whether *owns* is true for a child of the keeper; None if it ended meanwhile."""
    found = table.entry(pid)
    if found is None or not found.alive:
        return None
    ours = found.ppid == keeper and owns(found)
    now = table.entry(pid)
    return ours if now is not None and now.alive and now.birth == found.birth else None


def _stopped(pid: int, keeper: int, owns: Callable[[Entry], bool]) -> Iterable[Entry]:
    """Stop a process and what it started, if it is ours; else let it go on."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return []
    try:
        signal.pidfd_send_signal(handle, signal.SIGSTOP)
        if judged(pid, keeper, owns):
            return _stopped_family(pid)
        signal.pidfd_send_signal(handle, signal.SIGCONT)
    except OSError:  # it has ended meanwhile
        return []
    finally:
        os.close(handle)
    return []


def _stopped_family(pid: int) -> list[Entry]:
    """Stop the descendants of a stopped process: one may have been forked just before."""
    root = table.entry(pid)
    stopped = [root] if root is not None else []
    for parent in stopped:
        for number in table.children(parent.pid):
            child = table.entry(number)
            if child is not None and child.ppid == parent.pid and not is_spared(child):
                with contextlib.suppress(OSError):
                    os.kill(number, signal.SIGSTOP)
                stopped.append(child)
    return stopped
