"""A guarded program under a real keeper: what the host is asked, and who keeps it."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.core.layout import Layout
from agent_pty.keeper import seccomp
from support import exec_calls
from support.agent import eventually
from support.guarded import GuardedSession, hand, host
from support.keeper import Talk, keeper

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel asks on Linux only")
x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86_64")
CALLS = exec_calls.__file__
PYTHON = os.path.realpath(sys.executable)


@pytest.fixture
def home() -> Iterator[tuple[Layout, Talk]]:
    """A keeper, and a connection to it as its daemon."""
    with keeper() as found:
        yield found


@pytest.fixture
def guarded(home: tuple[Layout, Talk]) -> Iterator[GuardedSession]:
    """A guarded shell, handed to a host."""
    layout, daemon = home
    spawned = daemon.spawn("g", "sh", "-i", guard=True, env={"PS1": "$ ", "PATH": "/usr/bin:/bin"})
    assert spawned["guard"] is True
    with host(layout, "h1") as talk:
        session = hand(daemon, talk, "g", "h1")
        yield session
        session.close()


def descriptors(pid: int) -> int:
    """Count the listeners that a process has open."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return sum("seccomp notify" in one for one in found)


def executes(pid: int) -> bool:
    """Whether a process stands in the middle of an exec."""
    number = {"x86_64": "59", "aarch64": "221"}[platform.machine()]
    return Path(f"/proc/{pid}/syscall").read_text().split()[0] == number


def test_the_host_is_asked_with_path_and_arguments(guarded: GuardedSession) -> None:
    """
    What a shell executes is asked about with the words as they are, and runs when it is allowed.
    """
    guarded.type("/bin/echo 'a  b' \"\" c\\\nd; echo end-$?")

    asked = guarded.asked()

    assert asked["path"] == "/bin/echo"
    assert asked["argv"] == ["/bin/echo", "a  b", "", "cd"]
    assert asked["problem"] is None
    assert asked["pid"] != 0
    guarded.answer(asked)
    assert "a  b  cd" in guarded.read_until("end-0")


def test_what_is_refused_does_not_run(guarded: GuardedSession) -> None:
    """
    A refused exec fails with the error it was refused with.
    """
    guarded.type("/bin/echo ran-$((1+1)); echo end-$?")

    guarded.answer(guarded.asked(), errno.EPERM)

    text = guarded.read_until("end-126")
    assert "ran-2" not in text


@pytest.mark.parametrize(
    "way",
    [
        pytest.param("i386", marks=x86_64),
        pytest.param("x32", marks=x86_64),
        pytest.param("execveat", marks=x86_64),
        "thread",
        "spawn",
    ],
)
def test_every_way_to_execute_is_asked_about(guarded: GuardedSession, way: str) -> None:
    """
    32-bit calls, x32 calls, execveat, threads and posix_spawn are asked about, and can be refused.
    """
    guarded.type(f"{PYTHON} -I {CALLS} {way} secret-word")
    guarded.answer(guarded.asked())

    asked = guarded.asked()

    assert asked["argv"][1] == "secret-word"
    assert asked["path"] in ("/bin/echo", "")
    guarded.answer(asked, errno.ECANCELED)
    guarded.read_until(f"errno-{errno.ECANCELED}")


def test_long_arguments_are_read_as_a_whole(guarded: GuardedSession) -> None:
    """
    Thousands of words of a glob or of xargs arrive complete; nobody has to guess.
    """
    guarded.type("/bin/true $(seq 20000); echo end-$?")
    seq = guarded.asked()
    guarded.answer(seq)

    asked = guarded.asked()

    assert asked["argv"] == ["/bin/true", *map(str, range(1, 20001))]
    assert asked["problem"] is None
    guarded.answer(asked)
    guarded.read_until("end-0")


def test_guard_05_the_next_host_gets_what_the_last_one_held(home: tuple[Layout, Talk]) -> None:
    """
    Ten execs wait when their host dies. All ten still wait, and the next host decides on them.
    """
    layout, daemon = home
    script = "for i in 0 1 2 3 4 5 6 7 8 9; do /bin/echo word-$i & done; wait; echo all-$((1+1))"
    daemon.spawn("g", "sh", "-c", script, guard=True)
    with host(layout, "h1") as first:
        session = hand(daemon, first, "g", "h1")
        held = {session.asked()["id"] for _ in range(10)}
        session.close()

    with host(layout, "h2") as second:
        session = hand(daemon, second, "g", "h2")
        again = [session.asked() for _ in range(10)]

        assert {asked["id"] for asked in again} == held
        assert all(seccomp.is_open(session.listener, one) for one in held)
        for asked in again[:9]:
            session.answer(asked)
        session.answer(again[9], errno.EPERM)
        text = session.read_until("all-2")
        refused = again[9]["argv"][1]
        assert sum(f"word-{i}\r\n" in text for i in range(10)) == 9
        assert f"{refused}\r\n" not in text
        session.close()


def test_guard_05_a_new_keeper_gets_listener_and_held_execs(home: tuple[Layout, Talk]) -> None:
    """
    A host gives listener and open execs to a keeper that knows neither; the next host has them.
    """
    _, daemon = home
    daemon.spawn("g", "sh", "-c", "/bin/echo ran-$((1+1)); /bin/echo then", guard=True)
    with keeper() as (other, other_daemon), host(home[0], "h1") as talk:
        session = hand(daemon, talk, "g", "h1")
        asked = session.asked()
        daemon.ask(do="stop")  # from here on nobody but the host has the listener
        with host(other, "h1") as moved:
            custody = {"instance": "g", "pid": 1, "birth": None, "host_pid": os.getpid()}
            fds = (session.master, session.listener)
            moved.ask(do="custody", guard=True, execs=[asked], fds=fds, **custody)
        with host(other, "h2") as second:
            assert other_daemon.ask(do="hand", instance="g", host="h2", spec={}) is not None
            master, _spool, listener = second.event("adopt").fds
            next_one = GuardedSession(second, "g", master, listener)
            again = next_one.asked()
            assert again["id"] == asked["id"]
            next_one.answer(again)
            next_one.read_until("ran-2")
            assert next_one.asked()["argv"] == ["/bin/echo", "then"]
            next_one.close()
            os.close(_spool)
        session.close()


def test_guard_05_what_died_with_its_keeper_fails(home: tuple[Layout, Talk]) -> None:
    """
    The kernel asks once: what only a dead keeper knew cannot be judged, so it fails, and says so.
    """
    _, daemon = home
    script = "echo up-$((1+1)); read line; /bin/echo ran; echo end-$?; read line"
    daemon.spawn("g", "sh", "-c", script, guard=True)
    with keeper() as (other, _), host(home[0], "h1") as talk:
        assert daemon.ask(do="hand", instance="g", host="h1", spec={}).get("error") is None
        adopt = talk.event("adopt")
        master, spool, listener = adopt.fds
        os.close(spool)
        session = GuardedSession(talk, "g", master, listener)
        session.read_until("up-2")
        # It receives as a keeper does that dies a moment later.
        os.kill(daemon.hello["pid"], signal.SIGSTOP)
        session.type("go")
        assert select.select([listener], [], [], 30)[0]
        assert seccomp.receive(listener) is not None
        os.kill(daemon.hello["pid"], signal.SIGKILL)

        with host(other, "h1") as moved:
            custody = {"instance": "g", "pid": 1, "birth": None, "host_pid": os.getpid()}
            last = {"guard": True, "execs": [], "last_exec": adopt.body["last_exec"]}
            moved.ask(do="custody", fds=(master, listener), **custody, **last)
            text = session.read_until("end-126")

        assert os.strerror(errno.EAGAIN) in text
        session.close()


def test_it_is_held_while_there_is_no_host(home: tuple[Layout, Talk]) -> None:
    """
    Without a host nothing fails and nothing is let through: the program waits.
    """
    layout, daemon = home
    spawned = daemon.spawn("g", "sh", "-c", "exec /bin/echo ran-$((1+1))", guard=True)
    eventually(lambda: executes(spawned["pid"]))

    with host(layout, "h1") as talk:
        session = hand(daemon, talk, "g", "h1")
        assert select.select([session.master], [], [], 0)[0] == []
        session.answer(session.asked())
        session.read_until("ran-2")
        session.close()


def test_a_program_that_cannot_be_found_is_reported_as_ever(home: tuple[Layout, Talk]) -> None:
    """
    The search through PATH is answered by the keeper; the error is that of the program.
    """
    _, daemon = home

    answer = daemon.spawn("g", "no-such-program", guard=True)

    assert answer["error"]["stage"] == "exec"
    assert answer["error"]["errno"] == errno.ENOENT
    assert descriptors(daemon.hello["pid"]) == 0


def test_what_the_program_executes_first_is_asked_about(home: tuple[Layout, Talk]) -> None:
    """
    Only the program of the session itself starts unasked; `sh -c` that replaces itself is asked.
    """
    layout, daemon = home
    daemon.spawn("g", "sh", "-c", "exec /bin/echo ran", guard=True)

    with host(layout, "h1") as talk:
        session = hand(daemon, talk, "g", "h1")
        assert session.asked()["argv"] == ["/bin/echo", "ran"]
        session.close()


def test_a_listener_is_closed_when_nobody_can_ask(home: tuple[Layout, Talk]) -> None:
    """
    The keeper has one listener for a guarded session, and none after its last process ended.
    """
    layout, daemon = home
    pid = daemon.hello["pid"]
    with host(layout, "h1") as talk:
        for number in range(3):
            daemon.spawn(f"g{number}", "sh", "-c", "read line", guard=True)
            session = hand(daemon, talk, f"g{number}", "h1")
            assert descriptors(pid) == 1
            session.type("go")
            session.close()
            eventually(lambda: descriptors(pid) == 0)


def test_after_its_session_nothing_of_it_can_execute(home: tuple[Layout, Talk]) -> None:
    """
    What outlives its session is refused every exec: nobody is left who could judge it.
    """
    layout, daemon = home
    script = "echo up-$((1+1)); read line; /bin/echo ran; echo end-$?"
    daemon.spawn("g", "sh", "-c", script, guard=True)
    with host(layout, "h1") as talk:
        session = hand(daemon, talk, "g", "h1")
        session.read_until("up-2")
        daemon.ask(do="release", instance="g")
        session.type("go")

        session.read_until("end-126")
        session.close()


def test_a_second_listener_inside_is_refused_by_the_kernel(guarded: GuardedSession) -> None:
    """
    A program inside cannot take the questions of its own processes: the kernel says EBUSY.
    """
    code = "from agent_pty.keeper.seccomp import install; install()"
    guarded.type(f'{sys.executable} -c "{code}" 2>&1 | tail -n 1')
    for _ in range(2):
        guarded.answer(guarded.asked())

    guarded.read_until("inside a guarded session")
