"""A session that nobody uses is ended: by a clock that only the test moves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_pty.core.evidence.event import Action
from agent_pty.core.evidence.event import IdleStop as Evidence
from agent_pty.host import events, principal
from agent_pty.host.idle_stop import IdleStop
from agent_pty.host.principal import SYSTEM, Principal
from agent_pty.ops.model import Killed, Process
from support.fake_host import advance, begin, in_frozen_time, still_waits

LIMIT = 7200.0
KILLED = Killed(ended=[], survivors=[], exit_code=None, signal=9)


class Session:
    """A terminal, its users and its journal, as a test wants them."""

    def __init__(self) -> None:
        self.active_at = 0.0
        self.waited_at = 0.0
        self.in_use = False
        self.recorded: list[Any] = []
        self.killed_by: list[Principal] = []
        self.killed = KILLED
        self.stop = IdleStop(LIMIT, self, self, self, name="work")

    async def kill(self) -> Killed:
        """Note who ended it."""
        self.recorded.append("kill")
        self.killed_by.append(principal.acting.get())
        return self.killed

    def note(self, action: Action, by: Principal | None = None) -> None:
        """Note what is recorded."""
        assert by == SYSTEM
        self.recorded.append(action)

    async def after(self, seconds: float) -> list[Any]:
        """Let time pass; return what was done."""
        advance(seconds)
        waiting = begin(asyncio.Event().wait())
        await still_waits(waiting)
        waiting.cancel()
        return self.recorded

    def now(self) -> float:
        """Return the time."""
        return asyncio.get_running_loop().time()


@in_frozen_time
async def test_an_unused_session_is_ended_and_the_journal_says_why() -> None:
    """
    Not before the limit; then the reason comes first, and the end by nobody but us.
    """
    session = Session()

    early = list(await session.after(LIMIT - 1))
    late = await session.after(1)

    assert early == []
    assert late == [Evidence(limit_s=LIMIT, idle_s=LIMIT), "kill"]
    assert session.killed_by == [SYSTEM]
    assert session.stop.reason == "ended because nobody had used it for 7200 s (idle_stop)"


@in_frozen_time
async def test_input_and_output_postpone_the_end() -> None:
    """
    The time counts from the last use, not from the start.
    """
    session = Session()
    await session.after(LIMIT - 100)
    session.active_at = session.now()

    assert await session.after(LIMIT - 1) == []
    assert len(await session.after(1)) == 2


@in_frozen_time
async def test_a_session_in_use_stays() -> None:
    """
    A person, a cell or a wait: as long as it lasts, nothing is ended, however quiet it is.
    """
    session = Session()
    session.in_use = True

    for _ in range(5):
        assert await session.after(LIMIT) == []


@pytest.mark.parametrize("use", ["person", "cell", "wait"])
def test_the_time_counts_from_the_end_of_a_use(use: str) -> None:
    """
    A use that ended between two looks is seen by its end.
    """

    @in_frozen_time
    async def story() -> None:
        session = Session()
        session.in_use = True
        await session.after(LIMIT)
        await session.after(LIMIT / 2)
        session.in_use = False
        if use == "person":
            session.stop.notice(events.Detached(cursor=0, by=SYSTEM, attached=0))
        elif use == "cell":
            session.stop.notice(
                events.CellChanged(cursor=0, cell_id="c", status="completed", exit_code=0)
            )
        else:
            session.waited_at = session.now()

        assert await session.after(LIMIT / 2) == []
        assert await session.after(LIMIT / 2 - 1) == []
        assert len(await session.after(1)) == 2

    story()


@in_frozen_time
async def test_a_session_that_has_ended_is_not_ended_again() -> None:
    """
    Its timer ends with it, and with the host that had it.
    """
    exited, moved = Session(), Session()
    exited.stop.notice(events.Exited(cursor=0, exit_code=0, signal=None))
    moved.stop.close()

    assert await exited.after(2 * LIMIT) == []
    assert await moved.after(2 * LIMIT) == []
    assert exited.stop.reason is None


def test_what_survives_is_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    """
    Nobody waits for the answer of this kill, so the log has it.
    """

    @in_frozen_time
    async def story() -> None:
        session = Session()
        survivor = Process(pid=7, ppid=1, stat="D", command="stuck")
        session.killed = Killed(ended=[], survivors=[survivor], exit_code=None, signal=None)
        await session.after(LIMIT)

    story()

    assert "work: could not end process" in capfd.readouterr().err
