"""Runs first in a pane: fetches what to start from our daemon, and starts it.

The program is a child. This process stays, as a `sleep`, until the pane is removed: tmux drops what
it has not read yet when the first process of a pane ends, and nobody collects the child's exit
status, so that it can be read as long as the pane is there.

A program of its own, run as `python -I -S launcher.py SOCKET`, with the standard library alone.
What it fetches (environment, secret) is never in an argument or in the environment of tmux.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import socket
import sys
import termios
from typing import Any, NoReturn

_SECRET_FD = 3
_FREE_FD = 10
_RLIMIT_LOCKS = 10
# In seconds, as every `sleep` takes it.
_FOR_EVER = "2147483647"


def main(path: str) -> None:
    """Fetch the program, start it in the foreground, and stay."""
    try:
        wanted, report = _fetch(path)
    except (OSError, ValueError):
        _remove_pane()
    _interpret_utf8()
    pid = os.fork()
    if pid == 0:
        _become(wanted, report)
    os.write(report, b"%d\n" % pid)
    os.execvp("sleep", ["sleep", _FOR_EVER])


def _fetch(path: str) -> tuple[dict[str, Any], int]:
    """Return what to start, and where to report what becomes of it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.connect(path)
        sock.sendall(b"ready\n")
        with sock.makefile("rb") as lines:
            wanted = json.loads(lines.readline())
        # It ends without an error once the program runs: exec closes it.
        return wanted, fcntl.fcntl(sock.fileno(), fcntl.F_DUPFD_CLOEXEC, _FREE_FD)


def _remove_pane() -> NoReturn:
    """Remove our pane: whoever wanted it has given up, because tmux did not answer in time."""
    server = os.environ["TMUX"].partition(",")[0]
    os.execvp("tmux", ["tmux", "-S", server, "kill-pane", "-t", os.environ["TMUX_PANE"]])


def _become(wanted: dict[str, Any], report: int) -> NoReturn:
    """Become the program; what prevents that is reported."""
    stage = "terminal"
    try:
        _take_foreground()
        if wanted["secret"] is not None:
            _give_secret(wanted["secret"])
        _reset_signals()
        _set_limits(wanted)
        stage = "cwd"
        os.chdir(wanted["cwd"])
        stage = "exec"
        env = {os.fsencode(name): os.fsencode(value) for name, value in wanted["env"].items()}
        argv = [os.fsencode(word) for word in wanted["argv"]]
        os.execvpe(argv[0], argv, env)  # it is what the user wants to run
    except BaseException as error:  # noqa: BLE001  whatever it was, who waits must learn it
        reason = getattr(error, "strerror", None) or repr(error)
        failed = {"stage": stage, "reason": reason, "errno": getattr(error, "errno", None)}
        os.write(report, json.dumps(failed).encode())
    os._exit(127)


def _take_foreground() -> None:
    """Lead a process group of its own, which has the keyboard, as the first program of a PTY."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, os.getpid())


def _interpret_utf8() -> None:
    # Without IUTF8 the line discipline erases half of a multi-byte character on backspace.
    attributes = termios.tcgetattr(0)
    attributes[0] |= getattr(termios, "IUTF8", 0x4000)
    termios.tcsetattr(0, termios.TCSANOW, attributes)


def _give_secret(secret: str) -> None:
    """Leave a line in a pipe: neither environment nor arguments ever have it."""
    read, write = os.pipe()
    os.write(write, secret.encode() + b"\n")
    os.close(write)
    if read == _SECRET_FD:
        os.set_inheritable(read, True)  # it takes no keyword
        return
    os.dup2(read, _SECRET_FD)
    os.close(read)


def _set_limits(wanted: dict[str, Any]) -> None:
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, tuple(wanted["files"]))
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError):  # a kernel that keeps no such limit
            _, hard = resource.getrlimit(_RLIMIT_LOCKS)
            resource.setrlimit(_RLIMIT_LOCKS, (wanted["mark"], hard))


def _reset_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


if __name__ == "__main__":
    main(sys.argv[1])
