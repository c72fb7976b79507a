"""Wait until the screen of a session is as expected; otherwise show how it differs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_pty.api.expectation import Expectation, Part, ScreenMismatch, framed

if TYPE_CHECKING:
    from agent_pty.api.session import Session
    from agent_pty.api.watching import Watching
    from agent_pty.ops.model import Screen

_ENDED = {"exited": "the program has ended", "lost": "the session is lost"}
# After each of these events the screen or the session's state may be another one.
_EVENTS = ("output", "lagged", *_ENDED)


def expect_screen(
    session: Session,
    visible: Sequence[Part],
    *,
    equals: str | None,
    absent: Part | None,
    timeout: float,
) -> Screen:
    """Look at the screen after every output until it is as expected."""
    __tracebackhide__ = True  # pytest shows the caller's line
    expectation = Expectation(visible=visible, absent=absent, equals=equals)
    deadline = time.monotonic() + timeout
    # Watched before the first look, so that no output can come between the two unseen.
    with session.watch(events=_EVENTS) as events:
        while True:
            screen = session.screen()
            faults = expectation.faults(screen.text)
            if not faults:
                return screen
            if screen.state != "running":
                raise _mismatch(session, screen, faults, _ENDED[screen.state])
            if not _changed(events, deadline):
                raise _mismatch(session, screen, faults, f"within {timeout:g} s")


def _changed(events: Watching, deadline: float) -> bool:
    return events.next(max(0.0, deadline - time.monotonic())) is not None


def _mismatch(session: Session, screen: Screen, faults: list[str], when: str) -> ScreenMismatch:
    head = f"the screen of {session.id!r} is not as expected ({when})"
    return ScreenMismatch("\n".join([head, *faults, framed(screen.text, screen.cols)]))
