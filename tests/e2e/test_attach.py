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
from support.agent import Agent
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
