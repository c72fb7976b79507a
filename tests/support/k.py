"""A caller of `k`: the command itself, in the home of one Agent."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent, eventually

SHELLS = ("bash", "zsh", "fish", "dash")
_SECONDS = 60
_BIN = os.path.dirname(sys.executable)


class K:
    """Runs the real `k` and `km`; *variables* are added to the environment of every call."""

    def __init__(self, agent: Agent, **variables: str) -> None:
        self.agent = agent
        self.env = {**agent.env, **variables}
        if "K_SESSION" not in variables:
            self.env.pop("K_SESSION", None)
        # Without one, zsh greets a new user with a menu.
        (agent.home / ".zshrc").touch()
        # Without it, fish spends minutes on every manual page.
        pages = agent.home / ".local/share/fish/generated_completions"
        pages.mkdir(parents=True, exist_ok=True)

    def run(self, *words: str, program: str = "k") -> subprocess.CompletedProcess[str]:
        """Run `k` (or `km`) to its end."""
        return subprocess.run(
            [f"{_BIN}/{program}", *words],
            cwd=self.agent.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )

    def json(self, *words: str, program: str = "k") -> dict[str, Any]:
        """Run `k` and return the one object it says."""
        done = self.run(*words, program=program)
        assert done.stdout.count("\n") == 1, (done.stdout, done.stderr)
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def start(self, *words: str, program: str = "k") -> subprocess.Popen[str]:
        """Run `k` beside the test, which has to end or await it."""
        return subprocess.Popen(
            [f"{_BIN}/{program}", *words],
            cwd=self.agent.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def monitor(self, session: str) -> subprocess.Popen[str]:
        """Start `km` and return when it listens: when it has told of a note."""
        monitor = self.start(session, program="km")
        assert monitor.stdout is not None
        pipe = monitor.stdout.fileno()

        def told() -> bool:
            self.run("notify", session, "are you there?")
            return bool(select.select([pipe], [], [], 0)[0])

        eventually(told)
        return monitor

    def new(self, name: str, *words: str) -> str:
        """Start a session, which must succeed; return its name."""
        done = self.run("new", name, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return name

    def kill(self, name: str) -> None:
        """End a session."""
        self.run("kill", name)

    def session(self, program: str) -> str:
        """Return a session of *program* that is free: the one of the tests before, if it is."""
        if self.json("poll", program)["status"] != "error":
            self.kill(program)  # a test that failed left it busy
        return self.new(program, program)

    def cell(self, session: str, code: str, *, limit: int = 20) -> dict[str, Any]:
        """Run code and return how it ended, without the cell's own id."""
        said = self.json("run", "-j", "-t", str(limit), session, code)
        said.pop("cell_id", None)
        return said

    def output(self, session: str, code: str, *, limit: int = 20) -> str:
        """Run code that must end by itself; return its output."""
        said = self.cell(session, code, limit=limit)
        assert said["status"] == "done", said
        output: str = said["output"]
        return output

    def waiting(self, session: str, code: str) -> dict[str, Any]:
        """Run code that must come to wait for a person; return what `k` says of it."""
        said = self.json("run", "-j", "-t", "20", session, code)
        assert said["status"] == "waiting", said
        return said

    def collect(self, session: str, cell: str) -> dict[str, Any]:
        """Return the result of a cell that is about to end."""
        # `km -1` would also tell that it waits, or timed out, before what makes it end now.
        eventually(lambda: self.json("peek", session, cell)["status"] in ("done", "error"))
        return self.json("poll", session, cell)

    def file(self, name: str, text: str) -> Path:
        """Put a file into the home."""
        path = self.agent.home / name
        path.write_text(text)
        return path


def within(
    shell: str, *, fish: str | None = None, python: str | None = None
) -> pytest.MarkDecorator:
    """Run a test in each shell, and in Python if *python* says the same; fish differs at times."""
    codes = {**dict.fromkeys(SHELLS, shell), "fish": fish or shell}
    codes |= {"python3": python} if python is not None else {}
    values = [pytest.param(program, code, id=program) for program, code in codes.items()]
    return pytest.mark.parametrize(("program", "code"), values)
