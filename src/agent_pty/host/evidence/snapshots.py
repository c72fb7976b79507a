"""Snapshots of a session's work tree: when it begins, and after something may have changed it.

A snapshot is recorded as an event of its own if it differs from the one before. It never delays
what is typed: what is recorded is how the tree was soon afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import msgspec

from agent_pty.core.evidence.event import SnapshotFiles
from agent_pty.core.evidence.git_snapshot import GitSnapshot, Skipped
from agent_pty.core.evidence.git_status import FileChange, files_changed
from agent_pty.host import events
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.evidence.tree_looks import BETWEEN_SECONDS, Look, TreeLook, TreeLooks

# How long the answer of a wait may take because of a look.
_ANSWER_SECONDS = 0.1
_LAST_SECONDS = 1.0
_MOST_NAMES = 100
_TEXTS = ("status_short", "diff", "staged_diff")


class Snapshots:
    """A listener that looks at the session's work tree and records what it finds."""

    def __init__(self, directory: str, looks: TreeLooks, recorder: Recorder) -> None:
        self._directory = directory
        self._looks = looks
        self._recorder = recorder
        self._tree: TreeLook | None = None
        self._skipped: str | None = None
        self._changed_at = time.monotonic()
        self._recorded: tuple[GitSnapshot, int] | None = None
        self._ends = False
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Take the first snapshot."""
        self._soon()

    def notice(self, event: events.Event | events.Signal) -> None:
        """Look again after a command, and some time after input of which no end is known."""
        match event:
            case events.Typed(entered=True):
                self._changed_at = time.monotonic()
                self._later()
            case events.CellEnded() | events.Prompt() | events.Exited():
                self._changed_at = time.monotonic()
                self._soon()

    # -- for waits

    async def seen(self) -> tuple[GitSnapshot | None, list[FileChange] | None, str | None]:
        """Return the newest snapshot, the files that it names, and why there is none.

        A snapshot older than the last change says so itself, by its time.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self._look(self._changed_at)
        if self._tree is None:
            return None, None if self._skipped else [], self._skipped
        last = self._tree.last
        if last is None:
            return None, None, "no look at the work tree has ended yet"
        if isinstance(last.found, Skipped):
            return None, None, last.found.why
        return last.found, files_changed(last.found.status_short), None

    def reference(self, snapshot: GitSnapshot | None) -> dict[str, Any] | None:
        """Return what an observation says of a snapshot: all but the diffs, and who has those."""
        if snapshot is None:
            return None
        facts: dict[str, Any] = msgspec.to_builtins(self._cleaned(snapshot))
        same = self._recorded is not None and _same(self._recorded[0], snapshot)
        recorded_in = self._recorded[1] if same and self._recorded is not None else None
        return {**facts, "diff": "", "staged_diff": "", "recorded_in": recorded_in}

    # -- looking

    def _soon(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._record())

    def _later(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(BETWEEN_SECONDS, self._soon)

    async def _look(self, moment: float) -> Look | None:
        found = await self._looks.of(self._directory)
        self._tree = found if isinstance(found, TreeLook) else None
        self._skipped = found.why if isinstance(found, Skipped) else None
        if self._tree is None:
            return None
        if self._ends:
            self._tree.hurry()
        return await self._tree.after(moment)

    async def _record(self) -> None:
        try:
            moment = None
            while moment != self._changed_at:  # something happened during the look
                moment = self._changed_at
                found = await self._look(moment)
                if found is not None and isinstance(found.found, GitSnapshot):
                    self._note(found.found)
        finally:
            self._task = None

    def _note(self, snapshot: GitSnapshot) -> None:
        if self._recorded is not None and _same(self._recorded[0], snapshot):
            return
        names = [self._recorder.clean(one.path) for one in files_changed(snapshot.status_short)]
        place = self._recorder.note_snapshot(
            SnapshotFiles(globs=names[:_MOST_NAMES], changed=len(names)),
            msgspec.to_builtins(self._cleaned(snapshot)),
        )
        if place is not None:
            self._recorded = snapshot, place

    def _cleaned(self, snapshot: GitSnapshot) -> GitSnapshot:
        clean = self._recorder.clean
        return msgspec.structs.replace(
            snapshot, **{name: clean(getattr(snapshot, name)) for name in _TEXTS}
        )

    async def catch_up(self) -> None:
        """Record how the tree is now, within a bounded time."""
        self._changed_at = time.monotonic()
        self._soon()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                while self._task is not None:
                    if self._tree is not None:
                        self._tree.hurry()
                    await asyncio.shield(self._task)

    async def finish(self) -> None:
        """Take the last snapshot, of a session that has ended, within a bounded time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                self._ends = True
                if self._tree is not None:
                    self._tree.hurry()
                while self._task is not None:
                    await asyncio.shield(self._task)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()


def _same(one: GitSnapshot, other: GitSnapshot) -> bool:
    return msgspec.structs.replace(one, taken_at="") == msgspec.structs.replace(other, taken_at="")
