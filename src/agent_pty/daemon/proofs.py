"""Proofs of sessions: what of a record they are about, and who does which part of the work.

Files are read and written in a thread, one proof at a time. Requests for the same proof that come
while one is being made share the next. Nothing here holds up whoever writes the record.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

import msgspec

from agent_pty import log
from agent_pty.core.evidence import event as evidence
from agent_pty.core.evidence.claim import BadClaim, parsed_claim
from agent_pty.core.layout import Layout
from agent_pty.core.short_json import shortened
from agent_pty.daemon import orphan_journal
from agent_pty.daemon.checkpointing import Checkpointing
from agent_pty.daemon.past_screens import PastScreens
from agent_pty.daemon.policy import DaemonPolicy
from agent_pty.daemon.proof_work import ProofWork, Subject, Written
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.errors import AgentPtyError, BadRequest, EvidenceUnavailable, UnknownSession
from agent_pty.host import message
from agent_pty.ops.op import LARGEST_PAGE
from agent_pty.ops.past_screen import ScreenAt
from agent_pty.ops.proof import Proof
from agent_pty.ops.proof_model import Bundle
from agent_pty.store import journal_files
from agent_pty.store.journal_reader import first_instance

# What an answer has besides the bundle.
_ENVELOPE = 1024

_Key = tuple[str, str | None, tuple[str, ...]]


class Proofs:
    """Answers `proof`."""

    def __init__(
        self,
        layout: Layout,
        registry: Registry,
        past_screens: PastScreens,
        checkpoints: Checkpointing,
        policy: DaemonPolicy,
    ) -> None:
        self._layout = layout
        self._registry = registry
        self._past_screens = past_screens
        self._checkpoints = checkpoints
        self._policy = policy
        self._turn = asyncio.Lock()
        # Proofs that have not begun yet, which others may share.
        self._waiting: dict[_Key, asyncio.Task[msgspec.Raw]] = {}

    async def make(self, asked: Proof, by: message.Caller) -> msgspec.Raw:
        """Write a proof; return its bundle as JSON, cut to the size of an answer."""
        key = (asked.id, asked.instance, tuple(asked.claims))
        task = self._waiting.get(key)
        if task is None:
            task = _begun(self._in_turn(key, asked, by))
            self._waiting[key] = task
        # Whoever gives up must not take it from the others.
        return await asyncio.shield(task)

    async def _in_turn(self, key: _Key, asked: Proof, by: message.Caller) -> msgspec.Raw:
        try:
            await self._turn.acquire()
        finally:
            del self._waiting[key]
        try:
            return await self._make(asked, by)
        finally:
            self._turn.release()

    async def _make(self, asked: Proof, by: message.Caller) -> msgspec.Raw:
        subject = await asyncio.to_thread(self._find, asked)
        record = self._living(subject.instance)
        if record is not None:
            await self._settle(record)
        whole = await self._sign(subject)
        claims = [parsed_claim(one) for one in asked.claims]
        work = ProofWork(self._layout, subject, claims, self._policy.current)
        await asyncio.to_thread(work.read, whole)
        screen = await self._screen(subject, work) if work.lacks_screen else None
        try:
            written = await asyncio.to_thread(work.write, screen)
        except BadClaim as error:
            raise BadRequest(str(error), field="claims") from error
        await self._note(subject, record, written, by)
        return await asyncio.to_thread(_answer, written.bundle)

    def _find(self, asked: Proof) -> Subject:
        path = journal_files.find(self._layout.log_dir, asked.id, asked.instance)
        if path is None:
            raise UnknownSession(asked.id, asked.instance)
        problem = journal_files.misplaced(path, asked.id, self._checkpoints.names())
        if problem is not None and asked.instance is None:
            raise EvidenceUnavailable(f"{path} proves nothing of session {asked.id}: {problem}")
        instance = asked.instance or first_instance(path) or ""
        return Subject(name=asked.id, instance=instance, journal=path)

    def _living(self, instance: str) -> Record | None:
        found = (one for one in self._registry.records if one.instance == instance)
        return next((one for one in found if one.host is not None), None)

    async def _settle(self, record: Record) -> None:
        """Have the host record how things are now; if it cannot, the record is as it is."""
        try:
            link = await self._registry.link(record)
            await link.control(message.SettleEvidence(instance=record.instance))
        except AgentPtyError as error:
            log.line(f"daemon: the proof of {record.name} is about its record as it is: {error}")

    async def _sign(self, subject: Subject) -> int | None:
        try:
            return await self._checkpoints.sign_now(subject.instance, subject.name)
        except (AgentPtyError, OSError, ValueError) as error:  # a full disk, a key that is none
            log.line(f"daemon: no checkpoint for the proof of {subject.name}: {error!r}")
            return None

    async def _screen(self, subject: Subject, work: ProofWork) -> str | None:
        """Return the screen at the last event, for a session in which nobody has waited."""
        if work.last_event is None:
            return None
        wanted = ScreenAt(
            id=subject.name, instance=subject.instance or None, at=str(work.last_event)
        )
        with contextlib.suppress(AgentPtyError):
            return (await self._past_screens.draw(wanted)).text
        return None

    async def _note(
        self, subject: Subject, record: Record | None, written: Written, by: message.Caller
    ) -> None:
        """Record that the proof was written: by the session's host, or here if it has none."""
        made = written.bundle
        paths = {
            "json_path": made.json_path,
            "markdown_path": made.markdown_path,
            "html_path": made.html_path,
        }
        if record is not None:
            with contextlib.suppress(AgentPtyError):
                link = await self._registry.link(record)
                noted = message.NoteProof(instance=record.instance, by=by, **paths)
                await link.control(noted)
                return
        if not written.intact:
            # To open a damaged journal for writing would set its end aside.
            log.line(f"daemon: the proof of {subject.name} is not noted in its damaged record")
            return
        await asyncio.to_thread(
            orphan_journal.note_in,
            subject.journal,
            name=subject.name,
            instance=subject.instance,
            action=evidence.Proof(**paths),
            by=msgspec.to_builtins(by.acting_as("agent")),
        )
        await self._sign(subject)


def _begun(work: Coroutine[Any, Any, msgspec.Raw]) -> asyncio.Task[msgspec.Raw]:
    return asyncio.get_running_loop().create_task(work)


def _answer(bundle: Bundle) -> msgspec.Raw:
    """Return what all who wait for the proof get, encoded once."""
    return msgspec.Raw(msgspec.json.encode(fitted(bundle)))


def fitted(bundle: Bundle) -> Bundle:
    """Return a bundle that fits into an answer; `left_out` says what only the file has."""
    whole = msgspec.to_builtins(bundle)
    short = shortened(whole, LARGEST_PAGE - _ENVELOPE, rest=bundle.json_path)
    return msgspec.convert(short, Bundle)
