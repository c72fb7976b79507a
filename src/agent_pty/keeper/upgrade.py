"""Upgrade the keeper in place: the same process runs another build, with the same descriptors.

The pid stays the same, so the programs remain children of the keeper: it still gets their exit
codes and still adopts processes that outlive them. Connections are not kept; hosts and daemons
connect again.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
from collections.abc import Sequence
from typing import Any, NoReturn

from agent_pty.core.layout import Layout
from agent_pty.keeper.program import FILES


def become(
    command: Sequence[str], layout: Layout, state: dict[str, Any], fds: Sequence[int]
) -> NoReturn:
    """Replace this process by *command*, which gets *state* and keeps *fds*; raise on failure."""
    saved = _saved({**state, "fds": list(fds)})
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    for fd in (*fds, saved):
        os.set_inheritable(fd, True)
    try:
        # Programs get the limit that the keeper is started with.
        resource.setrlimit(resource.RLIMIT_NOFILE, FILES)
        words = json.dumps({**layout.to_wire(), "resume": saved})
        os.execv(command[0], [*command, "-m", "agent_pty.keeper", words])
    finally:  # reached only if exec failed
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        os.close(saved)
        for fd in fds:
            os.set_inheritable(fd, False)


def _saved(state: dict[str, Any]) -> int:
    """Write the state to a file without a name: an argument can have at most 128 KiB."""
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(state).encode())
        file.flush()
        file.seek(0)
        return os.dup(file.fileno())


def resumed(fd: int) -> dict[str, Any]:
    """Return the state that the previous build saved."""
    with open(fd, "rb") as file:
        state: dict[str, Any] = json.load(file)
    for inherited in state["fds"]:
        os.set_inheritable(inherited, False)
    return state
