from __future__ import annotations

import asyncio

import pytest

from agent_pty.core.idle_time import time_left
from agent_pty.daemon.idle import limit
from agent_pty.host.idle_timer import IdleTimer


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, 600.0), ("", 600.0), ("90s", 90.0), ("250ms", 0.25), ("0", None)],
)
def test_trial_29_the_time_can_be_set(value: str | None, expected: float | None) -> None:
    """
    Ten minutes unless AGENT_PTY_IDLE says otherwise; 0 means that the daemon stays.
    """
    assert limit({} if value is None else {"AGENT_PTY_IDLE": value}) == expected


def test_trial_29_a_time_that_cannot_be_read_is_reported(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """
    A daemon in the background can only log it, and starts all the same.
    """
    assert limit({"AGENT_PTY_IDLE": "soon"}) == 600.0
    assert 'invalid AGENT_PTY_IDLE "soon"' in capfd.readouterr().err


def test_trial_29_a_daemon_in_use_stays() -> None:
    """
    While there is a session or a client, the last use does not matter.
    """
    assert time_left(in_use=True, last_use=0.0, now=10_000.0, limit=600.0) == 600.0


def test_trial_29_the_time_counts_from_the_last_use() -> None:
    """
    A client that came and left since the last look postpones the end.
    """
    assert time_left(in_use=False, last_use=900.0, now=1000.0, limit=600.0) == 500.0
    assert time_left(in_use=False, last_use=400.0, now=1000.0, limit=600.0) == 0.0
    assert time_left(in_use=False, last_use=100.0, now=1000.0, limit=600.0) == 0.0


def test_trial_29_the_end_comes_after_the_last_use_and_not_before() -> None:
    """
    The timer looks again as long as somebody uses the daemon, and then once more.
    """

    async def story() -> list[bool]:
        ended, uses, looks = asyncio.Event(), iter([True, True, False]), list[bool]()

        def in_use() -> bool:
            looks.append(next(uses, False))
            return looks[-1]

        timer = IdleTimer(0.001, in_use=in_use, last_use=lambda: 0.0, end=ended.set)
        await ended.wait()
        timer.close()
        return looks

    assert asyncio.run(story()) == [True, True, False]
