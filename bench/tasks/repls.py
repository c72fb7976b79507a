"""Five REPLs, two steps in each: Python, node, sqlite3, gdb, and pdb on a program."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import TmuxAgent
from bench.tasks.task import Folder, Task

_PROGRAM = """total = 0
for number in range(10):
    total += number * number
print(total)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repl:
    """A program, its prompt, what to define, what to ask, and the answer."""

    name: str
    command: str
    prompt: str
    first: str
    second: str
    answer: str


_REPLS = (
    _Repl(
        name="py",
        command="python3",
        prompt=">>>",
        first="def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n"
        "    return a\n",
        second="fib(50)",
        answer="12586269025",
    ),
    _Repl(
        name="js",
        command="node",
        prompt=">",
        first="const area = (w, h) => w * h",
        second="area(123, 457)",
        answer="56211",
    ),
    _Repl(
        name="db",
        command="sqlite3 shop.db",
        prompt="sqlite>",
        first="create table item (name, price); insert into item values ('a', 20), ('b', 22);",
        second="select sum(price) from item;",
        answer="42",
    ),
    _Repl(
        name="g",
        command="gdb -q",
        prompt="(gdb)",
        first="set $side = 37",
        second="print $side * $side",
        answer="1369",
    ),
    _Repl(
        name="pdb",
        command="python3 -m pdb squares.py",
        prompt="(Pdb)",
        first="until 4",
        second="p total",
        answer="285",
    ),
)


def _prepare(folder: Folder) -> None:
    folder.write("squares.py", _PROGRAM)


def _check(folder: Folder, report: str) -> None:
    del folder
    assert report.split() == [repl.answer for repl in _REPLS]


def _found(repl: _Repl, seen: str) -> str:
    assert repl.answer in seen, seen
    return repl.answer


def _ours(agent: KAgent) -> str:
    report = []
    for repl in _REPLS:
        agent.new(repl.name, *repl.command.split())
        agent.k("run", repl.name, repl.first)
        report.append(_found(repl, agent.k("run", repl.name, repl.second).text))
    agent.k("kill", *(repl.name for repl in _REPLS))
    return " ".join(report)


def _pty(agent: PtyAgent) -> str:
    report = []
    for repl in _REPLS:
        session, _ = agent.start(*repl.command.split(), until=repl.prompt)
        # Of a line end at the end and `submit` one remains; a function of Python needs both.
        first = f"{repl.first}\n" if repl.first.endswith("\n") else repl.first
        agent.send(session, first)
        report.append(_found(repl, agent.send(session, repl.second, until=repl.answer).text))
        agent.stop(session)
    return " ".join(report)


def _agent_tty(agent: AgentTtyAgent) -> str:
    """Its guide gives an exact prompt to debuggers, where Enter repeats the last command."""
    report = []
    for repl in _REPLS:
        prompt = [f"--prompt={repl.prompt}"] if repl.prompt.startswith("(") else []
        agent.new(repl.name, repl.command, *prompt)
        agent.run(repl.name, repl.first)
        report.append(_found(repl, agent.run(repl.name, repl.second)))
    agent.end(*(repl.name for repl in _REPLS))
    return " ".join(report)


def _tmux(agent: TmuxAgent) -> str:
    report = []
    for repl in _REPLS:
        ready = rf"(?:^|\n){re.escape(repl.prompt)}\Z"
        agent.tmux("new-session", "-d", "-s", repl.name, repl.command)
        agent.until(repl.name, ready)
        agent.run(repl.name, repl.first, ready)
        report.append(_found(repl, agent.run(repl.name, repl.second, ready)))
    agent.end()
    return " ".join(report)


TASK = Task(
    name="five REPLs",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
    needs=("node", "sqlite3", "gdb"),
)
