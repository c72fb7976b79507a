"""Wait until the screen of a session is as expected; otherwise show how it differs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agent_pty.api.expectation import EVENTS, Expectation, mismatch
from agent_pty.ops.model import Screen, State

if TYPE_CHECKING:
    from agent_pty.api.session import Session


def expect_screen(session: Session, expectation: Expectation, *, seconds: float) -> Screen:
    """Look at the screen after every output until it is as expected."""
    __tracebackhide__ = True  # pytest shows the caller's line
    deadline = time.monotonic() + seconds
    # Watched before the first look, so that no output can come between the two unseen.
    with session.watch(events=EVENTS) as events:
        while True:
            screen = session.screen()
            faults = expectation.faults(screen.text)
            if not faults:
                return screen
            left = max(0.0, deadline - time.monotonic())
            if screen.state != State.RUNNING or events.next(left) is None:
                raise mismatch(session.id, screen, faults, seconds=seconds)
