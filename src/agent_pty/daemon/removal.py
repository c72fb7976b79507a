"""How the record of one past session is removed.

The order of the steps is the rule of this file: copy the record, check the copy, note it in the
index, sign that the journal is removed, remove the files, forget the session. A crash between two
of them loses nothing, and the next `gc` goes on from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from agent_pty.core.evidence.checkpoint import Removal
from agent_pty.core.layout import Layout
from agent_pty.daemon.checkpointing import Checkpointing
from agent_pty.daemon.index import Index
from agent_pty.daemon.lost_sessions import now
from agent_pty.daemon.registry import Registry
from agent_pty.ops.gc import Gc
from agent_pty.ops.model import Exported, PastSession
from agent_pty.store import export
from agent_pty.store.instance_files import InstanceFiles
from agent_pty.store.journal_files import ENDING
from agent_pty.store.signing_key import public_keys
from agent_pty.store.verification import Pause, Signed, verified

MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A past session whose record is due, its files, and its place in the order of age."""

    session: PastSession
    files: InstanceFiles
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What `verify` says of a journal, and which file that was."""

    verdict: str
    detail: str
    count: int
    head: str | None
    file: tuple[int, int, int] | None


class Kept(Exception):
    """A record that is due cannot be removed."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class Remover:
    """Removes records; *pause* is called while files are read, and may raise."""

    def __init__(
        self,
        layout: Layout,
        registry: Registry,
        index: Index,
        checkpoints: Checkpointing,
        pause: Pause,
    ) -> None:
        self._layout = layout
        self._registry = registry
        self._index = index
        self._checkpoints = checkpoints
        self._pause = pause

    async def examine(self, files: InstanceFiles, signed: Signed) -> Examined:
        """Say what `verify` says."""
        return await asyncio.to_thread(self._examined, files, signed)

    def _examined(self, files: InstanceFiles, signed: Signed) -> Examined:
        if files.journal is None:
            return Examined(verdict=MISSING, detail="", count=0, head=None, file=None)
        file = _identity(os.stat(files.journal))
        directory = files.recording
        found = verified(files.journal, signed, recording=directory, pause=self._pause).verdict
        detail = found.error or f"{found.signed} of {found.count} events are signed"
        return Examined(
            verdict=found.result, detail=detail, count=found.count, head=found.head, file=file
        )

    async def remove(
        self, one: Due, found: Examined, signed: Signed, asked: Gc, by: Mapping[str, Any]
    ) -> str | None:
        """Remove a record, or raise `Kept`; return where the copy of it is."""
        session = one.session
        before = signed.removal_of(session.instance)
        if before is not None and (found.file is None or found.head == before.head):
            # An earlier gc has come as far as to sign it.
            if not asked.dry_run:
                with _locked(one.files.journal):
                    self._end(one, found)
            return None if before.removed is UNSET else before.removed.exported_to
        if not asked.force:
            _check(session, found, asked)
        exported_to = await self._export(one, found, signed, asked, by)
        if asked.dry_run:
            return exported_to
        removed = Removal(
            verdict=found.verdict, forced=asked.force, exported_to=exported_to, by=dict(by)
        )
        count, head = _last(found, signed, session.instance)
        with _locked(one.files.journal):
            self._check_unchanged(one.files, found)
            await self._checkpoints.sign_removal(
                session.instance, session.id, count=count, head=head, removed=removed
            )
            self._end(one, found)
        return exported_to

    # -- the copy

    async def _export(
        self, one: Due, found: Examined, signed: Signed, asked: Gc, by: Mapping[str, Any]
    ) -> str | None:
        """Copy a record if that is asked for and was not done before; return where the copy is."""
        known = one.session.exported
        copied_to = known.to if known is not None and known.head == found.head else None
        if asked.export is None or one.files.journal is None:
            return copied_to
        target = f"{asked.export}/{one.session.instance}"
        if copied_to == target or asked.dry_run:
            return target
        about = export.Manifest(
            name=one.session.id,
            instance=one.session.instance,
            journal=os.path.basename(one.files.journal),
            event_count=found.count,
            head_hash=found.head,
            verdict=found.verdict,
            exported_at=now(),
            by=dict(by),
            files=[],
        )
        await asyncio.to_thread(self._copy, asked.export, one.files, signed, about)
        exported = Exported(to=target, at=about.exported_at, head=found.head)
        self._index.note_export(one.session, exported)
        return target

    def _copy(
        self, directory: str, files: InstanceFiles, signed: Signed, about: export.Manifest
    ) -> None:
        keys = public_keys(self._layout.keys)
        final = export.write(directory, files, signed, keys, about, pause=self._pause)
        copy = export.checked(final, keys, pause=self._pause).verdict
        wanted = (about.verdict, about.event_count, about.head_hash)
        if (copy.result, copy.count, copy.head) != wanted:
            raise Kept(f"what is in {final} is not a copy of it", "export to another directory")

    # -- the end

    def _end(self, one: Due, found: Examined) -> None:
        """Remove the files and the place in the index; no request is answered meanwhile.

        Hosts create and rename journals, but only while a session of the name is made or renamed.
        So a file cannot become that of another session between the check and its end.
        """
        self._check_unchanged(one.files, found)
        for path in one.files.others:
            os.unlink(path)
        with contextlib.suppress(OSError):  # there is none, or something else is in it
            os.rmdir(one.files.recording)
        if one.files.journal is not None:  # the last: what is left of a removal is found by it
            os.unlink(one.files.journal)
        self._index.forget(one.session.instance)

    def _check_unchanged(self, files: InstanceFiles, found: Examined) -> None:
        """Refuse to remove a journal that is not, or may soon not be, the one that was examined."""
        if files.journal is None:
            return
        stem = os.path.basename(files.journal).removesuffix(ENDING)
        if self._registry.uses(stem):
            raise Kept("a session of its name is being started", "run gc again")
        if _identity(os.stat(files.journal)) != found.file:
            raise Kept("it was changed meanwhile", "run gc again")


def _check(session: PastSession, found: Examined, asked: Gc) -> None:
    """Refuse to remove what nobody could prove afterwards."""
    which = f"{session.id} --instance {session.instance}"
    if found.verdict == MISSING:
        reason = "its journal is gone, and no gc has removed it"
        raise Kept(reason, "--force takes it off the index, and `verify --all` will say so")
    if found.verdict != "verified":
        remedy = f"`agent-pty verify {which}` checks it; --force removes it all the same"
        raise Kept(f"it is not verified: {found.detail}", remedy)
    exported = session.exported is not None and session.exported.head == found.head
    if not exported and asked.export is None:
        raise Kept("it was not exported", "--export DIR copies it first; --force does without")


def _last(found: Examined, signed: Signed, instance: str) -> tuple[int, str]:
    """Return count and head that are signed with a removal: of a lost journal the last known."""
    last = signed.of(instance)[-1:]
    if found.file is None and last:
        return last[0].count, last[0].head
    return found.count, found.head or ""


@contextlib.contextmanager
def _locked(journal: str | None) -> Iterator[None]:
    """Hold the lock of a journal, if there is one: whoever has it may write."""
    if journal is None:
        yield
        return
    fd = os.open(journal, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Kept("its journal is being written", "run gc again") from None
    finally:
        os.close(fd)


def _identity(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_dev, found.st_ino, found.st_size
