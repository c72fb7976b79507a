"""The waits of one session: fed with what happens, answered the moment one is met."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_pty.core.condition import (
    Ended,
    Event,
    Look,
    Machine,
    News,
    Output,
    Start,
    Tick,
    machine,
)
from agent_pty.host.terminal.output import Stream
from agent_pty.host.waits.pattern import compiled
from agent_pty.host.waits.view import OVERLAP, STEP, Mark, Sight, window

# Something was drawn: look once for a whole burst, not once per batch.
_LOOK_AFTER = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """The condition that came true, and the text that made it so."""

    condition: str
    failing: bool
    found: str


class ProgramEnded(Exception):
    """The program ended and no condition was met by that."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Waiter:
    mark: Mark
    machines: list[tuple[str, bool, Machine]]
    answer: asyncio.Future[Met]
    seen: int
    drawn: int
    looks: bool
    timer: asyncio.TimerHandle | None = field(default=None)


class Waits:
    """All that is waited for in one session; *news* tells of its cells."""

    def __init__(self, stream: Stream, news: News) -> None:
        self._stream = stream
        self._news = news
        self._waiters: set[_Waiter] = set()
        self._look: asyncio.TimerHandle | None = None

    async def wait(
        self, *, until: Sequence[str], fail_on: Sequence[str], mark: Mark, since: float, ended: bool
    ) -> Met:
        """Return when a condition is met; the caller bounds the time. Cancelling leaves nothing."""
        conditions = [*((text, True) for text in fail_on), *((text, False) for text in until)]
        waiter = _Waiter(
            mark=mark,
            machines=[
                (text, failing, machine(text, compiled=compiled, news=self._news, since=since))
                for text, failing in conditions
            ],
            answer=asyncio.get_running_loop().create_future(),
            seen=mark.place,
            drawn=self._stream.transcript.drawn,
            looks=any(text.startswith("screen:") for text, _ in conditions),
        )
        await self._catch_up(waiter)
        self._begin(waiter)
        if ended and not waiter.answer.done():
            self._feed(waiter, Ended(at=time.monotonic(), view=self._sight(waiter)))
            self._give_up(waiter)
        if waiter.answer.done():
            return waiter.answer.result()
        self._waiters.add(waiter)
        self._arm(waiter)
        try:
            return await waiter.answer
        finally:
            self._drop(waiter)

    async def _catch_up(self, waiter: _Waiter) -> None:
        """Search what came before the call, in steps, so that others get their turn."""
        while not waiter.answer.done() and self._stream.log.committed - waiter.seen > STEP:
            start = max(waiter.mark.place, waiter.seen - OVERLAP)
            end = waiter.seen + STEP
            sight = Sight(self._stream, waiter.mark, start=start, end=end)
            self._feed(waiter, Start(at=time.monotonic(), view=sight))
            waiter.seen = end
            await asyncio.sleep(0)

    def _begin(self, waiter: _Waiter) -> None:
        now, sight = time.monotonic(), self._sight(waiter)
        self._feed(waiter, Start(at=now, view=sight))
        self._feed(waiter, Look(at=now, view=sight))
        waiter.seen = self._stream.log.committed

    def output(self) -> None:
        """Tell every waiter that the program wrote something."""
        if not self._waiters:
            return
        now = time.monotonic()
        sights: dict[tuple[int, int], Sight] = {}
        for waiter in list(self._waiters):
            start = window(self._stream, waiter.mark, waiter.seen)
            sight = sights.setdefault(
                (id(waiter.mark), start), Sight(self._stream, waiter.mark, start=start)
            )
            self._feed(waiter, Output(at=now, view=sight))
            waiter.seen = self._stream.log.committed
            self._arm(waiter)
        if self._look is None and self._drawn():
            self._look = asyncio.get_running_loop().call_later(_LOOK_AFTER, self._look_now)

    def moved(self, mark: Mark) -> None:
        """Go on from a new input: what came before it was searched, its echo is no answer."""
        self._look_if_due()
        for waiter in self._waiters:
            waiter.mark = mark

    def _drawn(self) -> bool:
        transcript = self._stream.transcript
        return transcript.alternate or any(
            waiter.looks or waiter.drawn != transcript.drawn for waiter in self._waiters
        )

    def _look_if_due(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look_now()

    def _look_now(self) -> None:
        self._look = None
        self._tell(lambda waiter: Look(at=time.monotonic(), view=self._sight(waiter)))

    def stir(self) -> None:
        """Something became of a cell, perhaps without any output."""
        self._tell(lambda waiter: Tick(at=time.monotonic(), view=self._sight(waiter)))

    def ended(self) -> None:
        """Tell every waiter that the program is gone, after a look at what it drew last."""
        self._look_if_due()
        self._tell(lambda waiter: Ended(at=time.monotonic(), view=self._sight(waiter)))
        for waiter in list(self._waiters):
            self._give_up(waiter)

    def _tell(self, event: Callable[[_Waiter], Event]) -> None:
        for waiter in list(self._waiters):
            self._feed(waiter, event(waiter))

    def _tick(self, waiter: _Waiter) -> None:
        waiter.timer = None
        self._feed(waiter, Tick(at=time.monotonic(), view=self._sight(waiter)))
        self._arm(waiter)

    def _sight(self, waiter: _Waiter) -> Sight:
        start = window(self._stream, waiter.mark, waiter.seen)
        return Sight(self._stream, waiter.mark, start=start)

    def _feed(self, waiter: _Waiter, event: Event) -> None:
        if waiter.answer.done():
            return
        for condition, failing, test in waiter.machines:
            found = test.feed(event)
            if found is not None and not waiter.answer.done():
                met = Met(condition=condition, failing=failing, found=found)
                waiter.answer.set_result(met)

    def _arm(self, waiter: _Waiter) -> None:
        if waiter.timer is not None:
            waiter.timer.cancel()
            waiter.timer = None
        deadlines = [test.deadline for _, _, test in waiter.machines if test.deadline is not None]
        if deadlines and not waiter.answer.done():
            delay = max(0.0, min(deadlines) - time.monotonic())
            loop = asyncio.get_running_loop()
            waiter.timer = loop.call_later(delay, self._tick, waiter)

    def _give_up(self, waiter: _Waiter) -> None:
        if not waiter.answer.done():
            waiter.answer.set_exception(ProgramEnded())

    def _drop(self, waiter: _Waiter) -> None:
        self._waiters.discard(waiter)
        if waiter.timer is not None:
            waiter.timer.cancel()
