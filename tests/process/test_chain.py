"""Catching the keeper's new children: here the test is their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from agent_pty.process import chain, table, tree
from agent_pty.process.table import Entry
from support.agent import eventually

_TREE = "sleep 1000 & echo up; exec sleep 1000"


@contextlib.contextmanager
def family() -> Iterator[int]:
    """Start a process with a child; give its pid."""
    with subprocess.Popen(["sh", "-c", _TREE], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        eventually(lambda: len(table.family(process.pid)) == 2)
        both = table.family(process.pid)
        try:
            yield process.pid
        finally:
            for found in both:
                tree.send(found, signal.SIGKILL)


def states(pid: int) -> set[str]:
    """Return the states of a process and of its child."""
    return {found.stat for found in table.family(pid)}


@pytest.fixture
def before() -> set[int]:
    """The children that the test process had already."""
    return set(table.children(os.getpid()))


def test_trial_06_a_new_child_of_ours_is_stopped_with_its_descendants(before: set[int]) -> None:
    """
    What it started may be the next link of the chain.
    """
    with family() as pid:
        caught = chain.catch(os.getpid(), before, lambda _found: True)

        assert pid in before
        assert [found.pid for found in caught] == [found.pid for found in table.family(pid)]
        eventually(lambda: states(pid) == {"T"})


def test_trial_06_a_child_that_lives_long_enough_to_be_judged_is_not_stopped(
    before: set[int],
) -> None:
    """
    A process of another session is looked at and goes on.
    """
    with family() as pid:
        assert chain.catch(os.getpid(), before, lambda _found: False) == []

        assert pid in before
        assert "T" not in states(pid)


def test_trial_06_a_child_that_was_judged_before_is_not_judged_again(before: set[int]) -> None:
    """
    The caller knows it already.
    """
    with family() as pid:
        judged: list[Entry] = []

        def owns(found: Entry) -> bool:
            judged.append(found)
            return True

        assert chain.catch(os.getpid(), before | {pid}, owns) == []
        assert judged == []


def test_trial_06_after_one_has_escaped_new_children_are_stopped_before_they_are_judged(
    before: set[int],
) -> None:
    """
    The first one ends while it is judged. The second one is stopped, and then goes on.
    """
    with family() as first, family() as second:

        def owns(found: Entry) -> bool:
            if found.pid == first:
                os.kill(first, signal.SIGKILL)
                eventually(lambda: (gone := table.entry(first)) is None or not gone.alive)
            else:
                eventually(lambda: "T" in states(found.pid))
            return False

        assert chain.catch(os.getpid(), before, owns) == []

        eventually(lambda: "T" not in states(second))
