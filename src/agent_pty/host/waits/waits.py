"""The waits of one session: fed with what happens, answered the moment one is met."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from agent_pty.core.condition import (
    AnyOf,
    CellOutcome,
    Ended,
    Event,
    Met,
    Output,
    ScreenDrawn,
    Start,
    Tick,
    machine,
)
from agent_pty.core.pattern import compiled
from agent_pty.host import events
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.waits.view import (
    OVERLAP,
    STEP,
    InputPoint,
    TextView,
    point_now,
    prompt_is_marked,
    window,
)

# After something was drawn, search the screen once for a whole burst, not once per batch.
_SEARCH_AFTER = 0.005


class ProgramEnded(Exception):
    """The program ended and no condition was met by that."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Waiter:
    point: InputPoint
    conditions: AnyOf
    answer: asyncio.Future[Met]
    seen: int
    drawn: int
    screen_only: bool
    timer: asyncio.TimerHandle | None = field(default=None)


class Waits:
    """A listener: everything that is waited for; *outcome* says how a cell ended."""

    def __init__(self, output: TerminalOutput, outcome: CellOutcome) -> None:
        self._output = output
        self._outcome = outcome
        self._last_input = InputPoint(place=output.log.place(output.input_cursor))
        self._waiters: set[_Waiter] = set()
        self._search: asyncio.TimerHandle | None = None
        self._waited_at = 0.0

    @property
    def last_input(self) -> InputPoint:
        """What a wait looks back to if nobody says otherwise."""
        return self._last_input

    @property
    def any_pending(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiters)

    @property
    def waited_at(self) -> float:
        """When the last wait ended; 0 if nobody has waited yet."""
        return self._waited_at

    def notice(self, event: events.Event | events.Signal) -> None:
        """Test what this event may have changed."""
        match event:
            case events.Batch():
                self._wrote()
            case events.Typed(echo=echo, entered=entered):
                self._moved(point_now(self._output, typed=echo, entered=entered))
            case events.CellChanged():
                self._tell(lambda waiter: Tick(at=time.monotonic(), view=self._view(waiter)))
            case events.Exited() | events.Lost():
                self.close()

    async def wait(
        self,
        *,
        until: Sequence[str],
        fail_on: Sequence[str],
        point: InputPoint,
        since: float,
        ended: bool,
    ) -> Met:
        """Return when a condition is met; the caller bounds the time. Cancelling leaves nothing."""
        conditions = [*((text, True) for text in fail_on), *((text, False) for text in until)]
        made = [
            (text, failing, machine(text, compiled=compiled, outcome=self._outcome, since=since))
            for text, failing in conditions
        ]
        waiter = _Waiter(
            point=point,
            conditions=AnyOf(made),
            answer=asyncio.get_running_loop().create_future(),
            seen=point.place,
            drawn=self._output.transcript.drawn,
            screen_only=any(text.startswith("screen:") for text, _ in conditions),
        )
        await self._catch_up(waiter)
        self._begin(waiter)
        if ended and not waiter.answer.done():
            self._feed(waiter, Ended(at=time.monotonic(), view=self._view(waiter)))
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
        """Search what came before the call, in steps, so that others are served in between."""
        while not waiter.answer.done() and self._output.log.committed - waiter.seen > STEP:
            start = max(waiter.point.place, waiter.seen - OVERLAP)
            end = waiter.seen + STEP
            view = TextView(self._output, waiter.point, start=start, end=end)
            self._feed(waiter, Start(at=time.monotonic(), view=view))
            waiter.seen = end
            await asyncio.sleep(0)

    def _begin(self, waiter: _Waiter) -> None:
        now, view = time.monotonic(), self._view(waiter)
        self._feed(waiter, Start(at=now, view=view))
        self._feed(waiter, ScreenDrawn(at=now, view=view))
        waiter.seen = self._output.log.committed

    def _wrote(self) -> None:
        """Tell every waiter that the program wrote something."""
        if not self._waiters:
            return
        now = time.monotonic()
        views: dict[tuple[int, int], TextView] = {}
        for waiter in list(self._waiters):
            start = window(self._output, waiter.point, waiter.seen)
            view = views.setdefault(
                (id(waiter.point), start), TextView(self._output, waiter.point, start=start)
            )
            self._feed(waiter, Output(at=now, view=view))
            waiter.seen = self._output.log.committed
            self._arm(waiter)
        if self._search is None and self._drawn():
            loop = asyncio.get_running_loop()
            self._search = loop.call_later(_SEARCH_AFTER, self._search_screen)

    def _moved(self, point: InputPoint) -> None:
        """Continue from a new input: what came before was searched, its echo is no answer."""
        self._search_if_due()
        self._last_input = point
        for waiter in self._waiters:
            waiter.point = point

    def _drawn(self) -> bool:
        transcript = self._output.transcript
        return transcript.alternate or any(
            waiter.screen_only or waiter.drawn != transcript.drawn for waiter in self._waiters
        )

    def _search_if_due(self) -> None:
        if self._search is not None:
            self._search.cancel()
            self._search_screen()

    def _search_screen(self) -> None:
        self._search = None
        self._tell(lambda waiter: ScreenDrawn(at=time.monotonic(), view=self._view(waiter)))

    def close(self) -> None:
        """Tell every waiter that the program is gone, after a last search of the screen."""
        self._search_if_due()
        self._tell(lambda waiter: Ended(at=time.monotonic(), view=self._view(waiter)))
        for waiter in list(self._waiters):
            self._give_up(waiter)

    def _tell(self, event: Callable[[_Waiter], Event]) -> None:
        for waiter in list(self._waiters):
            self._feed(waiter, event(waiter))

    def _tick(self, waiter: _Waiter) -> None:
        waiter.timer = None
        self._feed(waiter, Tick(at=time.monotonic(), view=self._view(waiter)))
        self._arm(waiter)

    def _view(self, waiter: _Waiter) -> TextView:
        start = window(self._output, waiter.point, waiter.seen)
        return TextView(self._output, waiter.point, start=start)

    def _feed(self, waiter: _Waiter, event: Event) -> None:
        if waiter.answer.done():
            return
        met = waiter.conditions.feed(event)
        if met is None:
            return
        guess = met.condition == "prompt" and not prompt_is_marked(self._output, waiter.point)
        waiter.answer.set_result(replace(met, guess=guess))

    def _arm(self, waiter: _Waiter) -> None:
        if waiter.timer is not None:
            waiter.timer.cancel()
            waiter.timer = None
        deadline = waiter.conditions.deadline
        if deadline is not None and not waiter.answer.done():
            delay = max(0.0, deadline - time.monotonic())
            loop = asyncio.get_running_loop()
            waiter.timer = loop.call_later(delay, self._tick, waiter)

    def _give_up(self, waiter: _Waiter) -> None:
        if not waiter.answer.done():
            waiter.answer.set_exception(ProgramEnded())

    def _drop(self, waiter: _Waiter) -> None:
        self._waiters.discard(waiter)
        self._waited_at = time.monotonic()
        if waiter.timer is not None:
            waiter.timer.cancel()
