"""`now`: an answer names the program that a cell has left at the keyboard."""

from __future__ import annotations

import shutil

import pytest

from support.agent import Agent
from support.k import K


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, with one daemon for this file."""
    return K(shared)


PROGRAMS = {
    "python3": ("python3", "python3", "exit()", "1 + 1"),
    "bash": ("bash", "bash", "exit", "true"),
    "pdb": ("python3 -m pdb script.py", "pdb", "q", "p 1"),
    "node": ("node", "node", ".exit", "1 + 1"),
}


@pytest.mark.parametrize("case", list(PROGRAMS))
def test_trial_21_another_program_at_the_keyboard_is_named(k: K, case: str) -> None:
    """
    The answer says which program reads now and how to leave it, once; and when the old one is back.
    """
    code, name, leave, inside = PROGRAMS[case]
    if shutil.which(code.split()[0]) is None:
        pytest.skip(f"{code.split()[0]} is not installed")
    k.file("script.py", "x = 1\ny = 2\n")
    session = k.session("zsh" if case == "bash" else "bash")

    entered = k.json("run", "-j", session, code)
    within = k.json("run", "-j", session, inside)
    left = k.json("run", "-j", session, leave)
    after = k.json("run", "-j", session, "true")

    assert list(entered)[-2:] == ["now", "hint"]
    assert entered["now"] == name
    assert entered["hint"].endswith(f"the next code runs in it; leave it with: {leave}")
    assert "now" not in within
    assert (left["now"], left["hint"]) == (session, f"{session} reads the keyboard again")
    assert list(after) == ["cell_id", "status", "output"]


def test_trial_21_a_debugger_within_the_same_process_is_named(k: K) -> None:
    """
    A Python session that stops in its debugger says so, and when it goes on.
    """
    session = k.session("python3")

    stopped = k.json("run", "-j", session, "import pdb; pdb.set_trace()")
    goes_on = k.json("run", "-j", session, "c")

    assert stopped["now"] == "pdb"
    assert goes_on["now"].startswith("python3")
    assert "now" not in k.json("run", "-j", session, "1 + 1")


def test_trial_21_a_program_that_replaced_the_shell_is_named(k: K) -> None:
    """
    After `exec` there is nothing to go back to, so the hint does not say how to leave.
    """
    session = k.new("replaced")

    said = k.json("run", "-j", session, "exec python3")

    assert said["now"] == "python3"
    assert "leave" not in said["hint"]
    assert "now" not in k.json("run", "-j", session, "1 + 1")


def test_trial_21_without_json_the_hint_is_on_standard_error(k: K) -> None:
    """
    Standard output has only what the code wrote; fired cells and agent-pty say it, too.
    """
    session = k.new("plain")

    plain = k.run("run", session, "python3 -q")
    k.run("run", session, "exit()")
    ours = k.agent.cli("run", session, "python3 -q")
    k.run("run", session, "exit()")
    cell = k.json("fire", session, "python3 -q")["cell_id"]

    hint = "python3 reads the keyboard now: the next code runs in it; leave it with: exit()\n"
    assert (plain.stdout, plain.stderr) == ("\n", f"k: {hint}")
    assert ours.stderr.endswith(hint)
    assert k.collect(session, cell)["now"] == "python3"
