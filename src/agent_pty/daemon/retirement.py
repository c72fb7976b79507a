"""What is kept of a session that ends: its place in the index, and a signature of its journal."""

from __future__ import annotations

import msgspec

from agent_pty.daemon.checkpointing import Checkpointing
from agent_pty.daemon.index import Index
from agent_pty.daemon.lost_sessions import now
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.ops.model import Ending, State


class Retirement:
    """See `ending.Past`."""

    def __init__(self, registry: Registry, index: Index, checkpoints: Checkpointing) -> None:
        self._registry = registry
        self._index = index
        self._checkpoints = checkpoints

    def ending(self, record: Record) -> None:
        """Note what is known of the session before it is forgotten: a crash must not lose it."""
        info = self._registry.entry(record)
        if info.state is State.LOST:
            info = msgspec.structs.replace(info, ended_at=now())
        self._index.retire(info)
        self._checkpoints.ending(record.instance, record.name)

    def ended(self, record: Record) -> None:
        """Have its journal signed to the end."""
        self._checkpoints.ended(record.instance)

    def end_all(self) -> None:
        """Every session was ended: how is not known of those whose end nobody has reported.

        Those that run in tmux stay.
        """
        for record in self._registry.records:
            if record.stays_in_tmux:
                continue
            if record.state is State.RUNNING:
                record.exit(Ending(), at=now())
            self.ending(record)
            self._registry.remove(record)
            self.ended(record)
