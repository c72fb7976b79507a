"""Start a program on a new PTY, without the keeper's descriptors, signal settings and limits."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from agent_pty.core.environment import adapted
from agent_pty.core.process_mark import RLIMIT_LOCKS
from agent_pty.keeper import seccomp

SECRET_FD = 3
_FREE_FD = 10
# What the keeper was started with; it raises its own limit, its programs get this one.
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start and where; *env* is added to the keeper's own environment, unless *whole*.

    All processes that it starts can be recognized by the *mark*. With *guard* the kernel asks
    before every exec of them.
    """

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    rows: int
    cols: int
    # A line that the program can read once, from descriptor SECRET_FD.
    secret: str | None = None
    mark: int | None = None
    whole: bool = False
    guard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A forked program. *report* ends without data once the program runs.

    If the program cannot be started, *report* has one JSON object, the reason, before its end.
    If it is to be guarded, the listener comes through *guard* first (`given_listener`).
    The caller owns the descriptors.
    """

    pid: int
    master: int
    report: int
    guard: socket.socket | None = None


def start(program: Program) -> Started:
    """Fork and return at once; a directory on a dead server blocks only the child."""
    with contextlib.ExitStack() as undo:
        master, slave = os.openpty()
        undo.callback(os.close, master)
        with contextlib.ExitStack() as childs:
            childs.callback(os.close, slave)
            size = struct.pack("HHHH", program.rows, program.cols, 0, 0)
            fcntl.ioctl(master, termios.TIOCSWINSZ, size)
            read, write = os.pipe()
            undo.callback(os.close, read)
            childs.callback(os.close, write)
            guard, given = socket.socketpair() if program.guard else (None, None)
            if guard is not None and given is not None:
                undo.callback(guard.close)
                childs.callback(given.close)
            pid = os.fork()
            if pid == 0:
                _become(program, slave=slave, report=_moved(write), guard=given)
        undo.pop_all()
    return Started(pid=pid, master=master, report=read, guard=guard)


def _moved(fd: int) -> int:
    """Return a duplicate that no standard stream and no secret replaces."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FREE_FD)


def _become(program: Program, *, slave: int, report: int, guard: socket.socket | None) -> NoReturn:
    stage = "terminal"
    try:
        giving = None if guard is None else socket.socket(fileno=_moved(guard.fileno()))
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        _interpret_utf8(slave)
        for fd in (0, 1, 2):
            os.dup2(slave, fd)
        if program.secret is not None:
            _give_secret(program.secret)
        if giving is not None:
            stage = "guard"
            be_guarded(giving)
        _reset_signals()
        resource.setrlimit(resource.RLIMIT_NOFILE, FILES)
        mark_process(program.mark)
        stage = "cwd"
        os.chdir(program.cwd)
        stage = "exec"
        env = program.env if program.whole else environment(program.env)
        os.execvpe(program.argv[0], list(program.argv), env)
    except BaseException as error:  # noqa: BLE001  this is a fork: nothing may return from here
        os.write(report, json.dumps(failure(stage, error)).encode())
    os._exit(127)


def be_guarded(keeper: socket.socket) -> None:
    """Have the kernel ask before every exec, and give the listener to the keeper."""
    listener, no_new_privs = seccomp.install()
    try:
        socket.send_fds(keeper, [b"1" if no_new_privs else b"0"], [listener])
    finally:
        os.close(listener)  # a process that has its own listener would never hear of its end


def given_listener(guard: socket.socket) -> tuple[int, bool] | None:
    """Return the listener of a program, and whether it gave up new privileges; None: it failed."""
    data, fds, _, _ = socket.recv_fds(guard, 1, 1, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    return (fds[0], data == b"1") if fds else None


def _give_secret(secret: str) -> None:
    """Leave a line in a pipe: neither environment nor arguments ever have it."""
    read, write = os.pipe()
    os.write(write, secret.encode() + b"\n")
    os.close(write)
    os.dup2(read, SECRET_FD)
    if read != SECRET_FD:
        os.close(read)


def mark_process(mark: int | None) -> None:
    """Give this process and all that it starts a mark, or take it away."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError):  # a kernel that keeps no such limit
            _, hard = resource.getrlimit(RLIMIT_LOCKS)
            resource.setrlimit(RLIMIT_LOCKS, (hard if mark is None else mark, hard))


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the keeper's own environment, adapted to our terminal, and *extra*."""
    return {**adapted(os.environ), **extra}


def failure(stage: str, error: BaseException) -> dict[str, Any]:
    """Describe why a program could not be started."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
    return {"stage": stage, "reason": reason, "errno": getattr(error, "errno", None)}


def _interpret_utf8(slave: int) -> None:
    # Without IUTF8 the line discipline erases half of a multi-byte character on backspace.
    flag = getattr(termios, "IUTF8", 0x4000)
    attributes = termios.tcgetattr(slave)
    attributes[0] |= flag
    termios.tcsetattr(slave, termios.TCSANOW, attributes)


def _reset_signals() -> None:
    # Ignored signals survive exec: Python ignores SIGPIPE, and a daemon started by nohup
    # or CI would hand its children a Ctrl-C that does nothing.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
