"""Whether a process waits for the keyboard: real processes on real terminals."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agent_pty.process.keyboard import KeyboardWait, keyboard_wait
from support.agent import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel says it on Linux only")

ALONE = KeyboardWait(alone=True, relays=False)
AMONG = KeyboardWait(alone=False, relays=False)
RELAY = KeyboardWait(alone=False, relays=True)

# What a program does: it waits in the last line, and says before that it is about to.
SAID = "import os, select, socket, sys, threading, time; os.write(2, b'up'); "
WAITS = {
    "reads": "os.read(0, 1)",
    "selects": "select.select([0], [], [])",
    "polls": "p = select.poll(); p.register(0, select.POLLIN); p.poll()",
    "polls a pipe as well": "r, w = os.pipe(); select.select([0, r], [], [])",
    "watches a pipe as well": (
        "r, w = os.pipe(); e = select.epoll(); e.register(0, 1); e.register(r, 1); e.poll()"
    ),
    "wakes itself by a pair of sockets": (
        "s, t = socket.socketpair(); e = select.epoll(); e.register(0, 1); e.register(s, 1); "
        "e.poll()"
    ),
    "reads in a thread": "threading.Thread(target=os.read, args=(0, 1)).start()",
}
ELSEWHERE = {
    "sleeps by select": "select.select([], [], [], 1000)",
    "watches a pipe": "r, w = os.pipe(); e = select.epoll(); e.register(r, 1); e.poll()",
    "reads a socket": "s, t = socket.socketpair(); s.recv(1)",
    "sleeps": "time.sleep(1000)",
}
RELAYS = {
    "a terminal": "m, s = os.openpty(); select.select([0, m], [], [])",
    "a socket": (
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); select.select([0, s], [], [])"
    ),
    "a socket, by epoll": (
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); e = select.epoll(); "
        "e.register(0, 1); e.register(s, select.EPOLLIN); e.poll()"
    ),
}


@contextmanager
def on_terminal(code: str) -> Iterator[tuple[int, str]]:
    """Start Python on a terminal of its own; give its pid and the name of the terminal."""
    master, slave = os.openpty()
    name = os.ttyname(slave)
    child = subprocess.Popen(
        [sys.executable, "-c", SAID + code],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        assert os.read(master, 2) == b"up"
        yield child.pid, name
    finally:
        child.kill()
        child.wait()
        os.close(master)


@pytest.mark.parametrize("how", ["reads", "selects", "polls"])
@pytest.mark.parametrize("line_mode", [True, False])
def test_trial_07_a_program_that_waits_for_nothing_else(how: str, *, line_mode: bool) -> None:
    """
    Whether it reads or polls, a program that can wait for nothing but the keyboard waits for it.
    """
    with on_terminal(WAITS[how]) as (pid, name):
        eventually(lambda: keyboard_wait(pid, name, line_mode=line_mode) == ALONE)


@pytest.mark.parametrize(
    "how",
    ["polls a pipe as well", "watches a pipe as well", "wakes itself by a pair of sockets"],
)
def test_trial_07_a_program_that_waits_for_several_things(how: str) -> None:
    """
    It waits for the keyboard if it edits its line itself; in line mode it most likely works.
    """
    with on_terminal(WAITS[how]) as (pid, name):
        eventually(lambda: keyboard_wait(pid, name, line_mode=False) == AMONG)

        assert keyboard_wait(pid, name, line_mode=True) is None


@pytest.mark.parametrize("how", RELAYS)
def test_trial_07_a_program_that_also_has_a_terminal_or_socket_relays(how: str) -> None:
    """
    Whoever waits for the keyboard and for a terminal's master or a socket passes on what is typed.
    """
    with on_terminal(RELAYS[how]) as (pid, name):
        eventually(lambda: keyboard_wait(pid, name, line_mode=False) == RELAY)


def test_trial_07_a_socket_alone_makes_no_relay() -> None:
    """
    A client of a database that reads its next command passes nothing on meanwhile.
    """
    code = "s, t = socket.socketpair(); os.read(0, 1)"

    with on_terminal(code) as (pid, name):
        eventually(lambda: keyboard_wait(pid, name, line_mode=False) == ALONE)


def test_trial_13_a_thread_may_wait_for_the_keyboard() -> None:
    """
    In a program that edits its line itself any thread counts; in line mode only the first does.
    """
    with on_terminal(WAITS["reads in a thread"]) as (pid, name):
        eventually(lambda: keyboard_wait(pid, name, line_mode=False) == ALONE)

        assert keyboard_wait(pid, name, line_mode=True) is None


@pytest.mark.parametrize("how", ELSEWHERE)
@pytest.mark.parametrize("line_mode", [True, False])
def test_trial_07_a_program_that_waits_for_something_else(how: str, *, line_mode: bool) -> None:
    """
    Who sleeps, or waits for a pipe or a socket only, does not wait for the keyboard.
    """
    with on_terminal(ELSEWHERE[how]) as (pid, name):
        eventually(lambda: asleep(pid))

        assert keyboard_wait(pid, name, line_mode=line_mode) is None


def test_nobody_waits_for_no_keyboard() -> None:
    """
    A process that is gone does not wait.
    """
    with on_terminal("pass") as (pid, name):
        pass

    assert keyboard_wait(pid, name, line_mode=True) is None
    assert keyboard_wait(pid, name, line_mode=False) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a program of another user")
@pytest.mark.parametrize("line_mode", [True, False])
def test_trial_07_a_program_of_another_user_may_relay(*, line_mode: bool) -> None:
    """
    Where we are not allowed to see what a program waits for, it may wait for the keyboard.
    """
    seen = (
        "from agent_pty.process.keyboard import keyboard_wait; "
        "import os, sys; os.setuid(65534); "
        "print(keyboard_wait(int(sys.argv[1]), sys.argv[2], line_mode=sys.argv[3] == 'True'))"
    )

    with on_terminal("time.sleep(1000)") as (pid, name):
        words = [sys.executable, "-c", seen, str(pid), name, str(line_mode)]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert told == f"{RELAY}\n"


def asleep(pid: int) -> bool:
    """Whether a process sleeps in the call that its code ends with, not in one of its start."""
    with open(f"/proc/{pid}/wchan") as file:
        where = file.read()
    return any(name in where for name in ("nanosleep", "poll", "select", "unix_stream", "wait"))
