"""Whoever of us dies: a counter in a tmux session loses no number and has none twice."""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil

import pytest

from support.agent import Agent, alive, eventually, slay
from support.journal import payloads

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

LONG = 60_000
COUNTING = "i=0; while :; do echo n$((i++))n; sleep 0.01; done"
# After five deaths of hosts within a minute a session is given up, by design.
_HOST_DEATHS = 4


def counted(agent: Agent) -> list[int]:
    """Return the numbers that were read, in their order."""
    return [int(one) for one in re.findall(r"(?m)^n(\d+)n$", agent.transcript("work"))]


def in_custody(agent: Agent) -> bool:
    """Whether the keeper holds what a host would need: its spool comes with the pipe."""
    descriptors = f"/proc/{agent.pid_of('keeper')}/fd"
    try:
        held = [os.readlink(f"{descriptors}/{fd}") for fd in os.listdir(descriptors)]
    except (FileNotFoundError, PermissionError):  # it has just been replaced
        return False
    return "/memfd:agent-pty-spool (deleted)" in held


def count_on(agent: Agent) -> None:
    """Wait for numbers that come after now."""
    last = counted(agent)[-1]
    agent.ask("wait", id="work", until=f"regex:(?m)^n{last + 10}n$", timeout_ms=LONG)


def start_counting(agent: Agent) -> int:
    """Start a session that counts; return the pid of its shell."""
    pid: int = agent.new("work", backend="tmux")["pid"]
    agent.ask("send", id="work", text=COUNTING)
    agent.ask("wait", id="work", until="regex:(?m)^n10n$", timeout_ms=LONG)
    return pid


def survive(agent: Agent, victims: list[tuple[str, ...]]) -> None:
    """Kill one group after the other; the same shell counts on."""
    shell = start_counting(agent)

    for group in victims:
        eventually(lambda: in_custody(agent))
        slay(*{agent.pid_of(one) for one in group})
        agent.cli("list")
        count_on(agent)

    assert alive(shell)
    assert agent.info("work")["pid"] == shell
    numbers = counted(agent)
    assert numbers == list(range(len(numbers)))
    assert payloads(agent, "work", "output_gap") == []


def test_deaths_of_each_in_turn_lose_no_number(agent: Agent) -> None:
    """
    Daemon, host and keeper, one by one and two at once.
    """
    survive(
        agent,
        [("daemon",), ("work",), ("keeper",), ("daemon", "work"), ("daemon", "keeper")],
    )


def test_all_three_at_once_leave_a_gap_that_is_stated(agent: Agent) -> None:
    """
    The same shell; no number is there twice, and where some are missing there is an event.
    """
    shell = start_counting(agent)

    slay(*(agent.pid_of(one) for one in ("daemon", "keeper", "work")))
    agent.cli("list")
    count_on(agent)

    assert alive(shell)
    numbers = counted(agent)
    assert numbers == sorted(set(numbers))
    missing = sum(after != before + 1 for before, after in itertools.pairwise(numbers))
    assert missing <= 1
    assert len(payloads(agent, "work", "output_gap")) == 1


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("home", range(10))
def test_two_hundred_deaths_lose_no_number(agent: Agent, home: int) -> None:
    """
    Twenty in each of ten homes, in any order.
    """
    seed = int(os.environ.get("SEED", "0")) + home
    chosen = random.Random(seed)  # noqa: S311  # not for secrets
    others = [("daemon",), ("keeper",), ("daemon", "keeper")]
    victims: list[tuple[str, ...]] = [("work",)] * _HOST_DEATHS
    victims += chosen.choices(others, k=20 - _HOST_DEATHS)
    chosen.shuffle(victims)

    survive(agent, victims)
