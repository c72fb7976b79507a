"""Nobody notices that a daemon died: what was asked for goes on, and the next daemon answers."""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import random
import re
import signal
import subprocess
import termios
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent, eventually, holds_socket, slay, sockets
from support.counts import counts
from support.k import K
from support.person import human

_SECONDS = 60


def kill_daemon(agent: Agent) -> None:
    """Kill the daemon; return when the next one answers."""
    pid = agent.pid_of("daemon")
    slay(pid)
    assert agent.pid_of("daemon") != pid


def restart(agent: Agent) -> None:
    """Upgrade in place, to the same build."""
    done = agent.cli("restart", "--keep")
    assert done.returncode == 0, done.stderr


REPLACED = pytest.mark.parametrize("replace", [kill_daemon, restart])
Replace = Callable[[Agent], None]


@pytest.fixture
def k(agent: Agent) -> K:
    """A caller of `k` with a home of their own."""
    return K(agent)


class Gate:
    """A file that a program waits for; opening it lets the program go on."""

    def __init__(self, agent: Agent) -> None:
        self.path = agent.home / "gate"
        os.mkfifo(self.path)

    def open(self) -> None:
        """Let the program go on."""
        self.path.write_text("go\n")


@pytest.fixture
def gate(agent: Agent) -> Gate:
    """Something that a command waits for."""
    return Gate(agent)


def said(called: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return how a command ended and what it printed."""
    out, err = called.communicate(timeout=_SECONDS)
    return called.returncode, out, err


def begun(k: K, session: str, word: str) -> None:
    """Return once a cell has printed a word."""
    eventually(lambda: word in k.json("peek", session).get("output", ""))


@REPLACED
def test_trial_01_a_cell_goes_on(k: K, gate: Gate, replace: Replace) -> None:
    """
    A command that runs when the daemon dies is not interrupted, and its caller gets the result.
    """
    session = k.new("work")
    code = f"echo began; cat {gate.path}; touch done-it; (exit 3)"
    called = k.start("run", "-j", session, code)
    begun(k, session, "began")

    replace(k.agent)
    gate.open()

    status, out, err = said(called)
    assert (status, err) == (0, "")
    result = json.loads(out)
    assert (result["status"], result["output"]) == ("done", "began\ngo")
    assert result["exit_code"] == 3


def test_trial_01_only_a_caller_that_leaves_a_living_daemon_ends_its_cell(k: K) -> None:
    """
    A caller that is killed while the daemon lives still frees the session.
    """
    session = k.new("work")
    called = k.start("run", session, "echo began; sleep 1000")
    begun(k, session, "began")

    slay(called.pid)
    called.communicate()

    eventually(lambda: k.json("poll", session)["status"] == "error")
    assert k.output(session, "echo free") == "free"


def test_trial_01_a_caller_may_leave_the_next_daemon_too(k: K) -> None:
    """
    After a change of daemons a caller that is killed ends its cell as before.
    """
    session = k.new("work")
    called = k.start("run", session, "echo began; sleep 1000")
    begun(k, session, "began")
    kill_daemon(k.agent)
    # The caller is connected to the next daemon once that one has its events to tell.
    eventually(lambda: len(sockets(called.pid)) == 1 and k.agent.ask("status")["pid"] > 0)

    slay(called.pid)
    called.communicate()

    eventually(lambda: k.json("poll", session)["status"] == "error")


@REPLACED
def test_trial_01_a_wait_goes_on(agent: Agent, gate: Gate, replace: Replace) -> None:
    """
    What the wait looks at is what it looked at before, and its limit does not begin anew.
    """
    agent.new("work")
    agent.ask("send", id="work", text=f"echo began; cat {gate.path}; echo fin-$((1+1))")
    agent.ask("wait", id="work", until="began", timeout_ms=60_000)
    waiting = agent.start("wait", "work", "--until", "fin-2", "--timeout", "1m", "--json")

    replace(agent)
    gate.open()

    status, out, err = said(waiting)
    assert (status, err) == (0, "")
    assert json.loads(out)["match"] == "fin-2"


@REPLACED
def test_trial_01_exec_goes_on(agent: Agent, gate: Gate, replace: Replace) -> None:
    """
    The program is started once, its caller gets the exit code, and no session is left.
    """
    agent.new("other")
    log = agent.home / "log"
    code = f"echo once >> {log}; cat {gate.path}; exit 4"
    called = agent.start("exec", "--", "sh", "-c", code)
    eventually(log.exists)

    replace(agent)
    gate.open()

    assert said(called) == (4, "go\n", "")
    assert log.read_text() == "once\n"
    assert [one["id"] for one in agent.ask("list")] == ["other"]


@REPLACED
def test_trial_01_monitors_go_on(k: K, gate: Gate, replace: Replace) -> None:
    """
    `km` reports each event once, also what happened around the death of the daemon.
    """
    session = k.new("work")
    monitor = k.monitor(session)
    fired = k.json("fire", session, f"cat {gate.path}")["cell_id"]

    replace(k.agent)
    gate.open()
    k.collect(session, fired)
    k.run("kill", session)

    status, out, err = said(monitor)
    lines = [json.loads(line) for line in out.splitlines()]
    seen = [(one.get("cell_id"), one["status"]) for one in lines if one["status"] != "notify"]
    assert seen == [(fired, "fired"), (fired, "done"), (None, "closed")]
    assert (status, err) == (0, "")


def test_trial_01_large_output_is_printed_once(k: K) -> None:
    """
    A daemon that dies in the middle of an answer costs not one byte, and none is repeated.
    """
    session = k.new("work")
    expected = "".join(f"{number}\n" for number in range(1, 400_001))
    called = k.start("run", "-t", "60", session, "seq 1 400000")
    assert called.stdout is not None
    # A pipe holds 64 KiB: the daemon cannot have sent everything when this has been read.
    first = os.read(called.stdout.fileno(), 1000).decode()

    kill_daemon(k.agent)

    rest, err = called.communicate(timeout=_SECONDS)
    assert (called.returncode, err) == (0, "")
    assert first + rest == expected


def test_trial_01_a_large_answer_under_a_key_costs_no_memory(agent: Agent) -> None:
    """
    The key remembers where the output is, not the output.
    """
    agent.new("work")
    code = "printf 'x%.0s' $(seq 1 60000)"
    first = agent.ask("run", id="work", code=code, key="large")
    for number in range(20):
        agent.ask("run", id="work", code=code, key=f"k{number}")

    again = agent.ask("run", id="work", code=code, key="large")

    assert len(first["output"]) == 60_000
    assert again == {**first, "replayed": True}
    keys = Path(agent.layout.session(agent.info("work")["instance"])) / "keys.jsonl"
    assert keys.stat().st_size < 60_000


def test_trial_01_an_attached_person_stays(agent: Agent) -> None:
    """
    The screen is painted again, and keys reach the program.
    """
    agent.new("work")
    with human(agent, "attach", "work") as person:
        person.sees("$")
        person.type(b"echo one-$((1+1))\r")
        person.sees("one-2")
        painted = person.seen.count(b"\x1b[2J")

        kill_daemon(agent)

        person.until(lambda: person.seen.count(b"\x1b[2J") > painted)
        person.type(b"echo two-$((1+2))\r")
        person.sees("two-3")
        person.type(b"\x1d")
        assert person.leaves() == 0
    assert len(re.findall("(?m)^two-3$", agent.transcript("work"))) == 1


def test_trial_01_keys_that_did_not_arrive_are_reported(agent: Agent) -> None:
    """
    What was typed while there was no daemon is not typed later; the person learns how much.
    """
    agent.new("work")
    with human(agent, "attach", "work") as person:
        person.sees("$")
        person.type(b"echo here-$((1+1))\r")
        person.sees("here-2")
        daemon, painted = agent.pid_of("daemon"), person.seen.count(b"\x1b[2J")
        with stopped(daemon):
            person.type(b"echo lost\r")
            eventually(lambda: unread(person.process.pid) == 0)
            slay(daemon)
        person.until(lambda: person.seen.count(b"\x1b[2J") > painted)

        person.type(b"\x1d")

        assert person.leaves() == 0
        assert b"10 bytes that were typed while the daemon died may not have arrived" in person.seen
    assert "lost" not in agent.transcript("work")


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stop a process, which then reads nothing more."""
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: Path(f"/proc/{pid}/stat").read_text().split()[2] == "T")
    yield


def unread(pid: int) -> int:
    """Return how many bytes a process has not read from its terminal, its standard input."""
    with open(f"/proc/{pid}/fd/0", "rb", buffering=0) as terminal:
        count = array.array("i", [0])
        fcntl.ioctl(terminal, termios.FIONREAD, count)
    return count[0]


def test_trial_14_a_socket_file_that_was_removed_is_made_again(agent: Agent) -> None:
    """
    The next client finds the same daemon.
    """
    agent.new("work")
    daemon = agent.pid_of("daemon")
    os.unlink(agent.layout.socket)

    listed = agent.cli("list")

    assert (listed.returncode, listed.stderr) == (0, "")
    assert "work active=true" in listed.stdout
    assert agent.pid_of("daemon") == daemon


def test_trial_14_a_daemon_that_cannot_start_leaves_no_keeper(agent: Agent) -> None:
    """
    A start that failed leaves no process.
    """
    agent.env["AGENT_PTY_SOCKET"] = str(agent.home)  # a directory

    done = agent.cli("list")

    assert done.returncode != 0
    assert "did not start" in done.stderr
    eventually(lambda: agent.processes() == [])


def test_trial_01_five_daemons_that_die_at_once_are_enough(agent: Agent) -> None:
    """
    A daemon that dies again and again is not started for ever; a client may still try.
    """
    agent.new("work")
    keeper = agent.pid_of("keeper")
    for _ in range(5):
        kill_daemon(agent)
    slay(agent.pid_of("daemon"))

    eventually(lambda: not holds_socket(keeper, agent.layout.socket))

    assert "work active=true" in agent.cli("list").stdout


# -- must hold 2


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what a command said on standard error, but for the hint that the machine is slow."""
    slow = "the daemon does not answer; it may hang: see agent-pty doctor"
    return [line for line in done.stderr.splitlines() if not line.endswith(slow)]


class Client:
    """Uses one session until it is stopped; every answer must be right."""

    def __init__(self, k: K, name: str) -> None:
        self.k = k
        self.name = name
        self.results: list[dict[str, Any]] = []

    def run(self, stop: threading.Event) -> None:
        """Run cells, and wait for what they leave on the screen."""
        number = 0
        while not stop.is_set():
            number += 1
            code = f"echo {self.name}-$(({number}+1)); (exit {number % 3})"
            done = self.k.run("run", "-j", self.name, code)
            assert (done.returncode, complaints(done)) == (0, []), (done.stdout, done.stderr)
            result = json.loads(done.stdout)
            assert result["status"] == "done", result
            assert result["output"] == f"{self.name}-{number + 1}"
            assert result.get("exit_code", 0) == number % 3
            self.results.append(result)

    def wait(self, stop: threading.Event) -> None:
        """Type a line and wait for its effect."""
        number = 0
        while not stop.is_set():
            number += 1
            sent = self.k.agent.cli("send", self.name, f"echo {self.name}-$(({number}+1))")
            assert (sent.returncode, complaints(sent)) == (0, []), sent
            until = f"regex:{self.name}-{number + 1}\\b"
            done = self.k.agent.cli("wait", self.name, "--until", until, "--timeout", "1m")
            assert (done.returncode, complaints(done)) == (0, []), (done.stdout, done.stderr)
            self.results.append({"number": number})


@contextlib.contextmanager
def clients(*works: Callable[[threading.Event], None]) -> Iterator[Callable[[], None]]:
    """Let all work at the same time; the first failure is raised at the end, or when asked for."""
    stop = threading.Event()

    def raise_failures() -> None:
        for future in futures:
            if future.done():
                future.result()

    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(work, stop) for work in works]
        try:
            yield raise_failures
        finally:
            stop.set()
    raise_failures()


@counts(20, 200)
@pytest.mark.timeout(1200)
def test_must_hold_2_nobody_notices_that_daemons_die(k: K, count: int) -> None:
    """
    Under running cells, waits, monitors and attached people, daemons die and are restarted.
    """
    runners = [Client(k, k.new(f"r{number}")) for number in range(5)]
    waiters = [Client(k, k.new(f"w{number}")) for number in range(5)]
    monitors = [k.monitor(one.name) for one in runners]
    outputs = [reader(monitor) for monitor in monitors]
    people = random.Random(count)  # noqa: S311  a test that can be repeated
    with contextlib.ExitStack() as stack:
        attached = [
            stack.enter_context(human(k.agent, "attach", one.name, "--read-only"))
            for one in waiters
        ]
        works = [*(one.run for one in runners), *(one.wait for one in waiters)]
        with clients(*works) as raise_failures:
            for number in range(count):
                busy = people.choice(runners + waiters)
                so_far = len(busy.results)

                def answered() -> bool:
                    raise_failures()
                    return len(busy.results) > so_far  # noqa: B023  used at once

                eventually(answered)
                (kill_daemon if number % 2 else restart)(k.agent)
        for person, waiter in zip(attached, waiters, strict=True):
            last = f"{waiter.name}-{waiter.results[-1]['number'] + 1}"
            person.sees(last)

    for waiter in waiters:
        typed = Counter(re.findall(rf"(?m)^{waiter.name}-\d+$", k.agent.transcript(waiter.name)))
        assert set(typed.values()) == {1}, "typed twice"
        assert len(typed) == len(waiter.results)
    for runner, monitor, output in zip(runners, monitors, outputs, strict=True):
        k.run("kill", runner.name)
        with monitor:
            lines = output()
            assert monitor.wait(_SECONDS) == 0
        cells = [json.loads(line) for line in lines]
        seen = [(one["cell_id"], one["status"]) for one in cells if "cell_id" in one]
        expected = [
            (one["cell_id"], status) for one in runner.results for status in ("fired", "done")
        ]
        assert seen == expected


def reader(monitor: subprocess.Popen[str]) -> Callable[[], list[str]]:
    """Read what a monitor prints, beside the test; the function returns it at the end."""
    lines: list[str] = []
    assert monitor.stdout is not None
    thread = threading.Thread(target=lambda: lines.extend(monitor.stdout or ()))
    thread.start()

    def all_of_it() -> list[str]:
        thread.join(_SECONDS)
        return lines

    return all_of_it
