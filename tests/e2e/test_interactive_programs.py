"""Cells that start interactive programs: what each is reported as, with the real program."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest

from support.agent import Agent, eventually
from support.k import SHELLS, K


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


def needs(program: str) -> pytest.MarkDecorator:
    """Skip a test where a program is absent."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.mark.parametrize("program", SHELLS)
def test_trial_13_exit_ends_the_session_in_every_shell(k: K, program: str) -> None:
    """
    A cell that ends its shell has `exited`, with the code of the shell.
    """
    session = k.new(f"exit-{program}", program)
    k.output(session, "echo ready")

    done = k.run("run", "-j", "-e", session, "exit 4")

    assert done.stdout.endswith('"status": "error", "output": "exited", "exit_code": 4}\n')
    assert done.returncode == 4


def test_trial_13_a_debugger_runs_cells_in_a_python_session(k: K) -> None:
    """
    A breakpoint ends the cell that reached it; cells run in pdb until it goes back to Python.
    """
    session = k.new("pdb", "python3")

    reached = k.cell(session, "def twice(n):\n    breakpoint()\n    return 2 * n\n\ntwice(21)")
    inside = k.cell(session, "p n + 1")
    left = k.cell(session, "continue")
    after = k.cell(session, "1/0")

    assert (reached["status"], reached["exit_code"]) == ("done", None)
    assert reached["output"].endswith("twice()\n-> return 2 * n")
    assert inside == {"status": "done", "output": "22"}
    back = {"now": "python3", "hint": "python3 reads the keyboard again"}
    assert left == {"status": "done", "output": "42", **back}
    assert after["exit_code"] == 1


def asked(k: K, session: str, question: str) -> dict[str, Any]:
    """Return what `k` says of a cell that has come to a question."""
    said: list[dict[str, Any]] = []

    def is_there() -> bool:
        said.append(k.json("peek", session))
        shown: str = said[-1]["output"]
        return said[-1]["status"] == "waiting" and shown.rstrip().endswith(question)

    eventually(is_there)
    return said[-1]


@needs("npm")
def test_trial_13_every_question_of_npm_init_is_a_question(k: K) -> None:
    """
    A program that draws its line again for each question has not taken the screen.
    """
    directory = k.agent.home / "package"
    directory.mkdir()
    session = k.new("npm", "bash")
    k.output(session, f"cd {directory}; export npm_config_update_notifier=false")

    said = k.waiting(session, "npm init")
    for question in ("version: (1.0.0)", "description:", "entry point: (index.js)"):
        k.run("keys", session, "enter")
        later = asked(k, session, question)
        assert "hint" not in later
    k.run("int", session)

    assert said["output"].endswith("package name: (package) ")
    assert "hint" not in said


@needs("fzf")
@pytest.mark.parametrize("height", ["", " --height=5"], ids=["full", "part"])
def test_trial_13_fzf_waits_for_keys(k: K, height: str) -> None:
    """
    A thread of its own reads the keyboard, and that is seen.
    """
    session = k.session("bash")

    said = k.waiting(session, f"printf 'alpha\\nbeta\\n' | fzf{height}")
    k.run("keys", session, "enter")
    done = k.collect(session, said["cell_id"])

    assert "alpha" in said["output"]
    assert said["hint"] == "fzf has the whole screen; leave it with keys: escape"
    assert done["output"].endswith("alpha")


@pytest.mark.parametrize("program", ["bash", "zsh"])
def test_trial_13_a_read_with_a_limit_waits_for_input(k: K, program: str) -> None:
    """
    `read -t` polls the keyboard in line mode, and for nothing else.
    """
    session = k.session(program)

    said = k.waiting(session, "read -t 1000 answer")
    k.run("keys", session, "h", "i", "enter")
    k.collect(session, said["cell_id"])

    assert said["for"] == "input"
    assert k.output(session, "echo $answer") == "hi"


@needs("watch")
@pytest.mark.parametrize("often", ["1000", "0.1"])
def test_trial_13_watch_waits_for_a_person(k: K, often: str) -> None:
    """
    A full-screen program that never reads waits as well, even if it draws all the time.
    """
    session = k.session("bash")

    said = k.waiting(session, f"watch -n {often} echo on the screen")
    k.run("keys", session, "ctrl-c")
    k.collect(session, said["cell_id"])

    assert "on the screen" in said["output"]
    assert said["hint"] == "watch has the whole screen; leave it with keys: ctrl-c"


LINKS = {"editor": ("vim", "-u NONE -N"), "pager": ("less", "")}


@pytest.mark.parametrize("link", LINKS)
def test_trial_13_a_hint_names_the_program_behind_a_link(k: K, link: str) -> None:
    """
    `editor` and `pager` are links: the hint names the program, and how to leave that one.
    """
    program, options = LINKS[link]
    if (path := shutil.which(program)) is None:
        pytest.skip(f"{program} is not installed")
    os.symlink(path, k.agent.home / link)
    k.file("poem.txt", "roses\n" * 100)
    session = k.session("bash")

    said = k.waiting(session, f"./{link} {options} poem.txt")
    stopped = k.run("int", session)

    name = os.path.basename(os.path.realpath(path))
    assert said["hint"].startswith(f"{name} has the whole screen; leave it with keys: ")
    assert stopped.stdout == "OK\n"


@needs("less")
def test_trial_13_less_without_its_screen_has_a_hint(k: K) -> None:
    """
    `less -X` shows its text on the common screen; it is a full-screen program all the same.
    """
    k.file("poem.txt", "roses\n" * 100)
    session = k.session("bash")

    said = k.waiting(session, "less -X poem.txt")
    k.run("keys", session, "q")

    assert said["hint"] == "less has the whole screen; leave it with keys: q"
    assert said["output"].splitlines()[-1].startswith("poem.txt")
    assert k.collect(session, said["cell_id"])["status"] == "done"
