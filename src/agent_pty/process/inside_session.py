"""Whether a process runs inside of one of our sessions, however it has got away from its parent."""

from __future__ import annotations

from collections.abc import Mapping

from agent_pty.core.process_mark import process_mark
from agent_pty.process import table
from agent_pty.process.tree import INSTANCE_VARIABLE

_MOST_ANCESTORS = 200


def session_of(pid: int, roots: Mapping[str, int]) -> str | None:
    """Return the instance that a process belongs to; *roots* has the program of each instance.

    By the mark in its limits, by its environment, or by its ancestors.
    """
    mark = table.mark(pid)
    if mark is not None:
        return next((one for one in roots if process_mark(one) == mark), None)
    variables = table.environment(pid)
    for instance in roots:
        if f"{INSTANCE_VARIABLE}={instance}".encode() in variables:
            return instance
    return _by_ancestors(pid, {root: instance for instance, root in roots.items()})


def _by_ancestors(pid: int, instances: Mapping[int, str]) -> str | None:
    for _ in range(_MOST_ANCESTORS):
        if pid in instances:
            return instances[pid]
        found = table.entry(pid)
        if found is None or found.ppid <= 1:
            return None
        pid = found.ppid
    return None


def has_terminal(pid: int) -> bool:
    """Whether a process reads from a terminal."""
    try:
        link = table.input_file(pid)
    except OSError:
        return False
    return link.startswith(("/dev/pts/", "/dev/tty"))
