"""Fix a failing test: run it, read the code, change it, run it again."""

from __future__ import annotations

import subprocess

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import TmuxAgent
from bench.tasks.task import Folder, Task

_CODE = '''"""Prices of an order."""


def total(prices, discount=0):
    """Return the sum, less the discount in percent."""
    return sum(prices) * (1 - discount)


def cheapest(prices):
    """Return the lowest price."""
    return min(prices)
'''
# It takes two seconds, as a test that needs something else to start does.
_TESTS = """import time
import unittest

from prices import cheapest, total


class PricesTest(unittest.TestCase):
    def test_total(self):
        time.sleep(2)
        self.assertEqual(total([1, 2, 3]), 6)

    def test_cheapest(self):
        self.assertEqual(cheapest([3, 1, 2]), 1)

    def test_discount(self):
        self.assertEqual(total([100, 50], discount=10), 135)
"""
_RUN, _READ, _READ_TESTS = "python3 -m unittest", "cat prices.py", "cat test_prices.py"
_FIX = r"sed -i 's/1 - discount/1 - discount \/ 100/' prices.py && python3 -m unittest"
_SHOW = "git diff --stat && git commit -qam 'Take the discount in percent' && git status -s"
_WRONG, _RIGHT = "-1350 != 135", "OK"


def _prepare(folder: Folder) -> None:
    folder.write("prices.py", _CODE)
    folder.write("test_prices.py", _TESTS)
    folder.write(".gitignore", "__pycache__\n")
    for words in ("init -q", "add .", "commit -qm Begin"):
        _git(folder, *words.split())


def _git(folder: Folder, *words: str) -> str:
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    argv = ["git", "-C", folder.path, *who, *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def _check(folder: Folder, report: str) -> None:
    assert folder.read("prices.py") == _CODE.replace("1 - discount", "1 - discount / 100")
    assert folder.read("test_prices.py") == _TESTS
    assert _git(folder, "log", "--format=%s", "-1") == "Take the discount in percent\n"
    assert _RIGHT in report


def _ours(agent: KAgent) -> str:
    """Nothing is to be kept between two commands, so that no session is needed."""
    agent.k("exec", "--", *_RUN.split()).need(_WRONG)
    agent.k("exec", "--", *_READ.split()).need("1 - discount")
    agent.k("exec", "--", *_READ_TESTS.split()).need("10), 135)")
    report = agent.k("exec", "--", "sh", "-c", _FIX).need(_RIGHT)
    agent.k("exec", "--", "sh", "-c", _SHOW).need("1 file changed")
    return report


def _pty(agent: PtyAgent) -> str:
    agent.exec(*_RUN.split()).need(_WRONG)
    agent.exec(*_READ.split()).need("1 - discount")
    agent.exec(*_READ_TESTS.split()).need("10), 135)")
    report = agent.line(_FIX).need(_RIGHT)
    agent.line(_SHOW).need("1 file changed")
    return report


def _agent_tty(agent: AgentTtyAgent) -> str:
    agent.new("work", "bash")
    assert _WRONG in agent.run("work", _RUN)
    assert "1 - discount" in agent.run("work", _READ)
    assert "10), 135)" in agent.run("work", _READ_TESTS)
    report = agent.run("work", _FIX)
    assert "1 file changed" in agent.run("work", _SHOW)
    agent.end("work")
    return report


def _tmux(agent: TmuxAgent) -> str:
    agent.new("work")
    assert _WRONG in agent.run("work", _RUN)
    assert "1 - discount" in agent.run("work", _READ)
    assert "10), 135)" in agent.run("work", _READ_TESTS)
    report = agent.run("work", _FIX)
    assert "1 file changed" in agent.run("work", _SHOW)
    agent.end()
    return report


TASK = Task(
    name="fix a failing test",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
)
