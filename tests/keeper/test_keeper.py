import os
import resource
import signal
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_pty import __version__
from agent_pty.client.start import start_keeper
from agent_pty.core.frame import Frame, Kind, encoded
from agent_pty.core.layout import Layout
from support.keeper import Talk, keeper, master_of, read_until, wait_for_end

Kept = tuple[Layout, Talk]


@pytest.fixture(scope="module")
def shared() -> Iterator[Kept]:
    """One keeper for all tests that leave it as it was."""
    with keeper() as kept:
        yield kept


@pytest.fixture
def talk(shared: Kept) -> Iterator[Talk]:
    """A fresh connection to the keeper."""
    with Talk(shared[0].keeper_socket) as connection:
        yield connection


@pytest.fixture
def host(shared: Kept) -> Iterator[Talk]:
    """A connection in the role of a host."""
    with Talk(shared[0].keeper_socket, role="host", name="h") as connection:
        yield connection


def descriptors(talk: Talk) -> int:
    """Count what the keeper has open, once it has finished with what was asked before."""
    talk.ask(do="hello", role="daemon")
    return len(os.listdir(f"/proc/{talk.hello['pid']}/fd"))


def children(talk: Talk) -> list[str]:
    """Return the keeper's children, the dead ones too."""
    pid = talk.hello["pid"]
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def sessions(talk: Talk) -> dict[str, Any]:
    """Ask what the keeper holds."""
    held: dict[str, Any] = talk.ask(do="hello", role="daemon")["sessions"]
    return held


def test_the_keeper_says_who_it_is_and_what_it_holds(talk: Talk) -> None:
    """
    The first answer has its pid, its version, and every session and host.
    """
    assert talk.hello["version"] == __version__
    assert (talk.hello["hosts"], talk.hello["sessions"]) == ({}, {})
    assert "agent_pty.keeper" in Path(f"/proc/{talk.hello['pid']}/cmdline").read_text()


@pytest.mark.parametrize(
    ("argv", "code", "number"),
    [
        (["true"], 0, None),
        (["false"], 1, None),
        (["sh", "-c", "exit 255"], 255, None),
        (["sh", "-c", "kill -KILL $$"], None, 9),
        (["sh", "-c", "kill -SEGV $$"], None, 11),
    ],
)
def test_how_a_program_ended_is_told_exactly(
    talk: Talk, argv: Sequence[str], code: int | None, number: int | None
) -> None:
    """
    An exit code and a signal are different things, and the keeper says which it was.
    """
    ending = {"code": code, "signal": number}

    talk.spawn("ending", *argv)

    told = talk.event("ended").body
    assert (told["instance"], told["ended"]) == ("ending", ending)
    assert sessions(talk)["ending"]["ended"] == ending
    talk.ask(do="release", instance="ending")


def test_the_end_of_every_short_program_is_told(talk: Talk) -> None:
    """
    Also one that ends before the keeper has looked at its start.
    """
    names = {f"short{number}" for number in range(50)}

    for name in names:
        assert "error" not in talk.spawn(name, "true")
    told = {talk.event("ended").body["session"] for _ in names}

    assert told == names
    for name in names:
        talk.ask(do="release", instance=name)


def test_failed_starts_leave_nothing(talk: Talk) -> None:
    """
    Two hundred programs that could not be started cost no descriptor, no session and no zombie.
    """
    before = descriptors(talk)

    reasons = {talk.spawn(f"bad{n}", "/no/such/program")["error"]["reason"] for n in range(200)}

    assert reasons == {"No such file or directory"}
    assert descriptors(talk) == before
    assert sessions(talk) == {}
    # Each answer is a turn of the keeper's loop, in which it reaps.
    assert any(children(talk) == [] for _ in range(10_000) if talk.ask(do="hello", role="daemon"))


def test_ended_programs_leave_nothing_once_released(talk: Talk) -> None:
    """
    A session costs two descriptors, of its terminal and its spool, until it is released.
    """
    before = descriptors(talk)
    for number in range(20):
        talk.spawn(f"ok{number}", "true")
        talk.event("ended")
    assert descriptors(talk) == before + 40

    for number in range(20):
        talk.ask(do="release", instance=f"ok{number}")

    assert descriptors(talk) == before
    assert children(talk) == []


def test_release_hangs_up_the_terminal(talk: Talk) -> None:
    """
    The keeper's copy of the master was the last: a program that lives is told to go.
    """
    program = os.pidfd_open(talk.spawn("released", "sleep", "1000")["pid"])

    talk.ask(do="release", instance="released")

    wait_for_end(program)
    os.close(program)
    assert "released" not in sessions(talk)


def test_releasing_what_is_not_held_is_no_error(talk: Talk) -> None:
    """
    Who lets go twice gets the same answer.
    """
    assert talk.ask(do="release", instance="never was").keys() == {"re"}


def test_a_host_is_handed_the_terminal(talk: Talk, host: Talk) -> None:
    """
    What the host gets is the live terminal of the program, and it is told how that ends.
    """
    spawned = talk.spawn("handed", "sh", "-c", "read line; echo got-$line; exit 3")

    talk.ask(do="hand", instance="handed", host="h", spec={"any": "thing"})
    adopt = host.event("adopt")
    master = master_of(adopt)
    os.write(master, b"it\n")

    assert adopt.body["pid"] == spawned["pid"]
    assert (adopt.body["spec"], adopt.body["ended"]) == ({"any": "thing"}, None)
    assert b"got-it" in read_until(master, b"got-it")
    assert host.event("ended").body["ended"] == {"code": 3, "signal": None}
    os.close(master)
    talk.ask(do="release", instance="handed")


def test_trial_14_a_terminal_that_is_not_held_cannot_be_handed_over(talk: Talk) -> None:
    """
    The answer says so in words, and no host hears of it.
    """
    answer = talk.ask(do="hand", instance="unheard", host="h1", spec=None)

    assert answer["error"] == {
        "stage": "hand",
        "reason": "this keeper does not hold the terminal",
        "errno": None,
    }


def test_a_host_that_comes_late_is_handed_its_sessions(shared: Kept, talk: Talk) -> None:
    """
    A session given to a host that has not connected yet waits for it.
    """
    talk.spawn("early", "sh", "-c", "echo here-$((40+2)); exec sleep 1000")
    talk.ask(do="hand", instance="early", host="late", spec=None)

    with Talk(shared[0].keeper_socket, role="host", name="late") as late:
        master = master_of(late.event("adopt"))

    assert b"here-42" in read_until(master, b"here-42")
    os.close(master)
    talk.ask(do="release", instance="early")


def test_custody_keeps_a_terminal_alive(talk: Talk, host: Talk) -> None:
    """
    A master that a host gives into custody outlives the host's own, and can be handed on.
    """
    master, slave = os.openpty()
    given = {"session": "found", "pid": 1, "birth": None, "host_pid": os.getpid(), "ended": None}

    host.ask(do="custody", fds=(master,), **given)
    os.close(master)
    talk.ask(do="hand", instance="found", host="h", spec=None)
    again = master_of(host.event("adopt"))
    os.write(slave, b"still here")

    assert os.read(again, 100) == b"still here"
    assert sessions(talk)["found"]["host"] == "h"
    assert talk.ask(do="hello", role="daemon")["hosts"] == {"h": os.getpid()}
    os.close(again)
    os.close(slave)
    talk.ask(do="release", instance="found")


def test_a_session_in_custody_is_not_taken_twice(talk: Talk, host: Talk) -> None:
    """
    Giving the same session again costs nothing and changes nothing.
    """
    talk.spawn("twice", "sleep", "1000")
    before, held = descriptors(talk), sessions(talk)["twice"]
    master, slave = os.openpty()
    given = {"session": "twice", "pid": 1, "birth": None, "host_pid": os.getpid(), "ended": None}

    host.ask(do="custody", fds=(master,), **given)

    assert descriptors(talk) == before
    assert sessions(talk)["twice"] == held
    os.close(master)
    os.close(slave)
    talk.ask(do="release", instance="twice")


@pytest.mark.parametrize(
    "request_",
    [
        {"do": "dance"},
        {"do": ["spawn"]},
        {"do": "spawn"},
        {"do": "fork", "role": "ghost"},
        {"do": "fork", "role": "daemon"},
        {"do": "hand", "session": "never was", "host": "h", "spec": None},
        {"do": "custody", "session": "x"},
        {"do": "spawn", "session": "x", "argv": 7, "cwd": "/", "env": {}, "rows": 1, "cols": 1},
        {"do": "spawn", "session": "x", "argv": [], "cwd": 7, "env": {}, "rows": 1, "cols": 1},
        {
            "do": "spawn",
            "session": "x",
            "argv": ["true"],
            "cwd": "/",
            "env": 7,
            "rows": 1,
            "cols": 1,
        },
        {
            "do": "spawn",
            "session": "x",
            "argv": ["true"],
            "cwd": "/",
            "env": {},
            "rows": -1,
            "cols": 1,
        },
        {
            "do": "spawn",
            "session": "x",
            "argv": ["true"],
            "cwd": "/",
            "env": {},
            "rows": "a",
            "cols": 1,
        },
    ],
)
def test_a_wrong_request_is_answered(talk: Talk, request_: dict[str, Any]) -> None:
    """
    Nothing that can be asked brings the keeper down or costs it a descriptor.
    """
    before = descriptors(talk)

    answer = talk.ask(**request_)

    assert answer["error"]["reason"]
    assert descriptors(talk) == before
    assert "x" not in sessions(talk)


@pytest.mark.parametrize(
    "data",
    [
        encoded(Frame(kind=Kind.EVENT, body=b"no json")),
        encoded(Frame(kind=Kind.EVENT, body=b"[]")),
        encoded(Frame(kind=Kind.EVENT, body=b'{"do":"hello","fds":1}')),
        b"\xff" * 64,
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_a_stranger_is_shown_the_door(shared: Kept, talk: Talk, data: bytes) -> None:
    """
    Who does not speak the protocol is hung up on; the others notice nothing.
    """
    before = descriptors(talk)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(30)
        stranger.connect(shared[0].keeper_socket)
        stranger.sendall(data)

        assert stranger.recv(100) == b""

    assert talk.spawn("after", "true")["pid"] > 0
    talk.ask(do="release", instance="after")
    assert descriptors(talk) == before


def test_half_a_request_holds_nobody_up(shared: Kept, talk: Talk) -> None:
    """
    A peer that stops in the middle is waited for, but nobody waits with it.
    """
    with socket.socket(socket.AF_UNIX) as slow:
        slow.connect(shared[0].keeper_socket)
        slow.sendall(encoded(Frame(kind=Kind.EVENT, body=b'{"do":"stop"}'))[:-3])

        assert talk.spawn("meanwhile", "true")["pid"] > 0

    talk.ask(do="release", instance="meanwhile")


def test_a_program_has_nothing_of_the_keepers(talk: Talk) -> None:
    """
    Among all the masters, sockets and pipes of the keeper it gets its own terminal only.
    """
    talk.spawn("neighbour", "sleep", "1000")
    talk.ask(do="hello", role="host", name="self")

    talk.spawn("listing", "ls", "/proc/self/fd")
    talk.ask(do="hand", instance="listing", host="self", spec=None)
    master = master_of(talk.event("adopt"))

    assert read_until(master, b"this never comes").split() == [b"0", b"1", b"2", b"3"]
    os.close(master)
    talk.ask(do="release", instance="neighbour")
    talk.ask(do="release", instance="listing")


def test_programs_do_not_get_the_keepers_limit() -> None:
    """
    The keeper raises its own limit of open files; a program has the one it would have had.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (250, hard))
    try:
        with keeper() as (_, talk):
            talk.ask(do="hello", role="host", name="self")
            talk.spawn("limit", "sh", "-c", "echo limit-$(ulimit -n)-")
            talk.ask(do="hand", instance="limit", host="self", spec=None)
            master = master_of(talk.event("adopt"))

            assert read_until(master, b"-\r\n") == b"limit-250-\r\n"
            limits = Path(f"/proc/{talk.hello['pid']}/limits").read_text()
            assert f"Max open files            {hard} " in limits
            os.close(master)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_host_that_dies_is_reported() -> None:
    """
    A host can be connected to once its fork is answered; how it ended is told to the daemon.
    """
    with keeper() as (where, talk):
        forked = talk.ask(do="fork", role="host", name="h1")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(where.host_socket("h1"))
        talk.spawn("lived", "sleep", "1000")
        talk.ask(do="hand", instance="lived", host="h1", spec=None)

        os.kill(forked["pid"], signal.SIGKILL)

        ended = talk.event("host_ended").body
        assert ended == {"event": "host_ended", "host": "h1", "code": None, "signal": 9}
        assert sessions(talk)["lived"]["ended"] is None
        assert not Path(where.host_socket("h1")).exists()


def test_stop_ends_the_keeper_and_hangs_up() -> None:
    """
    After `stop` was answered the keeper goes, its socket too, and every terminal is closed.
    """
    with keeper() as (where, talk):
        program = os.pidfd_open(talk.spawn("work", "sleep", "1000")["pid"])
        process = os.pidfd_open(talk.hello["pid"])

        assert talk.ask(do="stop").keys() == {"re"}

        wait_for_end(process)
        wait_for_end(program)
        assert not Path(where.keeper_socket).exists()
        os.close(process)
        os.close(program)


def test_a_home_has_one_keeper(shared: Kept, talk: Talk) -> None:
    """
    A second one leaves without a word, and the first is not disturbed.
    """
    assert not start_keeper(shared[0])

    assert talk.ask(do="hello", role="daemon")["pid"] == talk.hello["pid"]


def test_the_keeper_holds_nothing_of_who_started_it() -> None:
    """
    A pipe or a lock that the starting shell had open is not kept open for the keeper's life.
    """
    read, write = os.pipe()
    os.set_inheritable(write, True)

    with keeper() as (_, talk):
        os.close(write)

        assert os.read(read, 1) == b""
        assert talk.ask(do="hello", role="daemon")["pid"]
    os.close(read)
