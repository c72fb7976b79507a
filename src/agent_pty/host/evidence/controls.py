"""What the daemon asks of the evidence of a host's sessions: events, past screens, proofs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from agent_pty.core.layout import Layout
from agent_pty.host import message
from agent_pty.host.events import encoded
from agent_pty.host.evidence.past_screen import Wanted, past_screen
from agent_pty.host.message import AnyControl, PastEvents
from agent_pty.host.session import Sessions
from agent_pty.ops.past_screen import PastScreen
from agent_pty.store.recording import directory_of


class EvidenceControls:
    """Answers for the sessions of one host."""

    def __init__(self, layout: Layout, sessions: Sessions) -> None:
        self._layout = layout
        self._sessions = sessions
        self.handlers: dict[type[AnyControl], Callable[[Any], Awaitable[Any]]] = {
            message.EventsSince: self._events_since,
            message.SettleEvidence: self._settle,
            message.NoteProof: self._note_proof,
            message.NoteEvent: self._note_event,
            message.ShowPast: self._show_past,
        }

    async def _events_since(self, asked: message.EventsSince) -> PastEvents:
        session = self._sessions.find(asked.instance)
        found, missed = session.events.since(asked.number)
        name, instance = session.spec.name, session.spec.instance
        return PastEvents(
            events=[encoded(one, name=name, instance=instance) for one in found], missed=missed
        )

    async def _settle(self, asked: message.SettleEvidence) -> None:
        await self._sessions.find(asked.instance).settle_evidence()

    async def _note_proof(self, asked: message.NoteProof) -> None:
        self._sessions.find(asked.instance).note_proof(asked)

    async def _note_event(self, asked: message.NoteEvent) -> None:
        by = asked.caller.acting_as("agent")
        self._sessions.find(asked.instance).recorder.note(asked.action, by)

    async def _show_past(self, asked: message.ShowPast) -> PastScreen:
        """Drawing takes its time, so it has a thread of its own."""
        session = self._sessions.get(asked.instance)
        recording = session.recording if session is not None else None
        wanted = Wanted(
            name=asked.name,
            instance=asked.instance,
            directory=directory_of(self._layout.log_dir, asked.instance),
            monotonic_ns=asked.monotonic_ns,
            time=asked.time,
            form=asked.form,
        )
        pending = recording.pending() if recording is not None else []
        return await asyncio.to_thread(past_screen, wanted, pending)
