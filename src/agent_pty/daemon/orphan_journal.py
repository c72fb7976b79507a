"""The journal of a session that no host has: the daemon writes what becomes of it."""

from __future__ import annotations

import os
from typing import Any

from agent_pty import log
from agent_pty.core.evidence.event import Action
from agent_pty.core.layout import Layout
from agent_pty.daemon.record import Record
from agent_pty.store.journal import Journal
from agent_pty.store.journal_files import ENDING

_DAEMON = {"kind": "system", "transport": "daemon"}


def note(layout: Layout, record: Record, action: Action) -> None:
    """Write one event; a host that hangs may still hold the journal, and then only the log has it.

    The file is synced: nobody else will do it.
    """
    journal = Journal(layout.log_dir, name=record.name, instance=record.instance)
    _write(journal, record.name, action, _DAEMON)


def note_in(path: str, *, name: str, instance: str, action: Action, by: dict[str, Any]) -> None:
    """Write one event into the journal at *path*, of a session that is gone; see `note`."""
    directory, file = os.path.split(path)
    stem = file.removesuffix(ENDING)
    journal = Journal(directory, name=name, instance=instance, file=stem)
    _write(journal, name, action, by)


def _write(journal: Journal, name: str, action: Action, by: dict[str, Any]) -> None:
    try:
        if journal.attempt(action, by) is None:
            log.line(f"daemon: {action} of {name} is not recorded: {journal.problem}")
        journal.sync()
    finally:
        journal.close()
