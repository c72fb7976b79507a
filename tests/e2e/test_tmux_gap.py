"""Sessions in tmux after nobody of us was there for a while: what is believed, and what is not."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty.errors import NotReady
from support.agent import Agent, eventually, slay
from support.journal import payloads

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

LONG = 60_000


class Pane:
    """The pane of the session `work`, as a person in tmux has it."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._target = ""

    def start(self, **fields: Any) -> None:
        """Start the session."""
        self._agent.new("work", backend="tmux", **fields)
        self._target = f"={self._agent.info('work')['tmux_session']}:"

    def run(self, *words: str) -> str:
        """Run a command of tmux."""
        argv = ["tmux", "-S", self._agent.layout.tmux_socket, *words]
        env = {**self._agent.env, "TERM": "xterm-256color"}
        done = subprocess.run(
            argv, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        return done.stdout

    def types(self, text: str, *keys: str) -> None:
        """Type as a person does, past agent-pty."""
        self.run("send-keys", "-t", self._target, "-l", text)
        for key in keys:
            self.run("send-keys", "-t", self._target, key)

    def program(self) -> str:
        """Return the program in the foreground."""
        return self.run("display-message", "-p", "-t", self._target, "#{pane_current_command}")

    def shows(self, text: str) -> None:
        """Wait until the pane shows a line of exactly this text."""
        eventually(lambda: text in self.lines())

    def lines(self) -> list[str]:
        """Return what the pane shows."""
        return self.run("capture-pane", "-p", "-t", self._target).rstrip("\n").split("\n")


@pytest.fixture
def pane(agent: Agent) -> Iterator[Pane]:
    """The pane of the session, which is not yet there."""
    made = Pane(agent)
    yield made
    made.run("kill-server")


def stop(agent: Agent) -> None:
    """End all our processes in order."""
    assert agent.cli("stop").stdout == "stopped\n"


def crash(agent: Agent) -> None:
    """End all our processes at once."""
    slay(*(agent.pid_of(role) for role in ("daemon", "keeper", "work")))


leaving = pytest.mark.parametrize("leave", [stop, crash])
Leave = Callable[[Agent], None]


def run(agent: Agent, code: str) -> dict[str, Any]:
    """Run a cell."""
    report: dict[str, Any] = agent.ask("run", id="work", code=code)
    return report


def fire(agent: Agent, code: str) -> str:
    """Start a cell; return its id."""
    return str(agent.ask("fire", id="work", code=code)["cell_id"])


# -- prompts


def test_a_cell_is_not_typed_into_a_program_that_was_started_before(
    agent: Agent, pane: Pane, tmp_path: Path
) -> None:
    """
    `cat` was sent, then everything crashed: the mark of the prompt before it is old.
    """
    file = tmp_path / "typed.txt"
    pane.start()
    run(agent, "echo b")
    agent.ask("send", id="work", text=f"cat > {file}")
    eventually(lambda: pane.program() == "cat\n")

    crash(agent)

    with pytest.raises(NotReady, match="cat waits for input"):
        agent.ask("run", id="work", code="echo typed-into-cat", timeout_ms=3000)
    assert file.read_text() == ""


@leaving
def test_a_cell_is_not_typed_into_what_a_person_started_meanwhile(
    agent: Agent, pane: Pane, tmp_path: Path, leave: Leave
) -> None:
    """
    A person types `cat > FILE` in tmux while nobody of us is there.
    """
    file = tmp_path / "typed.txt"
    pane.start()
    run(agent, "echo b")
    leave(agent)
    pane.types(f"cat > {file}", "Enter")
    eventually(lambda: pane.program() == "cat\n")

    with pytest.raises(NotReady, match="cat waits for input"):
        agent.ask("run", id="work", code="echo typed-into-cat", timeout_ms=3000)

    assert file.read_text() == ""
    pane.types("", "C-d")
    assert run(agent, "echo after; (exit 3)")["exit_code"] == 3


@leaving
def test_a_cell_is_not_added_to_what_a_person_has_typed_meanwhile(
    agent: Agent, pane: Pane, leave: Leave
) -> None:
    """
    What stands on the line without Enter is known from the shell itself, also after a gap.
    """
    pane.start()
    leave(agent)
    pane.types("echo half")
    pane.shows("$ echo half")

    with pytest.raises(NotReady, match="echo half"):
        agent.ask("run", id="work", code="echo whole")


@leaving
def test_a_shell_at_its_prompt_is_ready_after_a_gap(agent: Agent, pane: Pane, leave: Leave) -> None:
    """
    Screen and foreground say so; cells have their exit codes, and no mark is forged.
    """
    pane.start()
    run(agent, "echo before")
    leave(agent)

    first = run(agent, "echo one\n(exit 4)")

    assert (first["output"], first["exit_code"]) == ("one", 4)
    assert run(agent, "(exit 5)")["exit_code"] == 5
    assert payloads(agent, "work", "mark_forged") == []


# -- cells


@leaving
def test_a_cell_that_ended_meanwhile_is_over(agent: Agent, pane: Pane, leave: Leave) -> None:
    """
    Its exit code is null, with the reason, because nobody saw it; the session is free again.
    """
    pane.start()
    cell = fire(agent, "read -t 60; echo the-$((1+1))nd")
    leave(agent)
    pane.types("", "Enter")
    pane.shows("the-2nd")

    agent.ask("wait", id="work", until="prompt", timeout_ms=LONG)
    agent.ask("wait", id="work", until=f"cell:{cell}", timeout_ms=LONG)
    ended = agent.ask("poll", id="work", cell=cell)

    assert (ended["status"], ended["exit_code"], ended["exit_code_unknown"]) == ("done", None, True)
    assert "its end was missed" in ended["hint"]
    assert run(agent, "echo free; (exit 6)")["exit_code"] == 6


@leaving
def test_an_interrupt_does_not_change_how_a_cell_ended(
    agent: Agent, pane: Pane, leave: Leave
) -> None:
    """
    It ended before the interrupt came: neither interrupted nor 130.
    """
    pane.start()
    cell = fire(agent, "read -t 60; echo the-$((1+1))nd")
    leave(agent)
    pane.types("", "Enter")
    pane.shows("the-2nd")

    agent.ask("interrupt", id="work")
    ended = agent.ask("poll", id="work", cell=cell)

    assert (ended["status"], ended["error"], ended["exit_code"]) == ("done", None, None)


@leaving
def test_a_cell_that_still_runs_ends_by_its_mark(agent: Agent, pane: Pane, leave: Leave) -> None:
    """
    It goes on after the gap, and its exit code is its own.
    """
    pane.start()
    cell = fire(agent, "read -p go; (exit 7)")
    leave(agent)
    agent.ask("wait", id="work", until=f"cell:{cell}", timeout_ms=LONG)  # it asks

    pane.types("on", "Enter")
    agent.ask("wait", id="work", until="prompt", timeout_ms=LONG)
    ended = agent.ask("poll", id="work", cell=cell)

    assert (ended["status"], ended["exit_code"], ended["frame"]) == ("done", 7, "marks")


def test_the_mark_of_a_later_command_does_not_end_a_cell_with_its_code(
    agent: Agent, pane: Pane
) -> None:
    """
    A person runs another command after the cell: its exit code is not that of the cell.
    """
    pane.start()
    cell = fire(agent, "read -t 60; echo the-$((1+1))nd")
    crash(agent)
    pane.types("", "Enter")
    pane.shows("the-2nd")
    pane.types("read -p other; (exit 8)", "Enter")
    pane.shows("other")

    agent.ask("screen", id="work")  # we are there again
    pane.types("", "Enter")
    agent.ask("wait", id="work", until="prompt", timeout_ms=LONG)
    ended = agent.ask("poll", id="work", cell=cell)

    assert (ended["status"], ended["exit_code"]) == ("done", None)


# -- full-screen programs


@leaving
def test_the_main_screen_is_there_after_a_full_screen_program(
    agent: Agent, pane: Pane, tmp_path: Path, leave: Leave
) -> None:
    """
    `less` had the screen when everything of us ended; what was behind it comes back.
    """
    file = tmp_path / "shown"
    file.write_text("".join(f"line {number}\n" for number in range(200)))
    pane.start()
    run(agent, "echo behind-$((1+1))")
    agent.ask("send", id="work", text=f"less {file}")
    pane.shows("line 3")
    leave(agent)

    assert "line 3" in agent.ask("screen", id="work")["text"]
    agent.ask("keys", id="work", keys=["q"])
    agent.ask("wait", id="work", until="prompt", timeout_ms=LONG)

    text = agent.ask("screen", id="work")["text"]
    assert "behind-2" in text
    assert "line 3" not in text
    assert text.splitlines()[-1].strip() == "$"
