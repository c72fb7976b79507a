"""`gc`: which records of past sessions are due, and what becomes of each, a page at a time."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from agent_pty.core import retention
from agent_pty.core.layout import Layout
from agent_pty.core.retention import PastRecord
from agent_pty.daemon.checkpointing import Checkpointing
from agent_pty.daemon.index import Index
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.removal import MISSING, Due, Kept, Remover
from agent_pty.errors import BadConfig, BadRequest, DaemonError
from agent_pty.ops.gc import Collected, Gc, Judged
from agent_pty.ops.model import SessionInfo
from agent_pty.store.export import BadExport
from agent_pty.store.instance_files import InstanceFiles, survey
from agent_pty.store.signing_key import public_keys
from agent_pty.store.verification import Signed, read_signed

# An answer is about as many as fit into this time, and into a page.
_PAGE_SECONDS = 1.0
_MOST_JUDGED = 200
# The checked chain of checkpoints is kept as long as somebody may ask for the next page.
_CHAIN_SECONDS = 60.0


class Collector:
    """Carries out `gc`, one request at a time; files are read and copied in threads."""

    def __init__(
        self, layout: Layout, registry: Registry, index: Index, checkpoints: Checkpointing
    ) -> None:
        self._layout = layout
        self._registry = registry
        self._index = index
        self._remover = Remover(layout, registry, index, checkpoints, self._pause)
        self._turn = asyncio.Lock()
        self._stopping = threading.Event()
        self._signed: Signed | None = None
        self._drop: asyncio.TimerHandle | None = None

    def stop(self) -> None:
        """End what is being read or copied: the daemon ends."""
        self._stopping.set()

    def _pause(self) -> None:
        if self._stopping.is_set():
            raise DaemonError("the daemon is ending; what was not removed yet is kept")

    async def collect(self, asked: Gc, by: Mapping[str, Any]) -> Collected:
        """Judge the sessions that are due, as many as fit into an answer."""
        if asked.export is not None and _is_in(asked.export, self._layout.log_dir):
            raise BadRequest(
                f"{asked.export} is in the log directory: choose a place outside of it",
                field="export",
            )
        async with self._turn:
            if asked.after is None:
                self._signed = None
            due = [one for one in await self._due(asked) if one.place > (asked.after or "")]
            judged: list[Judged] = []
            until = time.monotonic() + _PAGE_SECONDS
            for one in due:
                judged.append(await self._judge(one, asked, by))
                left = len(due) - len(judged)
                if left and (time.monotonic() > until or len(judged) == _MOST_JUDGED):
                    return Collected(judged=judged, left=left, next=one.place)
            self._signed = None
            return Collected(judged=judged, left=0, next=None)

    async def _due(self, asked: Gc) -> list[Due]:
        living = self._registry.entries()
        past = {one.instance: one for one in await self._index.past(living)}
        claims = [(one.id, one.instance) for one in [*living, *past.values()]]
        files = await asyncio.to_thread(survey, self._layout.log_dir, claims)
        gone = [instance for instance in past if files[instance].journal is None]
        for instance in gone if not asked.dry_run else ():
            # A gc that was killed at its last step has left it in the index.
            if (await self._chain()).removal_of(instance) is not None:
                self._index.forget(instance)
                del past[instance]
        records = [
            PastRecord(
                instance=instance, ended=_ended(one, files[instance]), size=files[instance].size
            )
            for instance, one in past.items()
        ]
        older_than = None if asked.older_than_ms is None else asked.older_than_ms / 1000
        due = retention.due(
            records,
            now=time.time(),
            older_than=older_than,
            larger_than=asked.larger_than,
            kept_size=sum(files[one.instance].size for one in living),
        )
        return [
            Due(session=past[one.instance], files=files[one.instance], place=one.place)
            for one in due
        ]

    async def _judge(self, one: Due, asked: Gc, by: Mapping[str, Any]) -> Judged:
        session = one.session
        judged = Judged(
            id=session.id,
            instance=session.instance,
            result="kept",
            verdict="unknown",
            event_count=None,
            bytes=one.files.size,
            ended_at=session.ended_at,
        )
        try:
            signed = await self._chain()
            found = await self._remover.examine(one.files, signed)
            count = None if found.verdict == MISSING else found.count
            judged = msgspec.structs.replace(judged, verdict=found.verdict, event_count=count)
            exported_to = await self._remover.remove(one, found, signed, asked, by)
        except Kept as kept:
            return msgspec.structs.replace(judged, reason=kept.reason, remedy=kept.remedy)
        except (BadConfig, OSError, ValueError, BadExport) as error:  # a full disk, a bad key
            remedy = "remove the cause and run gc again"
            return msgspec.structs.replace(judged, reason=str(error), remedy=remedy)
        result = "would_remove" if asked.dry_run else "removed"
        return msgspec.structs.replace(judged, result=result, exported_to=exported_to)

    async def _chain(self) -> Signed:
        """Return the signed checkpoints; they are checked once for all pages of a `gc`."""
        if self._drop is not None:
            self._drop.cancel()
        self._drop = asyncio.get_running_loop().call_later(_CHAIN_SECONDS, self._drop_chain)
        if self._signed is None:
            keys, path = public_keys(self._layout.keys), self._layout.checkpoints
            self._signed = await asyncio.to_thread(read_signed, path, keys, pause=self._pause)
        return self._signed

    def _drop_chain(self) -> None:
        self._signed = None


def _ended(session: SessionInfo, files: InstanceFiles) -> float:
    """Return when a session ended; if nobody saw it, when its journal was last written."""
    at = session.ended_at or session.lost_at
    if at is None and files.changed:
        return files.changed
    return dt.datetime.fromisoformat(at or session.started_at).timestamp()


def _is_in(path: str, directory: str) -> bool:
    inner, outer = os.path.realpath(path), os.path.realpath(directory)
    return os.path.commonpath([inner, outer]) == outer
