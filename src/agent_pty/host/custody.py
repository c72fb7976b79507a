"""What a host gives to a keeper that knows none of its sessions."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from agent_pty.host.session import Session
from agent_pty.keeper.message import Custody


def custody_of(instance: str, session: Session) -> tuple[Custody, Sequence[int]]:
    """Return the message, and the descriptors that come with it."""
    terminal, guard = session.terminal, session.guard
    custody = Custody(
        instance=instance,
        pid=terminal.root.pid,
        birth=terminal.root.birth,
        host_pid=os.getpid(),
        ended=msgspec.to_builtins(terminal.ended),
        spool=True,
        guard=guard is not None,
        execs=[] if guard is None else [one.to_wire() for one in guard.open],
        last_exec=None if guard is None else guard.last,
    )
    given = [terminal.master, terminal.output.spool]
    return custody, given if guard is None else [*given, guard.listener]
