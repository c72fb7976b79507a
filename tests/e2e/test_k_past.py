"""`k int`, `notify`, `history` and `watch` (contract 1.10)."""

from __future__ import annotations

import json
import re
import signal

import pytest

from support.agent import Agent
from support.followers import await_end, monitor, watching
from support.k import K


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, with one daemon for this file."""
    return K(shared)


@pytest.fixture(scope="module")
def bash(k: K) -> str:
    """A session for cells that end."""
    return k.new("bash")


def said(k: K, *words: str) -> tuple[str, int]:
    """Return standard output and status."""
    done = k.run(*words)
    return done.stdout, done.returncode


def test_int_without_a_cell(k: K, bash: str) -> None:
    """
    `k int` says OK whatever there is to stop, and clears a line that somebody began to type.
    """
    assert said(k, "int", "nobody") == ("OK\n", 0)
    k.run("keys", bash, "o", "o", "p", "s")

    assert said(k, "int", bash) == ("OK\n", 0)

    assert said(k, "run", bash, "echo x") == ("x\n", 0)


def test_notify(k: K, bash: str) -> None:
    """
    Words are joined; the first is the session if there is one of that name and a word follows.
    """
    named = K(k.agent, K_SESSION=bash)

    assert said(k, "notify", bash, "tests", "are green") == ("OK notified: tests are green\n", 0)
    assert said(named, "notify", bash) == (f"OK notified: {bash}\n", 0)
    assert said(named, "notify", "all", "done") == ("OK notified: all done\n", 0)
    assert said(K(k.agent, K_SESSION="nobody"), "notify", "all", "done") == (
        "ERR no session 'nobody'\n",
        1,
    )


@pytest.mark.parametrize("words", [["status"], ["watch"], ["history"]])
def test_no_session_is_an_error(k: K, words: list[str]) -> None:
    """
    Who asks about a session that is not there is told so, with status 1.
    """
    assert said(k, *words, "nobody") == ("ERR no session 'nobody'\n", 1)


def test_history_tells_text_and_cells(k: K) -> None:
    """
    Lines in order, with what happened to cells in colour between them; blank ones are left out.
    """
    name = k.new("past", "env PS1='$ ' bash --norc")
    cell = k.json("fire", name, "printf 'one\\n\\ntwo\\ntwo\\n'")["cell_id"]
    await_end(k, name, cell)
    k.run("notify", name, "well done")

    lines = k.run("history", name).stdout.splitlines()

    assert lines[:5] == [
        f"\x1b[2;36m── {cell[:8]} ──\x1b[0m",
        "$ printf 'one\\n\\ntwo\\ntwo\\n'",
        "one",
        "two",
        "\x1b[2;32m── ✓ ──\x1b[0m",
    ]
    notes = [line for line in lines if "well done" in line]
    assert len(notes) == 1
    assert re.fullmatch(r"\x1b\[33m📢 well done\x1b\[0m \x1b\[2m\([^()]+@k:\d+\)\x1b\[0m", notes[0])


def test_trial_25_a_failed_command_has_no_tick(k: K) -> None:
    """
    `watch` and `history` show a command that failed as failed, with its exit code.
    """
    name = k.new("failing")
    with watching(k, name) as watcher:
        k.run("run", name, "sh -c 'exit 3'")
        seen = watcher.until(lambda line: "✗" in line)[-1]
    k.run("run", name, "true")

    marks = [line for line in k.run("history", name).stdout.splitlines() if "── " in line]
    entries = json.loads(k.run("history", "-j", name).stdout)

    assert seen == "\x1b[31m── ✗ exit 3 ──\x1b[0m"
    assert [line for line in marks if "✗" in line or "✓" in line] == [
        seen,
        "\x1b[2;32m── ✓ ──\x1b[0m",
    ]
    ends = [one for one in entries if one["kind"] == "done"]
    assert [list(one.items())[2:] for one in ends] == [
        [("who", ""), ("exit_code", 3)],
        [("who", "")],
    ]


HARM = "a\x1b[2J\x1b]0;owned\x07b\x9b31mc\x7f\nd\te"
SHOWN = r"a\x1b[2J\x1b]0;owned\x07b\x9b31mc\x7f\nd" + "\te"
OWN_COLOURS = re.compile(r"\x1b\[(?:0|2|33|2;3[26])m")


def test_trial_17_a_note_does_not_reach_the_readers_terminal_raw(k: K) -> None:
    """
    Escape sequences in a note are shown as text by `notify`, `history` and `watch`.
    """
    name = k.new("harmed")
    with watching(k, name) as watcher:
        told = said(k, "notify", name, HARM)
        seen = watcher.until(lambda line: "📢" in line)[-1]
    past = k.run("history", name).stdout

    assert told == (f"OK notified: {SHOWN}\n", 0)
    for text in (seen, past):
        plain = OWN_COLOURS.sub("", text)
        assert f"📢 {SHOWN} (" in plain
        assert plain.replace("\n", "").replace("\t", "").isprintable()


def test_trial_17_a_note_in_json_is_exact_and_harmless(k: K) -> None:
    """
    The value is what was sent; no control character stands in the line that carries it.
    """
    name = k.new("exact")
    with monitor(k, name) as events:
        told = k.run("notify", "-j", name, HARM).stdout
        heard = events.line()
    past = k.run("history", "-j", name).stdout

    assert json.loads(told)["message"] == HARM
    assert json.loads(heard)["message"] == HARM
    assert HARM in [entry["text"] for entry in json.loads(past)]
    for line in (told, heard, past):
        assert line.removesuffix("\n").isprintable()


def test_trial_17_the_command_of_a_session_is_shown_as_text(k: K) -> None:
    """
    `k ls` obeys nothing that stands in an argument.
    """
    k.agent.new("argued", "sh", "-c", "cat # \x1b[2J")

    listed = k.run("ls").stdout

    assert r"cat # \x1b[2J" in listed
    assert "\x1b" not in listed


@pytest.mark.parametrize(("words", "count"), [([], 25), (["-n", "2"], 10), (["-n", "0"], 0)])
def test_history_shows_five_lines_for_each(k: K, bash: str, words: list[str], count: int) -> None:
    """
    `-n N` shows the last N*5 lines; five times five if nobody says.
    """
    k.output(bash, "seq 100")

    lines = k.run("history", *words, bash).stdout.splitlines()

    assert len(lines) == count


def test_watch_follows_until_ctrl_c(k: K) -> None:
    """
    `k watch` shows what is written and what happens to cells; Ctrl-C ends it with status 0.
    """
    name = k.new("watched")
    with watching(k, name) as watcher:
        k.output(name, "echo; echo seen; echo")
        k.run("notify", name, "look here")
        k.output(name, "echo the end")
        seen = watcher.until(lambda line: line == "the end\n")
        watcher.process.send_signal(signal.SIGINT)
        *_, last = watcher.rest()

    head = [f"\x1b[2mwatching {name} (ctrl-c to stop)\x1b[0m\n", "\n"]
    assert watcher.lines[:2] == head
    assert watcher.process.returncode == 0
    assert "seen" in seen
    assert [line for line in seen if not line.strip()] == []
    assert [line for line in seen if "📢 look here" in line] != []
    assert last == "\x1b[2mstopped\x1b[0m"


def test_watch_tells_in_order(k: K) -> None:
    """
    What a cell wrote stands between its beginning and its end, as in `k history`.
    """
    name = k.new("ordered")
    with watching(k, name) as watcher:
        k.output(name, "echo one")
        k.output(name, "echo two")
        seen = [line for _ in range(2) for line in watcher.until(lambda line: "✓" in line)]

    told = [line for line in seen if line in ("one", "two") or "──" in line]
    assert ["✓" if "✓" in line else "fired" if "──" in line else line for line in told] == [
        "fired",
        "one",
        "✓",
        "fired",
        "two",
        "✓",
    ]


def test_watch_tells_whole_lines(k: K) -> None:
    """
    A line that comes in pieces is shown once, when it is whole.
    """
    name = k.new("pieces")
    with watching(k, name) as watcher:
        k.output(name, "printf abc; sleep 0.3; echo def; echo the end")
        seen = watcher.until(lambda line: line == "the end\n")

    assert "abcdef" in seen


def test_watch_ends_with_its_session(k: K) -> None:
    """
    When the session is killed, `k watch` says so and ends.
    """
    name = k.new("doomed")
    with watching(k, name) as watcher:
        k.kill(name)
        *_, last = watcher.rest()

    assert watcher.process.returncode == 0
    assert last == "\x1b[2mclosed\x1b[0m"
