"""Cells behind a relay: a program that passes what is typed on to a shell on another terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.agent import Agent
from support.k import K
from support.sshd import sshd

INNER = "env PS1='user@inner:\\w\\$ ' bash --norc"


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


def _script(_directory: Path) -> Iterator[str]:
    if shutil.which("script") is None:
        pytest.skip("script is not installed")
    yield f'script -qc "{INNER}" /dev/null'


def _su(_directory: Path) -> Iterator[str]:
    if os.geteuid() != 0:
        pytest.skip("only root becomes root without a password")
    if shutil.which("su") is None or "--pty" not in _help("su"):
        pytest.skip("su of util-linux is not installed")
    yield f'su -P -p -c "{INNER}" root'


def _ssh(directory: Path) -> Iterator[str]:
    with sshd(directory) as command:
        yield command


def _help(program: str) -> str:
    return subprocess.run([program, "--help"], capture_output=True, text=True, check=False).stdout


RELAYS = {"script": _script, "su": _su, "ssh": _ssh}
# What takes seconds is tried behind one of them: they are judged alike.
ONE = pytest.mark.parametrize("session", ["script"], indirect=True)


@pytest.fixture(scope="module", params=RELAYS)
def session(
    k: K, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A bash in which a relay was started by a cell; it leads to another bash."""
    name: str = request.param
    for command in RELAYS[name](tmp_path_factory.mktemp(name)):
        k.new(name, "bash")
        assert k.cell(name, command)["status"] == "done"
        yield name
        k.kill(name)


def test_trial_07_a_silent_command_behind_a_relay_is_not_a_question(k: K, session: str) -> None:
    """
    A relay always waits for the keyboard; while nothing stands on the line, that is work.
    """
    # Longer than a question has to stand still where it can be seen who reads.
    said = k.cell(session, "sleep 1; echo ok")

    assert said == {"status": "done", "output": "ok", "exit_code": None}


def test_trial_07_output_behind_a_relay_is_exact(k: K, session: str) -> None:
    """
    The learned prompt ends a cell, also after output without a line end, again and again.
    """
    for number in "123":
        assert k.output(session, f"echo 'a  {number}'; echo; echo b") == f"a  {number}\n\nb"
        assert k.output(session, f"printf part-{number}") == f"part-{number}"


def test_trial_07_a_prompt_behind_a_relay_may_change(k: K, session: str) -> None:
    """
    Another prompt, because of another directory, ends a cell when it has stood still.
    """
    assert k.output(session, "cd /usr") == ""
    assert k.output(session, "pwd") == "/usr"


@ONE
def test_trial_07_a_prompt_behind_a_relay_may_look_like_none(k: K, session: str) -> None:
    """
    A line that ends in the sign of shells is a prompt when it has stood still for seconds.
    """
    assert k.output(session, "old=$PS1 PS1='what: a ${PWD} $ '") == ""
    assert k.output(session, "printf one") == "one"
    assert k.output(session, "PS1=$old") == ""


def test_trial_07_what_looks_like_a_prompt_may_be_output(k: K, session: str) -> None:
    """
    Behind a relay a line like a prompt that is followed by more is output.
    """
    assert k.output(session, "printf 'name> '; sleep 0.5; echo more") == "name> more"


@ONE
def test_trial_07_progress_behind_a_relay_is_not_a_question(k: K, session: str) -> None:
    """
    A line that asks nothing may stand still for as long as it likes.
    """
    # Longer than a question has to stand still behind a relay.
    said = k.cell(session, "printf 'Getting 45%% (450/1000)'; sleep 4; echo .")

    assert (said["status"], said["output"]) == ("done", "Getting 45% (450/1000).")


@pytest.mark.parametrize(
    ("code", "wants"),
    [("read -p 'Name: ' x", "input"), ("read -s -p 'Password: ' x", "secret")],
    ids=["input", "secret"],
)
def test_trial_07_a_question_behind_a_relay_is_reported(
    k: K, session: str, code: str, wants: str
) -> None:
    """
    A question that stands still is one; what it asks for is told by its words.
    """
    said = k.waiting(session, code)
    k.run("keys", session, "h", "i", "enter")
    k.collect(session, said["cell_id"])

    assert said["for"] == wants
    assert k.output(session, "echo $x") == "hi"


def test_trial_07_an_interrupt_passes_a_relay(k: K, session: str) -> None:
    """
    `k int` stops what runs behind a relay, by Ctrl-C, and the relay stays.
    """
    cell = k.json("fire", session, "sleep 1000")["cell_id"]

    assert k.run("int", session).stdout == "OK\n"
    assert k.json("poll", session, cell)["output"] == "interrupted"
    assert k.output(session, "echo $0") == "bash"


@ONE
@pytest.mark.skipif(shutil.which("top") is None, reason="top is not installed")
def test_trial_07_top_behind_a_relay_shows_its_screen(k: K, session: str) -> None:
    """
    A program that draws on the common screen again and again is a full-screen program there, too.
    """
    said = k.waiting(session, "top")
    k.run("keys", session, "q")
    k.collect(session, said["cell_id"])

    assert "load average" in said["output"]
    assert "hint" in said


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_trial_07_a_relay_is_not_ended_with_what_is_behind_it(k: K, session: str) -> None:
    """
    Where Ctrl-C does not help, a signal would end the relay: `k int` says that it failed.
    """
    said = k.waiting(session, "vim -u NONE -N")

    failed = k.run("int", session)
    k.run("keys", session, "escape", ":", "q", "!", "enter")
    done = k.collect(session, said["cell_id"])

    assert said["hint"].startswith("a program behind ")
    assert (failed.returncode, "interrupt failed; use k kill" in failed.stdout) == (1, True)
    assert done["status"] == "done"
    assert k.output(session, "echo still here") == "still here"
