"""The ten tasks of the bench, done through `k` by scripted agents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from bench.budget import verdicts
from bench.place import place
from bench.rows.tasks import results
from bench.tasks import TASKS
from bench.tasks.ground import Missing, by_k
from bench.tasks.task import Task
from bench.tasks.tool import Tally

import agent_pty

SKILL = (Path(agent_pty.__file__).parent / "agents" / "SKILL.md").read_text(encoding="utf-8")
Cost = Callable[[Task], Tally]


@pytest.fixture(scope="module")
def cost() -> Iterator[Cost]:
    """What a task costs through `k`; each is done once for all tests of this file."""
    known: dict[str, Tally] = {}
    with place() as here, by_k(here) as us:

        def perform(task: Task) -> Tally:
            try:
                return known.get(task.name) or known.setdefault(task.name, us.perform(task))
            except Missing as missing:
                pytest.skip(str(missing))

        yield perform


@pytest.mark.parametrize("task", [pytest.param(task, id=task.name) for task in TASKS])
def test_trial_24_a_task_is_done_through_k(task: Task, cost: Cost) -> None:
    """
    An agent that knows our guide does each task, as the check of that task sees.
    """
    assert cost(task).calls


def test_trial_24_ten_tasks_take_fewer_than_150_calls(cost: Cost) -> None:
    """
    All tasks together take an agent fewer than 150 calls.
    """
    assert len(TASKS) == 10
    assert sum(cost(task).calls for task in TASKS) < 150


@pytest.mark.parametrize("task", [pytest.param(task, id=task.name) for task in TASKS])
def test_trial_24_the_skill_has_every_word_that_a_task_needs(task: Task, cost: Cost) -> None:
    """
    The tasks are done with nothing but what the skill says: its verbs, with its options.
    """
    used = {(verb, option) for command in cost(task).commands for verb, option in words_of(command)}

    assert {one for one in used if not said(*one)} == set()
    assert not said("run", "-z")


def words_of(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the verb of a command with each of its options, and alone."""
    _, verb, *words = command
    own = words[: words.index("--")] if "--" in words else words
    # What follows the name of a new session is its program.
    marks = "--" if verb == "new" else "-"
    yield verb, ""
    yield from ((verb, word) for word in own if word.startswith(marks))


def said(verb: str, option: str) -> bool:
    """Whether a line of the skill has this verb with this option; -m fits every verb."""
    verb = r"\w+" if option == "-m" else verb
    pattern = rf"\bk {verb}\b[^`\n]*(?<![\w-]){re.escape(option)}(?![\w-])"
    return re.search(pattern, SKILL) is not None


def tally(calls: int, size: int) -> Tally:
    """Return a cost, half of whose bytes go in."""
    return Tally(calls=calls, bytes_in=size // 2, bytes_out=size - size // 2, seconds=1.0)


def test_trial_24_a_task_that_a_tool_failed_is_in_nobodys_sum() -> None:
    """
    Sums compare the same tasks: one that a peer failed counts for none, and the table says so.
    """
    costs: dict[str, dict[str, Tally | None]] = {
        "ours": {"easy": tally(4, 100), "hard": tally(20, 900)},
        "tmux": {"easy": tally(8, 400), "hard": None},
    }

    calls, size, _ = results(costs)

    assert (calls.ours.median, calls.peers[0].median) == (4, 8)
    assert (size.ours.median, size.peers[0].median) == (100, 400)
    assert calls.ours.note == "1 tasks that all have done"
    assert "failed" in "\n".join(calls.detail)


@pytest.mark.parametrize(
    ("ours", "met"),
    [
        (tally(149, 1000), [True, True, True]),
        (tally(150, 1000), [False, True, True]),
        (tally(149, 1001), [True, True, False]),
    ],
)
def test_trial_24_the_figures_of_the_tasks_are_budgets(ours: Tally, met: list[bool]) -> None:
    """
    Fewer than 150 calls, half the calls of tmux and a quarter of its bytes are judged.
    """
    judged = verdicts(results({"ours": {"all": ours}, "tmux": {"all": tally(300, 4000)}}))

    assert [one.met for one in judged] == met
