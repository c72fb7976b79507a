"""Two jobs at the same time, then a batch of four steps of which the third fails at first."""

from __future__ import annotations

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import SHELL, TmuxAgent
from bench.tasks.task import Folder, Task

_JOB = """#!/bin/bash
for n in $(seq {count}); do echo "{name} $n"; sleep 0.3; done
echo "{name}: all clean"
"""
_LINT, _UNIT = "./lint.sh", "./unit.sh"
_STEPS = ("mkdir out", "cp lint.sh out", "cp units.sh out", "ls out > list.txt")
_AGAIN = ("cp unit.sh out", "ls out > list.txt")


def _prepare(folder: Folder) -> None:
    folder.write("lint.sh", _JOB.format(name="lint", count=16))
    folder.write("unit.sh", _JOB.format(name="unit", count=26))


def _check(folder: Folder, report: str) -> None:
    assert "lint: all clean" in report
    assert "unit: all clean" in report
    assert folder.read("list.txt") == "lint.sh\nunit.sh\n"


def _ours(agent: KAgent) -> str:
    agent.new("lint")
    agent.new("unit")
    agent.k("fire", "lint", _LINT)
    report = agent.k("run", "unit", _UNIT).text
    report += agent.k("poll", "lint").need("done")
    agent.k("batch", "unit", *_STEPS).need("units.sh")
    agent.k("batch", "unit", *_AGAIN)
    agent.k("kill", "lint", "unit")
    return report


def _pty(agent: PtyAgent) -> str:
    """That the first job has ended is told with the result of the second."""
    lint, _ = agent.start(_LINT)
    report = agent.exec(_UNIT).text
    if "lint: all clean" not in report:
        report += agent.read_to_end(lint).text
    agent.line(" && ".join(_STEPS)).need("units.sh")
    agent.line(" && ".join(_AGAIN))
    return report


def _agent_tty(agent: AgentTtyAgent) -> str:
    agent.new("lint", "bash")
    agent.new("unit", "bash")
    agent.fire("lint", _LINT)
    report = agent.run("unit", _UNIT)
    report += agent.poll("lint")
    assert "units.sh" in agent.run("unit", " && ".join(_STEPS))
    agent.run("unit", " && ".join(_AGAIN))
    agent.end("lint", "unit")
    return report


def _tmux(agent: TmuxAgent) -> str:
    agent.new("lint", "unit")
    agent.type("lint", _LINT, "Enter")
    report = agent.run("unit", _UNIT)
    report += agent.until("lint", SHELL)
    assert "units.sh" in agent.run("unit", " && ".join(_STEPS))
    agent.run("unit", " && ".join(_AGAIN))
    agent.end()
    return report


TASK = Task(
    name="two in parallel, a batch",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
)
