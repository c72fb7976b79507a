"""The gate against the policy corpus: each row is typed into a real session."""

from __future__ import annotations

import sys

import pytest

from support.agent import Agent
from support.policy_corpus import Row, Workshop, rows, table, typed

_SHELL = ("/bin/bash", "--norc", "--noprofile")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A tree that may be lost."""
    return Workshop(tmp_path_factory.mktemp("corpus"))


def stopped(agent: Agent, workshop: Workshop, row: Row, name: str) -> bool:
    """Type a row into a session of its own; return whether it was refused."""
    agent.ask("new", id=name, repo=str(workshop.tree), argv=list(_SHELL), env=workshop.env(agent))
    agent.ask("ready", id=name)
    refused = typed(agent, name, row)
    agent.ask("kill", id=name)
    return refused is not None


@pytest.mark.timeout(600)
def test_pol_01_the_corpus_is_stopped_and_harmless_lines_pass(
    shared: Agent, workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    All that a parser can see through, 90 % of what must be stopped, 2 % of what is harmless.
    """
    judged = [
        (row, stopped(shared, workshop, row, f"row-{number}")) for number, row in enumerate(rows())
    ]

    with capsys.disabled():
        sys.stdout.write(f"\n{table(judged)}\n")
    dangerous = [one for row, one in judged if row.should_gate]
    harmless = [one for row, one in judged if not row.should_gate]
    missed = [row.command for row, one in judged if row.demanded and not one]
    assert missed == []
    assert sum(dangerous) >= 0.9 * len(dangerous)
    assert sum(harmless) <= 0.02 * len(harmless)
    assert (workshop.tree / "build" / "kept").exists()
