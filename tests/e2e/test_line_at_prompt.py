"""What stands on the line is asked: a cell is never added to something half typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.agent import Agent, eventually
from support.k import K

PROGRAMS = ("bash", "zsh", "fish", "dash", "python3", "node", "sqlite3")
SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """A caller whose sessions the tests of this file share."""
    return K(shared)


def shows(k: K, session: str, text: str) -> None:
    """Return once *text* is on the screen."""
    eventually(lambda: text in k.agent.ask("screen", id=session)["text"])


@pytest.mark.parametrize("program", PROGRAMS)
def test_trial_08_a_cell_is_not_added_to_what_was_typed(k: K, program: str) -> None:
    """
    It is refused with the text that stands there and the remedy; nothing is typed.
    """
    session = k.new(f"typed-{program}", program)
    k.agent.ask("send", id=session, text="half typed ", enter=False)
    shows(k, session, "half typed")

    said = k.json("run", "-j", session, "touch victim")

    assert said["status"] == "error"
    assert "half typed ' stands on the line" in said["output"]
    assert "ctrl-c" in said["output"]
    assert "victim" not in k.agent.transcript(session)
    k.run("keys", session, "ctrl-c")
    assert not Path(k.agent.home / "victim").exists()


@pytest.mark.parametrize("program", ["sqlite3", "node", "python3", "dash"])
def test_trial_08_an_empty_prompt_is_free(k: K, program: str) -> None:
    """
    The prompt itself is not taken for something that was typed.
    """
    session = k.new(f"empty-{program}", program)
    code = {"sqlite3": "select 1;", "dash": "echo 1", "python3": "print(1)", "node": "1"}[program]

    assert [k.output(session, code) for _ in range(3)] == ["1"] * 3


@pytest.mark.parametrize("program", SHELLS)
def test_trial_08_after_the_remedy_cells_run(k: K, program: str) -> None:
    """
    An empty line, also one that was emptied by hand, is free.
    """
    session = k.new(f"free-{program}", program)
    k.agent.ask("send", id=session, text="gone", enter=False)
    shows(k, session, "gone")
    k.run("keys", session, "ctrl-u")

    assert k.output(session, "echo free") == "free"


def test_trial_08_vi_command_mode_and_reverse_search(k: K) -> None:
    """
    Text would be commands in the one, and be added to what was found in the other.
    """
    session = k.new("modes", "bash")
    k.output(session, "echo needle")
    k.agent.ask("keys", id=session, keys=["ctrl-r"])
    k.agent.ask("send", id=session, text="needle", enter=False)
    shows(k, session, "reverse-i-search")
    found = k.json("run", "-j", session, "echo no")
    k.run("keys", session, "ctrl-c")
    k.output(session, "set -o vi")
    k.run("keys", session, "escape")

    moved = k.json("run", "-j", session, "echo no")

    assert "'echo needle' stands on the line" in found["output"]
    assert "command mode of vi" in moved["output"]


def test_trial_08_control_characters_in_code_are_refused(k: K) -> None:
    """
    The position is named; line ends of another system are line ends.
    """
    session = k.new("controls", "bash")

    said = k.json("run", "-j", session, "echo a\x1bb")

    assert "control character U+001B at position 6" in said["output"]
    assert k.output(session, "echo a\r\necho b") == "a\nb"


@pytest.mark.parametrize("program", PROGRAMS)
def test_trial_16_the_process_table_does_not_have_the_secret(k: K, program: str) -> None:
    """
    Neither environment nor arguments of the program have the nonce of its marks.
    """
    session = k.new(f"secret-{program}", program)
    instance = k.agent.info(session)["instance"]
    pid = k.agent.info(session)["pid"]
    spec = Path(k.agent.layout.spec(instance)).read_text()
    nonce = spec.partition('"nonce":"')[2][:16]

    assert len(nonce) == 16
    for name in ("environ", "cmdline"):
        assert nonce.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()


def test_trial_16_a_forged_mark_is_reported(k: K) -> None:
    """
    An event says so; the cell ends when it ends.
    """
    session = k.new("forged", "bash")
    code = r"printf '\033]133;D;0;apty=0123456789abcdef.99.1\007'; echo after; (exit 3)"

    said = k.cell(session, code)

    assert (said["output"], said["exit_code"]) == ("after", 3)
    past = k.agent.start("watch", session, "--since", "0", "--event", "mark_forged")
    assert past.stdout is not None
    assert '"event":"mark_forged"' in past.stdout.readline()
    past.kill()
    past.communicate()
