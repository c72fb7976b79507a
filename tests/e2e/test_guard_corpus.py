"""The corpus against the guard: rows are typed, or read from a file, in real guarded sessions."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.agent import Agent
from support.guard_corpus import Row, Tree, Trial, rows, table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel asks on Linux only")


@pytest.fixture
def tree() -> Iterator[Tree]:
    """A throw-away tree."""
    with tempfile.TemporaryDirectory() as place:
        yield Tree(Path(place))


@pytest.fixture
def trial(agent: Agent, tree: Tree) -> Trial:
    """Guarded sessions in which nobody approves anything: what is held fails at once."""
    policy = agent.home / "policy.json"
    policy.write_text(json.dumps({"held": 0}))
    agent.connect().close()
    agent.ask("policy_reload", path=str(policy))
    return Trial(agent, tree)


def share(tried: list[tuple[Row, bool]]) -> float:
    """Return which share of the rows went well."""
    return sum(not bad for _, bad in tried) / len(tried)


@pytest.mark.timeout(300)
def test_guard_01_typed_rows_execute_nothing_of_a_family(trial: Trial, tree: Tree) -> None:
    """
    With the gate at the door and the guard behind it, 98 % of the dangerous rows do nothing.
    """
    tried: list[tuple[Row, bool]] = []
    refused: list[tuple[Row, bool]] = []
    for row in rows():
        at_door = trial.typed(row)
        if row.gate:
            tried.append((row, tree.executed(row)))
        else:
            refused.append((row, at_door or trial.held_any()))

    sys.stdout.write(table("nothing was executed", tried) + "\n")
    sys.stdout.write(table("harmless and not stopped", refused) + "\n")
    assert share(tried) >= 0.98
    assert share(refused) >= 0.98


@pytest.mark.timeout(300)
def test_guard_01_the_guard_alone_stops_what_no_line_shows(trial: Trial, tree: Tree) -> None:
    """
    The same rows in a file that the shell reads: only the guard sees them.
    """
    tried: list[tuple[Row, bool]] = []
    for row in [one for one in rows() if one.gate and one.is_plain]:
        trial.sourced(row)
        tried.append((row, tree.executed(row)))

    sys.stdout.write(table("the guard alone: nothing was executed", tried) + "\n")
    assert share(tried) >= 0.95


@pytest.mark.long
@pytest.mark.timeout(300)
def test_without_a_guard_the_rows_do_what_they_say(agent: Agent, tree: Tree) -> None:
    """
    The trial notices what is executed: without a guard nearly all of the same rows are.
    """
    trial = Trial(agent, tree, guard=None)
    tried: list[tuple[Row, bool]] = []
    for row in [one for one in rows() if one.gate and one.is_plain]:
        trial.sourced(row)
        tried.append((row, not tree.executed(row)))

    sys.stdout.write(table("without a guard: noticed", tried) + "\n")
    assert share(tried) >= 0.9
