"""A program prints a log of 200 MB: find the one failure in it and what came before."""

from __future__ import annotations

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import TmuxAgent
from bench.tasks.task import Folder, Task

_DUMP = """#!/bin/bash
exec python3 - <<'END'
import sys
line = "2026-11-17 10:00:00 INFO worker handled a request of a customer in 12 ms, number "
for n in range(2_000_000):
    word = f"{line}{n:07d} and went on\\n"
    if n == 1_234_567:
        word = word.replace("INFO", "FATAL").replace("handled", "dropped")
    sys.stdout.write(word)
END
"""
_FATAL, _BEFORE, _LAST = "1234567", "1234565", "1999999"
# Whoever knows that it is large keeps it in a file, whatever the tool.
_KEEP = "./dump.sh > dump.log; tail -n 1 dump.log"
_SEARCH = "grep -n -B 2 FATAL dump.log"


def _prepare(folder: Folder) -> None:
    folder.write("dump.sh", _DUMP)


def _check(folder: Folder, report: str) -> None:
    del folder
    for number in (_FATAL, _BEFORE):
        assert number in report, report


def _ours(agent: KAgent) -> str:
    agent.new("log")
    agent.k("run", "-t", "5m", "log", _KEEP).need(_LAST)
    report = agent.k("run", "log", _SEARCH).need(_FATAL)
    agent.k("kill", "log")
    return report


def _pty(agent: PtyAgent) -> str:
    agent.line(_KEEP, timeout_ms=300_000).need(_LAST)
    return agent.exec(*_SEARCH.split()).need(_FATAL)


def _agent_tty(agent: AgentTtyAgent) -> str:
    agent.new("log", "bash")
    assert _LAST in agent.run("log", _KEEP, "-t", "300")
    report = agent.run("log", _SEARCH)
    agent.end("log")
    return report


def _tmux(agent: TmuxAgent) -> str:
    agent.new("log")
    assert _LAST in agent.run("log", _KEEP)
    report = agent.run("log", _SEARCH)
    agent.end()
    return report


TASK = Task(
    name="a log of 200 MB",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
)
