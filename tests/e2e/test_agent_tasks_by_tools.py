"""The ten tasks of the bench, done through the six `pty_*` tools by scripted agents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from bench.place import place
from bench.tasks import TASKS
from bench.tasks.ground import Missing, by_pty
from bench.tasks.task import Task
from bench.tasks.tool import Tally

from agent_pty import tools

Cost = Callable[[Task], Tally]
DEFINED: dict[str, dict[str, Any]] = {
    one["name"]: one["inputSchema"]["properties"] for one in tools.definitions("mcp")
}


@pytest.fixture(scope="module")
def cost() -> Iterator[Cost]:
    """What a task costs; all are done once, at the same time, for they mostly wait."""
    with place() as here, by_pty(here) as us, ThreadPoolExecutor(len(TASKS)) as pool:
        done: dict[str, Future[Tally]] = {
            task.name: pool.submit(us.perform, task) for task in TASKS
        }

        def performed(task: Task) -> Tally:
            try:
                return done[task.name].result()
            except Missing as missing:
                pytest.skip(str(missing))

        yield performed


@pytest.mark.parametrize("task", [pytest.param(task, id=task.name) for task in TASKS])
def test_a_task_is_done_through_the_six_tools(task: Task, cost: Cost) -> None:
    """
    An agent that has nothing but the six tools does each task, as the check of that task sees.
    """
    assert cost(task).calls


def test_ten_tasks_take_the_six_tools_fewer_than_150_calls(cost: Cost) -> None:
    """
    All tasks together take an agent no more calls than the budget of `k` allows.
    """
    assert sum(cost(task).calls for task in TASKS) < 150


@pytest.mark.parametrize("task", [pytest.param(task, id=task.name) for task in TASKS])
def test_the_definitions_have_every_word_that_a_task_needs(task: Task, cost: Cost) -> None:
    """
    The tasks are done with nothing but what the definitions of the tools say.
    """
    calls = [(name, json.loads(arguments)) for name, arguments in cost(task).commands]

    unknown = {(name, word) for name, given in calls for word in given if word not in DEFINED[name]}
    assert unknown == set()
    ends = {name for name, given in calls if given.get("until") == "exit"}
    assert all("exit" in DEFINED[name]["until"]["description"] for name in ends)
