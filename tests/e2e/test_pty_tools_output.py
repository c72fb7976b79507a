"""What the six `pty_*` tools show, and what they refuse to type."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.agent import Agent, eventually, slay
from support.model import LONG, Model, bash, cursor, fact, output, python

NOTE = re.compile(r"^\[\.\.\. (\d+) lines, (\d+) bytes left out\. .*?cursor (\d+) to (\d+): .*$")


@pytest.fixture(scope="module")
def model(shared: Agent) -> Iterator[Model]:
    """A model that the tests of this file share."""
    made = Model(shared)
    yield made
    made.leave()


def omission(text: str) -> tuple[int, ...]:
    """Return the numbers of the note about what was left out: lines, bytes and both cursors."""
    found = next(match for line in text.splitlines() if (match := NOTE.match(line)))
    return tuple(map(int, found.groups()))


# -- what is shown


def test_trial_01_identical_lines_are_shown_once_with_their_count(model: Model) -> None:
    """
    A flood of one line is one line; the cursor counts what was written.
    """
    code = "print('begin'); print('no answer\\n' * 40000, end=''); print('end')"

    text = model.call("pty_exec", command=sys.executable, args=["-c", code])

    said = "begin\nno answer\n[the line above stands here 40000 times]\nend\n"
    assert output(text) == said
    assert cursor(text) == len("begin\nend\n") + 40_000 * len("no answer\n")


def test_trial_01_the_transcript_itself_has_every_line(model: Model) -> None:
    """
    Lines are counted for a model only: other surfaces read what was written.
    """
    name = model.start("sh", "-c", "yes 'the same again' | head -n 500; echo last; read x")
    model.call("pty_read", id=name, until="last", wait_ms=LONG)

    assert "[the line above stands here 500 times]" in model.call("pty_read", id=name)
    assert model.agent.transcript(name) == "the same again\n" * 500 + "last\n"
    model.call("pty_stop", id=name)


def test_trial_01_what_was_left_out_is_named_by_its_cursors(model: Model) -> None:
    """
    The text between the two cursors is exactly what is missing between head and tail.
    """
    lines = [f"{number}\n" for number in range(1, 9001)]

    text = model.call("pty_exec", command="seq", args=["9000"])

    count, size, start, end = omission(text)
    assert "".join(lines)[start:end] == "".join(lines[600:-1400])
    assert (count, size) == (7000, end - start)
    again = output(model.call("pty_read", id=fact(text, "id"), since=start))
    assert again.startswith("601\n602\n")


def test_trial_01_cursors_of_an_omission_are_exact_after_rewritten_lines(model: Model) -> None:
    """
    Lines that were shown and then rewritten have later cursors, and the note counts with these.
    """
    code = (
        "import sys\n"
        "for n in range(5):\n"
        "    print(f'loading part {n}', end='', flush=True); input()\n"
        "    print(f'\\x1b[A\\r\\x1b[Kpart {n} done', flush=True)\n"
        "for n in range(5000): print(n)\n"
        "print('to read', end='', flush=True); input()\n"
    )
    name = python(model, code)
    for number in range(5):
        model.call("pty_read", id=name, until=f"loading part {number}", wait_ms=LONG)
        model.call("pty_send", id=name, submit=True, input="")
    model.call("pty_read", id=name, until="to read", wait_ms=LONG)

    text = model.call("pty_read", id=name, since=0)

    _, _, start, end = omission(text)
    body = output(text)
    head, _, tail = body.partition("\n[... ")
    following = int(head.splitlines()[-1]) + 1
    assert output(model.call("pty_read", id=name, since=start)).startswith(f"{following}\n")
    shown = tail.partition("\n")[2]
    assert output(model.call("pty_read", id=name, since=end)) == shown
    model.call("pty_stop", id=name)


def test_a_rewritten_unfinished_line_is_sent_again_whole(model: Model) -> None:
    """
    Who was shown `50%` gets the line as it is now, once, and not the end of it.
    """
    code = (
        "import os\n"
        "os.write(1, b'loaded: 50%'); os.read(0, 1)\n"
        "os.write(1, b'\\rloaded: 100%\\n'); os.read(0, 1)\n"
    )
    name = model.start("sh", "-c", f'stty raw -echo; exec {sys.executable} -c "{code}"')
    seen = model.call("pty_read", id=name, until="50%", wait_ms=LONG)

    model.call("pty_send", id=name, input="x")
    model.call("pty_read", id=name, until="100%", wait_ms=LONG)
    again = model.call("pty_read", id=name, since=cursor(seen))

    assert output(seen) == "loaded: 50%\n"  # the footer has lines of its own
    assert output(again) == "loaded: 100%\n"
    assert output(model.call("pty_read", id=name, since=cursor(again))) == ""
    model.call("pty_stop", id=name)


def test_trial_01_the_echo_of_what_was_sent_is_not_read_back(model: Model) -> None:
    """
    A read from the cursor of a send begins with the answer, also a second time.
    """
    name = bash(model)
    sent = model.call("pty_send", id=name, input="echo one; echo two\r")
    model.call("pty_read", id=name, until="regex:^two", wait_ms=LONG)

    first = output(model.call("pty_read", id=name, since=cursor(sent)))
    second = output(model.call("pty_read", id=name, since=cursor(sent)))

    assert first.startswith("one\ntwo\n")
    assert second.startswith("one\ntwo\n")
    model.call("pty_stop", id=name)


def test_trial_01_tail_with_since_takes_the_lines_before_it_decides_what_fits(
    model: Model,
) -> None:
    """
    The last lines of much new text are whole, without a note about the rest.
    """
    name = model.start("sh", "-c", "seq 30000; read x")
    model.call("pty_read", id=name, until="30000", wait_ms=LONG)

    text = output(model.call("pty_read", id=name, since=10, tail=1900))

    assert text == "".join(f"{number}\n" for number in range(28_101, 30_001))
    model.call("pty_stop", id=name)


def test_trial_01_the_footer_has_quiet_and_running_time(model: Model) -> None:
    """
    While it runs: how long, and for how long it is quiet. Afterwards: how long it ran.
    """
    name = model.start("sh", "-c", "echo up; read x; exit 3")
    running = model.call("pty_read", id=name, until="up", wait_ms=LONG)
    model.call("pty_send", id=name, input="x\r")
    ended = model.call("pty_read", id=name, until="exit", wait_ms=LONG)

    state = rf"\[session: running\] \[id: {name}\] \[\d+\.\ds\] \[quiet: \d+s\].*"
    assert re.fullmatch(state, running.splitlines()[-2])
    state = rf"\[session: exited\] \[exit: 3\] \[id: {name}\] \[\d+\.\ds\]"
    assert re.fullmatch(state, ended.splitlines()[-2])
    model.call("pty_stop", id=name)


def test_trial_01_a_pattern_is_a_regex_after_the_end_too(model: Model) -> None:
    """
    What is left of a session is searched as the session was; what is no regex is text.
    """
    name = fact(model.call("pty_exec", command="printf", args=["a1\\nb2\\nc(3\\n"]), "id")

    assert output(model.call("pty_read", id=name, pattern="^[ab]\\d$")) == (
        "[2 matching lines of 3]\n1: a1\n2: b2\n"
    )
    literal = output(model.call("pty_read", id=name, pattern="(3"))
    assert "is no regex, taken as text" in literal
    assert literal.endswith("[1 matching lines of 3]\n3: c(3\n")


def test_trial_01_found_lines_fit_into_an_answer(model: Model) -> None:
    """
    Numbers count, too, and a very long line is cut where it was left out before.
    """
    code = "print('x' * 60000); [print('x' * 60, n) for n in range(900)]"
    name = fact(model.call("pty_exec", command=sys.executable, args=["-c", code]), "id")

    text = output(model.call("pty_read", id=name, pattern="x"))

    assert len(text.encode()) <= 51_200
    lines = text.splitlines()
    assert lines[0].startswith("[901 matching lines of 901, the first ")
    assert lines[1] == "1: " + "x" * 2000 + " [... 58000 characters more]"


def test_entering_the_alternate_screen_ends_a_wait(model: Model, tmp_path: Path) -> None:
    """
    A program that begins to draw writes nothing to the transcript, and the wait ends all the same.
    """
    os.mkfifo(tmp_path / "go")
    code = (
        f"open({str(tmp_path / 'go')!r}).read()\n"
        "print('\\x1b[?1049h\\x1b[2J\\x1b[3;3Hdrawn', end='', flush=True); input()"
    )
    name = python(model, code)
    with open(tmp_path / "go", "w"):  # it draws when this is closed
        before = cursor(model.call("pty_read", id=name))

    text = model.call("pty_read", id=name, since=before, wait_ms=LONG)

    assert text.startswith("[screen: 40 rows, 120 columns")
    assert "\n  drawn\n" in text
    assert int(fact(text, "quiet").removesuffix("s")) < LONG // 2000
    model.call("pty_stop", id=name)


# -- programs that wait


def test_trial_03_an_exec_that_waits_for_input_says_so_at_its_timeout(model: Model) -> None:
    """
    It has all of its time, because it may go on by itself; then the question and the next step.
    """
    code = "read -p 'Which one? ' x; echo got $x"

    text = model.call("pty_exec", command="bash", args=["-c", code], timeout_ms=3000)

    assert "it waits for input after 'Which one?'" in text
    assert f'pty_send {{"id": "{fact(text, "id")}", "input": "...", "submit": true' in text
    assert fact(text, "waiting") == "input"
    seconds = float(re.findall(r"\[(\d+\.\d)s\]", text)[-1])
    assert seconds >= 3
    model.call("pty_stop", id=fact(text, "id"))


def test_trial_03_an_exec_that_asks_for_a_secret_returns_at_once(model: Model) -> None:
    """
    Nobody but a person can answer, so waiting longer than this test does would be useless.
    """
    code = "import getpass; print(len(getpass.getpass('Password for prod: ')))"

    text = model.call("pty_exec", command=sys.executable, args=["-c", code], timeout_ms=300_000)

    name = re.findall(r'sessionId="(\w+)"', text)[0]
    assert fact(text, "waiting") == "secret"
    assert "Password for prod:" in text
    assert f"agent-pty secret {name}" in text
    assert fact(text, "session") == "running"
    model.call("pty_stop", id=name)


def test_trial_01_keys_type_no_secret_either(model: Model) -> None:
    """
    A secret that is spelt as keys is refused like one that is text; Ctrl-C is not.
    """
    name = python(model, "import getpass; getpass.getpass('Password: ')")
    eventually(lambda: "[waiting: secret]" in model.call("pty_read", id=name))

    text = model.refused("pty_send", id=name, input="", keys=["h", "u", "Enter"])
    model.call("pty_send", id=name, input="", keys=["C-c"])
    ended = model.call("pty_read", id=name, until="exit", wait_ms=LONG)

    assert f"agent-pty secret {name}" in text
    assert fact(ended, "session") == "exited"
    model.call("pty_stop", id=name)


def test_trial_01_rules_are_for_the_line_that_is_submitted(shared: Agent, model: Model) -> None:
    """
    A line in pieces, or spelt as keys, is judged as a whole; one that keys edited is refused.
    """
    name = bash(model)
    config = Path(shared.layout.config)
    config.write_text('[permission.terminal_start]\n"rm *" = "deny"\n')
    try:
        model.call("pty_send", id=name, input="r")
        model.call("pty_send", id=name, input="m -rf")
        pieces = model.refused("pty_send", id=name, input=" x\r")
        model.call("pty_send", id=name, input="", keys=["C-u"])
        spelt = model.refused("pty_send", id=name, input="", keys=["r", "m", "Space", "x", "Enter"])
        recalled = model.refused("pty_send", id=name, input="", keys=["Up", "Enter"])
        allowed = model.call(
            "pty_send", id=name, input="echo fi", keys=["n", "e", "Enter"], until="fine"
        )
    finally:
        config.unlink()

    assert "terminal_start is denied for 'rm -rf x'" in pieces
    assert "terminal_start is denied for 'rm x'" in spelt
    assert "is not known after keys that edit it" in recalled
    assert "fine" in allowed
    model.call("pty_stop", id=name)


# -- ends


def test_trial_01_an_agent_does_not_end_its_own_session(shared: Agent) -> None:
    """
    An agent that runs in a session is told so when it would stop it.
    """
    mine = shared.new("agents-own", "sleep", "1000")
    inside = Agent(shared.home)
    inside.env["AGENT_PTY_INSTANCE"] = mine["instance"]
    model = Model(inside)

    text = model.refused("pty_stop", id="agents-own")
    model.leave()

    assert "is the session in which you run" in text
    assert shared.info("agents-own")["state"] == "running"


def test_the_end_of_the_terminal_is_a_normal_end(model: Model) -> None:
    """
    A program that closes the terminal lives on; its own end has its exit code.
    """
    code = "echo said; exec </dev/null >/dev/null 2>&1; read x <{}; exit 5"

    fifo = Path(model.agent.home) / "closed"
    os.mkfifo(fifo)
    name = model.start("sh", "-c", code.format(fifo))
    model.call("pty_read", id=name, until="said", wait_ms=LONG)
    with open(fifo, "w") as file:
        file.write("go\n")
    text = model.call("pty_read", id=name, until="exit", wait_ms=LONG)

    assert output(text) == "said\n"
    assert fact(text, "exit") == "5"
    model.call("pty_stop", id=name)


@pytest.mark.parametrize(
    ("command", "cwd", "said"),
    [
        ("no-such-program", "", "No such file or directory (ENOENT); nothing was started"),
        ("/etc/passwd", "", "(EACCES); nothing was started: make the file executable"),
        ("true", "/no/such/place", "nothing was started: give a directory that exists"),
    ],
)
def test_trial_02_a_failed_start_names_step_reason_and_remedy(
    model: Model, command: str, cwd: str, said: str
) -> None:
    """
    The step that failed, the kernel's word for it, and what helps.
    """
    assert said in model.refused("pty_start", command=command, cwd=cwd)


def test_trial_02_an_exec_goes_on_when_its_host_crashes(model: Model, tmp_path: Path) -> None:
    """
    The call that waits does not notice: all of the output and the exit code come.
    """
    os.mkfifo(tmp_path / "go")
    code = f"echo begun; read x <{tmp_path / 'go'}; echo done; exit 3"
    with ThreadPoolExecutor(1) as others:
        calling = others.submit(model.call, "pty_exec", command="sh", args=["-c", code])
        with open(tmp_path / "go", "w") as go:  # it has begun
            # The program may run before its session is listed.
            eventually(lambda: any(code in one["argv"] for one in model.agent.ask("list")))
            name = next(one["id"] for one in model.agent.ask("list") if code in one["argv"])
            slay(model.agent.pid_of(name), by=signal.SIGSEGV)
            go.write("go\n")
        text = calling.result()

    assert output(text) == "begun\ndone\n"
    assert fact(text, "exit") == "3"


def test_trial_02_a_list_says_that_a_host_crashed(model: Model) -> None:
    """
    The session lives on, and how its host ended is told.
    """
    name = model.start("sh", "-c", "echo up; read x")
    model.call("pty_read", id=name, until="up", wait_ms=LONG)

    slay(model.agent.pid_of(name), by=signal.SIGSEGV)
    eventually(lambda: "rebuilt" in model.call("pty_list"))

    line = next(one for one in model.call("pty_list").splitlines() if one.startswith(f"{name} "))
    assert line.startswith(f"{name} running")
    assert "(signal 11)" in line
    assert "Segmentation fault" in Path(model.agent.layout.log).read_text()
    model.call("pty_stop", id=name)


def test_trial_02_a_session_lost_with_its_terminal_ended_by_a_crash(agent: Agent) -> None:
    """
    Host and keeper died: the text so far is read, the footer says host-crash, the next call works.
    """
    model = Model(agent)
    name = model.start("sh", "-c", "echo so far; read x")
    model.call("pty_read", id=name, until="so far", wait_ms=LONG)
    text_file = Path(agent.layout.session(agent.info(name)["instance"]), "text.0")
    eventually(text_file.exists)

    slay(agent.pid_of(name), agent.pid_of("keeper"))
    eventually(lambda: agent.info(name)["state"] == "lost")
    told = model.call("pty_exec", command="echo", args=["next"])
    text = model.call("pty_read", id=name)
    sent = model.call("pty_send", id=name, input="x\r")
    stopped = model.call("pty_stop", id=name)
    after = model.call("pty_read", id=name)
    model.leave()

    assert output(told).startswith("next\n")
    assert re.search(rf"^\[{name} exited host-crash.*keeper", told, re.MULTILINE)
    assert output(text).startswith("so far\n[host-crash: host ")
    assert (fact(text, "session"), fact(text, "exit")) == ("exited", "host-crash")
    assert sent.startswith("nothing was typed")
    assert fact(stopped, "exit") == "host-crash"
    assert output(after).startswith("so far\n")
