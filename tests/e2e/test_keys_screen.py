"""`keys` with text and with the screen: what is pressed, and which rows changed by it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest

from support.agent import Agent
from support.k import K

# It draws without end and reads nothing.
RESTLESS = "import itertools\nfor n in itertools.count(): print(n, end='\\r', flush=True)"


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


@pytest.fixture
def editor(k: K) -> Iterator[str]:
    """A session with vim on three lines, which waits for a key."""
    if shutil.which("vim") is None:
        pytest.skip("vim is not installed")
    name = k.new("editor")
    k.file("lines.txt", "one\ntwo\nthree\n")
    code = "vim -u NONE -n --cmd 'set nocompatible showmode ttimeout ttimeoutlen=10' lines.txt"
    assert k.json("run", "-j", name, code)["status"] == "waiting"
    yield name
    k.kill(name)


def test_trial_18_text_is_typed_among_keys(k: K) -> None:
    """
    `text:` types what follows it, blanks and capitals and all; names of keys are pressed.
    """
    name = k.new("text")

    text = "echo Good-$((1+1)) ä漢 enter"

    pressed = k.run("keys", name, f"text:{text}", "enter")
    met = k.json("wait", "-j", name, "--until", "regex:^Good-2 .*")

    assert pressed.stdout == f"OK {name} keys={len(text) + 1}\n"
    assert met["match"] == "Good-2 ä漢 enter"
    assert "pressed 2 key(s)" in k.agent.cli("keys", name, "text:x", "ctrl-u").stdout


def test_trial_18_a_word_that_is_no_key_names_the_remedy(k: K) -> None:
    """
    The error says how to type it as text; control characters in a text are keys of their own.
    """
    name = k.new("text")

    wrong = k.run("keys", name, "goodbye", "enter")
    newline = k.run("keys", name, "text:a\nb")

    assert (wrong.returncode, newline.returncode) == (1, 1)
    assert "unknown key 'goodbye'" in wrong.stdout
    assert "text:goodbye" in wrong.stdout
    assert "U+000A" in newline.stdout
    assert "enter" in newline.stdout
    assert "text:goodbye" in k.agent.cli("keys", name, "goodbye").stderr


def test_trial_18_keys_show_the_rows_that_they_changed(k: K, editor: str) -> None:
    """
    Text in an editor changes its row and the last one; rows that stay are not printed.
    """
    plain = k.run("keys", "-s", editor, "j", "A", "text:-and-a-half")
    left = k.json("keys", "-j", editor, "escape", "--screen")
    said = k.json("keys", "-j", editor, "k", "x", "-s")

    assert plain.returncode == 0
    assert plain.stdout == "two-and-a-half\n-- INSERT --\n"
    assert plain.stderr == ""
    after, shown = said["screen"], k.json("screen", "-j", editor)
    assert (after["settled"], after["whole"], after["hash"]) == (True, False, shown["hash"])
    lines = shown["text"].split("\n")
    assert left["screen"]["rows"] == [{"row": 39, "text": ""}]
    assert after["rows"] == [{"row": 0, "text": "on"}]
    assert lines[:3] == ["on", "two-and-a-half", "three"]


def test_trial_18_agent_pty_shows_them_too(k: K, editor: str) -> None:
    """
    The same from `agent-pty keys --screen`: rows, or JSON with their numbers.
    """
    plain = k.agent.cli("keys", editor, "x", "--screen")
    said = json.loads(k.agent.cli("keys", editor, "x", "-s", "--json").stdout)

    assert plain.stdout == "ne\n"
    assert said["screen"]["rows"] == [{"row": 0, "text": "e"}]


def test_trial_18_keys_that_change_no_text_say_so(k: K, editor: str) -> None:
    """
    No row is printed; what moved instead is said on standard error.
    """
    still = k.run("keys", "-s", editor, "k")
    moved = k.run("keys", "-s", editor, "j")

    assert (still.returncode, still.stdout) == (moved.returncode, moved.stdout) == (0, "")
    assert still.stderr == "k: no row of the screen changed\n"
    assert "no row of the screen changed, but the cursor moved to row 1, column 0" in moved.stderr


def test_trial_18_when_every_row_changed_all_are_printed(k: K) -> None:
    """
    Another screen has no row in common with the one before: all its rows come, and that is said.
    """
    name = k.new("scrolled")
    k.output(name, "clear; seq 5")

    done = k.run("keys", "-s", name, "text:clear; seq 101 200", "enter")

    rows = done.stdout.splitlines()
    assert rows[-2] == "200"
    assert len(rows) == 40
    assert "every row of the screen changed" in done.stderr


def test_trial_18_a_screen_that_does_not_settle_is_called_so(k: K) -> None:
    """
    After the given time the rows that changed until then are printed, with a plain remark.
    """
    name = k.new("restless")
    k.file("restless.py", RESTLESS)

    k.run("keys", name, "text:python3 restless.py", "enter")
    k.agent.ask("wait", id=name, until=r"regex:\b[1-9][0-9]{2,}\b", timeout_ms=60_000)

    plain = k.run("keys", "-s", "-t", "1", name, "x")
    said = k.json("keys", "-j", "-s", "-t", "1", name, "x")
    k.kill(name)

    assert plain.returncode == 0
    assert "has not settled" in plain.stderr
    assert said["screen"]["settled"] is False


def test_trial_18_without_the_flag_keys_answer_as_before(k: K, editor: str) -> None:
    """
    They return when they are pressed, and nothing is said of the screen.
    """
    assert list(k.json("keys", "-j", editor, "j")) == ["cursor", "keys"]
