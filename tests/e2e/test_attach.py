"""A person at the terminal: what they see, what they type, and what becomes of their terminal."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent_pty.emulator import Emulator
from support.agent import Agent, eventually
from support.harmful import HARMFUL, harms
from support.person import Human, human
from support.raw_socket import Wire, wire

DETACH = b"\x1d"
LONG = 60_000
# A full-screen program's beginning: alternate screen, mouse, focus, paste, keys, hidden cursor,
# margins, reversed colours, insert mode, line drawing.
TUI = r"\e[?1049h\e[?1003h\e[?1006h\e[?1004h\e[?2004h\e[?1h\e=\e[?25l\e[2;9r\e[?5h\e[4h\e[1;31m"


def run(agent: Agent, name: str, command: str, until: str) -> None:
    """Run a command in a session and wait for a sign of it."""
    agent.ask("send", id=name, text=command)
    agent.ask("wait", id=name, until=until, timeout_ms=LONG)


@contextlib.contextmanager
def stream(agent: Agent, op: str, **fields: Any) -> Iterator[Wire]:
    """Open a stream; the envelope has been read."""
    with wire(agent) as connection:
        connection.post(op, **fields)
        assert connection.answer()["ok"]
        yield connection


def await_event(events: Wire, kind: str) -> dict[str, Any]:
    """Return the next event of this kind."""
    while (event := events.answer())["event"] != kind:
        pass
    assert isinstance(event, dict)
    return event


def test_row_1_attach_streams_and_sends(shared: Agent) -> None:
    """
    Attaching shows the past; what is piped in is typed, and the answer to it is shown.
    """
    shared.new("row1")
    run(shared, "row1", "echo earlier-$((1+1)); read -p 'name? ' it; echo hello-$it; exit", "name?")

    looked = shared.cli("attach", "row1", "--read-only", "--timeout", "250ms")
    answered = shared.cli("attach", "row1", stdin="world\n")

    assert (looked.returncode, answered.returncode) == (0, 0)
    assert "earlier-2" in answered.stdout
    assert "name? " in answered.stdout
    assert "hello-world" in answered.stdout


@pytest.mark.parametrize("op", ["attach", "watch"])
def test_row_2_an_unknown_session_is_an_error(shared: Agent, op: str) -> None:
    """
    Nobody is attached to, or watches, what is not there.
    """
    tried = shared.cli(op, "missing")

    assert tried.returncode != 0
    assert "unknown session missing" in tried.stderr


def test_a_session_that_has_ended_is_shown(shared: Agent) -> None:
    """
    What is left of an ended session can be looked at; the attachment ends by itself.
    """
    shared.new("over", "sh", "-c", "echo last-words")
    shared.ask("wait", id="over", until="exit", timeout_ms=LONG)

    shown = shared.cli("attach", "over")

    assert shown.returncode == 0
    assert "last-words" in shown.stdout


@pytest.mark.parametrize(
    "before", ["seq 1 100", "clear", "printf '\\e[8;20H'", "printf '\\e[3;9r'"]
)
def test_both_terminals_show_the_same(shared: Agent, before: str) -> None:
    """
    Whatever was on the person's terminal, of whatever size it is, it shows the session's screen.
    """
    name = f"same-{len(before)}"
    shared.new(name)
    run(shared, name, f"{before}; echo en''d", "end")

    with human(shared, "attach", name, rows=30, cols=100) as person:
        person.screen.feed(b"\x1b[2;5rthe person's own shell\r\n" * 7)
        person.sees("end")
        person.type(b"PS1='now> '\r")
        person.sees("now> ")
        shared.ask("wait", id=name, until="regex:now> $", timeout_ms=LONG)
        screen = shared.ask("screen", id=name)

        assert (screen["rows"], screen["cols"]) == (30, 100)
        person.until(lambda: person.screen.text() == screen["text"])
        person.until(
            lambda: (
                person.screen.cursor.row == screen["cursor"]["row"]
                and person.screen.cursor.col == screen["cursor"]["col"]
            )
        )


def test_a_full_screen_program_is_shown_as_it_is(shared: Agent) -> None:
    """
    Attaching to a program in the alternate screen paints that and sets its modes.
    """
    shared.new("tui")
    run(shared, "tui", r"printf '\e[?1049h\e[2J\e[?1h\e[?1000h\e[5;5Htui-%d' 1; cat", "tui-1")

    with human(shared, "attach", "tui") as person:
        person.sees("tui-1")
        modes = person.screen.modes()

        assert person.screen.alternate
        assert person.screen.lines()[4] == "    tui-1"
        assert (modes["application_cursor"], modes["mouse"]) == (True, "normal")


def detach(_agent: Agent, _name: str, person: Human) -> None:
    """Leave by the key."""
    person.type(DETACH)


def end(agent: Agent, name: str, _person: Human) -> None:
    """End the program."""
    agent.ask("send", id=name, text="")


def terminate(_agent: Agent, _name: str, person: Human) -> None:
    """End the client."""
    person.process.send_signal(signal.SIGTERM)


def hang_up(_agent: Agent, _name: str, person: Human) -> None:
    """Take the client's terminal away, as far as it knows."""
    person.process.send_signal(signal.SIGHUP)


def stop_daemon(agent: Agent, _name: str, _person: Human) -> None:
    """Stop the daemon; after its death another one would follow."""
    agent.cli("stop", "--keep")


@pytest.mark.parametrize("read_only", [False, True], ids=["typing", "read-only"])
@pytest.mark.parametrize(
    ("way", "status"),
    [(detach, 0), (end, 0), (terminate, 143), (hang_up, 129), (stop_daemon, 0)],
)
def test_the_terminal_is_given_back_as_it_was(
    shared: Agent, way: Callable[[Agent, str, Human], None], status: int, *, read_only: bool
) -> None:
    """
    However an attachment ends, no mode of the terminal or of its driver stays changed.
    """
    name = f"{way.__name__}-{read_only}"
    shared.new(name, "bash", "-c", f"printf '{TUI}up-%d\\e(0' 2; read")
    shared.ask("wait", id=name, until="up-2", timeout_ms=LONG)
    fresh = Emulator(rows=24, cols=80)

    with human(shared, "attach", name, *(["--read-only"] if read_only else [])) as person:
        person.until(lambda: person.screen.alternate)
        person.gets(b"2")
        person.until(lambda: person.raw)
        way(shared, name, person)

        assert person.leaves() == status
        assert person.attributes() == person.before
        assert not person.screen.alternate
        assert person.screen.modes() == fresh.modes()


def test_who_watches_only_may_leave_by_ctrl_c(shared: Agent) -> None:
    """
    In a read-only attachment Ctrl-C is not for the program: it ends the watching.
    """
    shared.new("glance")

    with human(shared, "attach", "glance", "--read-only") as person:
        person.sees("$")
        person.until(lambda: person.raw)
        person.type(b"\x03")

        assert person.leaves() == 0
    assert "^C" not in shared.transcript("glance")


def test_the_size_of_the_window_is_followed(shared: Agent) -> None:
    """
    The session has the person's size from the start, and again when the window changes.
    """
    shared.new("size")

    with human(shared, "attach", "size", rows=31, cols=97) as person:
        person.sees("$")
        person.type(b"stty size\r")
        person.sees("31 97")
        person.type(b"trap 'stty size' WINCH; echo trap-$((1+1))\r")
        person.sees("trap-2")
        person.resize(rows=33, cols=101)
        person.sees("33 101")


def test_who_watches_only_does_not_set_the_size(shared: Agent) -> None:
    """
    A read-only attachment changes nothing, not even the size.
    """
    shared.new("kept")

    with human(shared, "attach", "kept", "--read-only", rows=50, cols=120) as person:
        person.sees("$")

    assert (shared.info("kept")["rows"], shared.info("kept")["cols"]) == (24, 80)


def test_read_only_types_nothing(shared: Agent) -> None:
    """
    Keys of a read-only attachment reach nobody; that the host sees to it is in `test_road`.
    """
    shared.new("closed")

    with human(shared, "attach", "closed", "--read-only") as person:
        person.sees("$")
        person.until(lambda: person.raw)
        person.type(b"echo by-key\r" + DETACH)
        assert person.leaves() == 0
    run(shared, "closed", "echo by-send", "by-send")

    assert "by-key" not in shared.transcript("closed")


def test_several_people_share_a_session(shared: Agent) -> None:
    """
    All see the same, each may type, and one who leaves takes nothing along.
    """
    shared.new("table")

    with human(shared, "attach", "table") as one, human(shared, "attach", "table") as other:
        one.sees("$")
        other.sees("$")
        one.type(b"echo from-one-$((1+1))\r")
        other.sees("from-one-2")
        one.type(DETACH)
        assert one.leaves() == 0
        other.type(b"echo from-other-$((1+1))\r")
        other.sees("from-other-2")


def test_timeout_ends_an_attachment(shared: Agent) -> None:
    """
    After its time an attachment ends with status 0; the session goes on.
    """
    shared.new("brief")

    with human(shared, "attach", "brief", "--timeout", "100ms") as person:
        assert person.leaves() == 0
        assert person.attributes() == person.before

    assert shared.info("brief")["state"] == "running"


def test_history_bytes_0_shows_no_past(shared: Agent) -> None:
    """
    Without history only what comes from now on is shown.
    """
    shared.new("present")
    run(shared, "present", "echo past-$((1+1))", "past-2")

    with (
        stream(shared, "watch", id="present", events=["attached"]) as events,
        human(shared, "attach", "present", "--history-bytes", "0") as person,
    ):
        await_event(events, "attached")
        run(shared, "present", "echo present-$((1+1))", "present-2")
        person.sees("present-2")

        assert "past-2" not in person.screen.text()


def test_history_is_bounded(shared: Agent) -> None:
    """
    Of a long past only whole lines of its end are sent, and the screen.
    """
    shared.new("long")
    run(shared, "long", "seq 1000 1300", "1300")

    with human(shared, "attach", "long", "--history-bytes", "200") as person:
        person.sees("1300")

        lines = person.seen.split(b"\r\n")
        assert b"1000" not in lines
        assert lines[0] in {b"%d" % number for number in range(1230, 1290)}


def test_who_typed_is_known(shared: Agent) -> None:
    """
    Input from an attachment is a human's, with the pid of their client; from `send` an agent's.
    """
    shared.new("who")

    with stream(shared, "watch", id="who", events=["input"]) as events:
        shared.ask("send", id="who", text="echo agent")
        by_agent = events.answer()
        with human(shared, "attach", "who") as person:
            person.sees("$")
            person.type(b"x")
            by_human = events.answer()

            assert by_human["by"]["kind"] == "human"
            assert by_human["by"]["pid"] == person.process.pid
    assert by_agent["by"]["kind"] == "agent"
    assert by_agent["by"]["pid"] == os.getpid()
    assert by_human["by"]["transport"] == by_agent["by"]["transport"] == "unix"
    assert by_human["bytes"] == 1


def test_must_hold_5_a_hostile_program_cannot_reach_the_terminal(shared: Agent) -> None:
    """
    Queries, clipboard, titles and a megabyte of OSC pass by; the terminal is asked nothing.
    """
    shared.new("hostile")
    attack = shared.home / "attack"
    text = [f"<{name}>".encode() + data for name, data in HARMFUL.items()]
    huge = b"\x1b]52;c;" + b"QUFB" * 262_144
    attack.write_bytes(b"\r\n".join(text) + huge + b"\x07\r\nstill here\r\n" + huge + b"\x1b[m")

    with (
        stream(shared, "watch", id="hostile", events=["input"]) as events,
        human(shared, "attach", "hostile") as person,
    ):
        person.sees("$")
        # Our own emulator answers the program, which must not take that for commands.
        person.type(b"stty -echo; cat " + str(attack).encode() + b"; echo over-$((1+1))\r")
        person.sees("over-2")
        person.type(b"!")

        assert person.answered == b""
        assert harms(person.seen) == []
        assert person.screen.title == ""
        assert b"still here" in person.seen
        while (typed := events.answer())["bytes"] != 1:
            assert typed["by"]["kind"] == "human"
            assert typed["bytes"] > 50


def test_title_and_clipboard_pass_if_asked_for(shared: Agent) -> None:
    """
    With the flags the title and the clipboard are the program's to set, and nothing else.
    """
    shared.new("asked")

    with human(shared, "attach", "asked", "--title", "--clipboard") as person:
        person.sees("$")
        person.type(rb"printf '\e]2;my title\a\e]52;c;QQ==\a\e]52;c;?\a\e[cdone-%d' 1" + b"\r")
        person.sees("done-1")

        assert person.screen.title == "my title"
        assert b"\x1b]52;c;QQ==" in person.seen
        assert person.answered == b""


def test_another_key_may_detach(shared: Agent) -> None:
    """
    The detach key can be chosen; one that is no control key is refused.
    """
    shared.new("key")

    with human(shared, "attach", "key", "--detach-key", "ctrl-a") as person:
        person.sees("$")
        person.until(lambda: person.raw)
        person.type(b"\x01")
        assert person.leaves() == 0
    refused = shared.cli("attach", "key", "--detach-key", "f5")

    assert refused.returncode == 2
    assert "--detach-key 'f5'" in refused.stderr


def test_events_are_lines_of_json(shared: Agent) -> None:
    """
    Coming and going of people are events, with how many there are.
    """
    shared.new("door")

    with stream(shared, "watch", id="door", events=["attached", "detached"]) as events:
        with stream(shared, "attach", id="door", read_only=True):
            came = events.answer()
        gone = events.answer()

    assert json.dumps(came)
    assert (came["event"], came["attached"], came["read_only"]) == ("attached", 1, True)
    assert (gone["event"], gone["attached"]) == ("detached", 0)


# -- input that is no terminal


def test_trial_25_what_is_piped_in_is_typed_and_the_timeout_is_kept(shared: Agent) -> None:
    r"""
    `printf 'yes\n' | agent-pty attach s --timeout 1s` answers a question and shows what follows.
    """
    shared.new("sure")
    run(
        shared,
        "sure",
        "read -p 'sure? ' it; echo got-$it-$((1+1)); sleep 0.4; echo late-$it",
        "sure?",
    )

    done = shared.cli("attach", "sure", "--timeout", "5s", stdin="yes\n")

    assert done.returncode == 0
    assert "got-yes-2" in done.stdout
    assert "late-yes" in done.stdout


@pytest.mark.parametrize("read_only", [False, True], ids=["typing", "read-only"])
def test_trial_25_after_its_input_an_attachment_leaves(shared: Agent, *, read_only: bool) -> None:
    """
    Without a timeout it stays until the output has settled, not until the session ends.
    """
    name = f"piped-{read_only}"
    shared.new(name)
    run(shared, name, "echo earlier-$((1+1))", "earlier-2")

    words = ["attach", name, *(["--read-only"] if read_only else [])]
    done = shared.cli(*words, stdin="echo typed-$((1+1))\n")

    assert (done.returncode, done.stderr) == (0, "")
    assert "earlier-2" in done.stdout
    assert ("typed-2" in done.stdout) is not read_only
    assert shared.info(name)["state"] == "running"


def test_trial_25_a_program_that_works_is_waited_for(shared: Agent) -> None:
    """
    Output has not settled while the program that was typed is busy, if it is silent or not.
    """
    shared.new("silent")

    done = shared.cli("attach", "silent", stdin="sleep 2; echo do''ne-$((1+1))\n")

    assert "done-2" in done.stdout


# -- a terminal of one's own


def test_trial_25_the_key_that_leaves_is_named(shared: Agent) -> None:
    """
    A line on the screen names the key until the person types; then the session has all of it.
    """
    shared.new("named")

    with human(shared, "attach", "named", "--detach-key", "ctrl-b") as person:
        person.sees("ctrl-b leaves")
        assert "named" in person.screen.lines()[23]
        person.type(b"echo so-$((1+1))\r")
        person.sees("so-2")
        person.until(lambda: "leaves" not in person.screen.text())
        person.until(lambda: person.screen.text() == shared.ask("screen", id="named")["text"])


def test_trial_25_the_line_that_names_the_key_goes_by_itself(shared: Agent) -> None:
    """
    It is gone after a few seconds, also for a person who only watches.
    """
    shared.new("brief-line")

    with human(shared, "attach", "brief-line", "--read-only") as person:
        person.sees("ctrl-] or ctrl-c leaves")
        person.until(lambda: "leaves" not in person.screen.text())


def leave(person: Human) -> None:
    """Press the key."""
    person.type(DETACH)
    assert person.leaves() == 0


def vanish(person: Human) -> None:
    """Die without a word."""
    person.process.kill()
    person.process.wait()


@pytest.mark.parametrize("way", [leave, vanish])
def test_trial_25_the_size_comes_back_when_the_last_person_leaves(
    agent: Agent, way: Callable[[Human], None]
) -> None:
    """
    People set the size while they are there; afterwards it is the one from before.
    """
    agent.new("sized", rows=20, cols=70)

    def is_now(rows: int, cols: int) -> None:
        eventually(lambda: size_of(agent, "sized") == (rows, cols))

    with human(agent, "attach", "sized", rows=31, cols=97) as one:
        one.sees("$")
        with human(agent, "attach", "sized", rows=40, cols=120) as other:
            other.sees("$")
            is_now(40, 120)
            way(other)
            is_now(40, 120)
        one.resize(rows=33, cols=101)
        is_now(33, 101)
        way(one)

    is_now(20, 70)


def size_of(agent: Agent, name: str) -> tuple[int, int]:
    """Return the size of a session."""
    found = agent.info(name)
    return found["rows"], found["cols"]


def test_trial_25_a_size_that_was_asked_for_stays(shared: Agent) -> None:
    """
    `resize` while a person is attached is meant for the time after them, too.
    """
    shared.new("wanted")

    with human(shared, "attach", "wanted", rows=31, cols=97) as person:
        person.sees("$")
        shared.ask("resize", id="wanted", rows=50, cols=140)
        leave(person)

    eventually(lambda: shared.info("wanted")["attached"] == 0)
    assert size_of(shared, "wanted") == (50, 140)


def test_trial_25_the_person_finds_their_screen_as_it_was(shared: Agent) -> None:
    """
    The session is shown on the alternate screen, whatever its programs do with theirs.
    """
    shared.new("guest")
    both = r"printf '\e[?1049hfull-%d\e[?1049l\ecback-%d\n' 1 2"

    with human(shared, "attach", "guest") as person:
        before = person.screen.text()
        person.sees("$")
        assert person.screen.alternate
        person.type(both.encode() + b"\r")
        person.sees("back-2")
        person.until(lambda: person.screen.text() == shared.ask("screen", id="guest")["text"])
        assert person.screen.alternate
        assert "full-1" not in person.screen.text()
        leave(person)

    assert before == ""
    assert not person.screen.alternate
    assert person.screen.text() == "[detached: guest]"


def test_trial_25_last_words_are_seen_on_a_terminal(shared: Agent) -> None:
    """
    The screen of a session that has ended is left on the person's own.
    """
    shared.new("words", "/bin/sh", "-c", "echo last-words")
    shared.ask("wait", id="words", until="exit", timeout_ms=LONG)

    with human(shared, "attach", "words") as person:
        assert person.leaves() == 0

    assert person.screen.lines()[:2] == ["last-words", "[ended: words]"]
