"""The index of sessions: those that run, and past ones until `gc` removes them.

`sessions.json` is a report for people and tools that read files. The truth about sessions that run
is what keeper and hosts hold, that about past ones the file `sessions.json.past`, to which each
session that ends adds a line. What that file does not know, the journals do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from agent_pty import log
from agent_pty.core.layout import Layout
from agent_pty.errors import BadRequest
from agent_pty.ops.model import Ending, Exported, PastSession, SessionInfo, State
from agent_pty.ops.op import LARGEST_PAGE
from agent_pty.store import journal_files, session_index
from agent_pty.store.past_sessions import PastSessions
from agent_pty.store.rebuilt_session import rebuilt

_SOON = 0.1
_LATER = 1.0
# With thousands of past sessions a write takes a while: then this share of the time at most.
_SHARE = 0.05
_LISTED_SECONDS = 10.0

Collect = Callable[[], Sequence[SessionInfo]]


class Index:
    """Written a moment after a change, so that many changes cost one write, and in a thread."""

    def __init__(self, layout: Layout) -> None:
        self._path = layout.session_index
        self._directory = layout.log_dir
        self._past = PastSessions(layout.past_sessions)
        # Those for which there was no room on the disk.
        self._unwritten: dict[str, PastSession] = {}
        self._collect: Collect | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._finding: asyncio.Task[None] | None = None
        self._listed: list[PastSession] = []
        self._forgetting: asyncio.TimerHandle | None = None
        self._earliest = 0.0
        self._failed = False

    # -- a daemon starts

    def endings(self) -> dict[str, Ending]:
        """Return how programs ended, by the instances of their sessions, as was last written."""
        infos = session_index.read(self._path)
        exited = [info for info in infos if info.state is State.EXITED]
        return {info.instance: Ending(code=info.exit_code, signal=info.signal) for info in exited}

    def begin(self, collect: Collect, known: Callable[[], Collection[str]]) -> None:
        """Find what the index does not know of, beside the daemon's other work.

        *known* are the instances of sessions that there are, also of those that are being started.
        """
        finding = self._find_missing(collect, known)
        self._finding = asyncio.get_running_loop().create_task(finding)

    async def _find_missing(self, collect: Collect, known: Callable[[], Collection[str]]) -> None:
        try:
            found = await asyncio.to_thread(self._missing, collect())
        except OSError as error:
            log.line(f"daemon: {self._directory} cannot be searched for past sessions: {error}")
            return
        new = [one for one in found if one.instance not in known()]
        if new:
            log.line(
                f"daemon: {len(new)} past session(s) were not in the index: "
                "what is known of them was taken from their journals"
            )
            self._remember(new)
            self.save(collect)

    def _missing(self, living: Sequence[SessionInfo]) -> list[PastSession]:
        """Return what the journals say of sessions that nobody knows."""
        self._past.tidy()
        known = self._past.read()
        others = journal_files.locate(self._directory, _claims([*living, *known.values()])).others
        return [one for one in map(rebuilt, others) if one is not None]

    # -- past sessions

    def retire(self, info: SessionInfo) -> None:
        """Keep what is known of a session that is about to be forgotten."""
        gone = {"active": False, "host": None, "host_pid": None, "attached": 0, "quiet_ms": None}
        fields = {**msgspec.structs.asdict(info), **gone, "output_paused": None}
        self._remember([PastSession(**fields)])

    def note_export(self, session: PastSession, exported: Exported) -> None:
        """Keep where the record of a past session was copied to; raises if it cannot."""
        self._past.add([msgspec.structs.replace(session, exported=exported)])

    def forget(self, instance: str) -> None:
        """Keep nothing of a past session; raises if that cannot be written."""
        self._unwritten.pop(instance, None)
        self._past.remove(instance)

    def _remember(self, sessions: Iterable[PastSession]) -> None:
        waiting = {**self._unwritten, **{one.instance: one for one in sessions}}
        try:
            self._past.add(waiting.values())
        except OSError as error:
            if not self._unwritten:
                log.line(f"daemon: past sessions cannot be noted now, it is tried again: {error}")
            self._unwritten = waiting
        else:
            self._unwritten = {}

    async def past(self, living: Sequence[SessionInfo]) -> list[PastSession]:
        """Return every past session with where its journal is now, in the order of the contract."""
        if self._finding is not None:
            await asyncio.shield(self._finding)
        return await asyncio.to_thread(self._located, living, dict(self._unwritten))

    async def page(self, living: Sequence[SessionInfo], *, after: str | None) -> list[PastSession]:
        """Return past sessions after an instance, as many as an answer may have."""
        if after in {one.instance for one in living}:  # the last one on a page without past ones
            return []
        past = self._listed if after is not None else []
        if not any(one.instance == after for one in past):
            past = await self.past(living)
        places = {one.instance: place for place, one in enumerate(past, start=1)}
        if after is not None and after not in places:
            raise BadRequest(f"{after} is not in the index, or no longer: begin again without it")
        found, room = list[PastSession](), LARGEST_PAGE
        for one in past[places.get(after or "", 0) :]:
            room -= len(msgspec.json.encode(one))
            if room < 0 and found:
                break
            found.append(one)
        self._keep_listed(past if room < 0 else [])
        return found

    def _keep_listed(self, past: list[PastSession]) -> None:
        """Keep what was read for the next page, which will be asked for soon or not at all."""
        if self._forgetting is not None:
            self._forgetting.cancel()
        self._listed = past
        loop = asyncio.get_running_loop()
        self._forgetting = loop.call_later(_LISTED_SECONDS, self._listed.clear) if past else None

    def _located(
        self, living: Sequence[SessionInfo], unwritten: dict[str, PastSession]
    ) -> list[PastSession]:
        present = {one.instance for one in living}
        known = {**self._past.read(), **unwritten}
        past = [one for one in known.values() if one.instance not in present]
        paths = journal_files.locate(self._directory, _claims([*living, *past])).paths
        found = []
        for one in past:
            usual = journal_files.path_of(self._directory, one.id, one.instance)
            path = paths.get(one.instance, usual)
            found.append(msgspec.structs.replace(one, log_path=path))
        found.sort(key=session_index.order)
        return found

    # -- the file

    def save(self, collect: Collect) -> None:
        """Write the past sessions and what *collect* returns, soon."""
        self._collect = collect
        self._arm(_SOON)

    def _arm(self, delay: float) -> None:
        if self._timer is None and self._writing is None:
            loop = asyncio.get_running_loop()
            delay = max(delay, self._earliest - loop.time())
            self._timer = loop.call_later(delay, self._begin_to_write)

    def _begin_to_write(self) -> None:
        self._timer = None
        self._writing = asyncio.get_running_loop().create_task(self._write())

    async def flush(self) -> None:
        """Write now what was to be written soon; once, also if that fails."""
        if self._writing is not None:
            await asyncio.shield(self._writing)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._write()

    async def _write(self) -> None:
        collect, self._collect = self._collect, None
        if collect is None:
            return
        began, again = time.monotonic(), False
        try:
            if self._unwritten:
                self._remember(())
            await asyncio.to_thread(self._replace, collect(), dict(self._unwritten))
            self._failed, again = False, bool(self._unwritten)
        except OSError as error:
            if not self._failed:
                log.line(f"daemon: cannot write {self._path}: {error}")
            self._failed = again = True
        finally:
            self._writing = None
        now = asyncio.get_running_loop().time()
        self._earliest = now + (time.monotonic() - began) / _SHARE
        if again:  # what has changed must show even if nothing more changes
            self._collect = self._collect or collect
        if self._collect is not None:
            self._arm(_LATER if again else _SOON)

    def _replace(self, living: Sequence[SessionInfo], unwritten: dict[str, PastSession]) -> None:
        session_index.write(self._path, [*living, *self._located(living, unwritten)])


def _claims(sessions: Iterable[SessionInfo]) -> list[tuple[str, str]]:
    return [(one.id, one.instance) for one in sessions]
