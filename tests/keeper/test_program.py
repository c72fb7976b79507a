import json
import os
import re
import select
import signal
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_pty.keeper.program import Program, Started, environment, start
from support.keeper import read_until

# Python 3.12 warns of a fork in a process with threads: here that is pytest's watchdog.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


def program(*argv: str, **changes: Any) -> Program:
    """Return a program in / on a terminal of ordinary size."""
    return Program(**{"argv": argv, "cwd": "/", "env": {}, "rows": 24, "cols": 80, **changes})


def failure(started: Started) -> dict[str, Any] | None:
    """Return what the report says; None: the program runs."""
    assert select.select([started.report], [], [], 30)[0]
    report = os.read(started.report, 1 << 16)
    return json.loads(report) if report else None


def finish(started: Started) -> int:
    """Close what the caller owns and return the exit status."""
    os.close(started.report)
    os.close(started.master)
    return os.waitstatus_to_exitcode(os.waitpid(started.pid, 0)[1])


def output(*argv: str, **changes: Any) -> str:
    """Run a program to its end and return what it wrote to its terminal."""
    started = start(program(*argv, **changes))
    assert failure(started) is None
    text = read_until(started.master, b"this never comes")
    finish(started)
    return text.decode().replace("\r\n", "\n")


def numbers(text: str) -> list[int]:
    """Return the numbers in a text."""
    return [int(word) for word in re.findall(r"\d+", text)]


def is_inheritable(fd: int) -> bool:
    """Whether a descriptor outlives exec; one that is gone does not."""
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False


def test_a_program_runs_on_its_own_terminal() -> None:
    """
    What it writes can be read from the master; its exit status is its own.
    """
    started = start(program("sh", "-c", "echo hello; exit 7"))

    assert failure(started) is None
    assert read_until(started.master, b"this never comes") == b"hello\r\n"
    assert finish(started) == 7


def test_signals_are_as_at_login() -> None:
    """
    A program ignores and blocks nothing, though its parent ignores SIGPIPE, SIGHUP and more.
    """
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (1, 2, 3, 25)}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN

    try:
        text = output("cat", "/proc/self/status")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)

    masks = dict(line.split(":\t") for line in text.splitlines() if line.startswith("Sig"))
    # The C library keeps two signals (32, 33) for itself and lets nobody change them.
    ours = sum(1 << (number - 1) for number in signal.valid_signals())
    assert [int(masks[name], 16) & ours for name in ("SigBlk", "SigIgn", "SigCgt")] == [0, 0, 0]


def test_a_program_leads_its_own_session() -> None:
    """
    It has a session and a group of its own and owns the terminal's foreground.
    """
    text = output("cat", "/proc/self/stat")

    pid = numbers(text)[0]
    _, _, group, session, terminal, foreground = text[text.rindex(")") + 2 :].split()[:6]
    assert [int(group), int(session), int(foreground)] == [pid, pid, pid]
    assert int(terminal) != 0


def test_nothing_of_ours_is_open_in_it() -> None:
    """
    A program has its terminal three times, and the directory that `ls` itself reads.
    """
    # What pytest itself was started with is not closed here; the keeper closes it when it starts.
    inherited = {int(fd) for fd in os.listdir("/proc/self/fd") if is_inheritable(int(fd))}
    with open("/etc/passwd", "rb"):
        listing = output("ls", "/proc/self/fd")

    assert {*numbers(listing)} - inherited == {0, 1, 2, 3} - inherited


@pytest.mark.parametrize(("rows", "cols"), [(24, 80), (1, 1), (1000, 1000)])
def test_the_terminal_has_its_size_from_the_start(rows: int, cols: int) -> None:
    """
    The first thing a program asks already gets the right answer.
    """
    assert numbers(output("stty", "size", rows=rows, cols=cols)) == [rows, cols]


def test_the_terminal_knows_utf8() -> None:
    """
    Backspace takes a whole character away, not one byte of it.
    """
    assert " iutf8" in output("stty", "-a")


def test_the_environment_fits_our_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    TERM is ours, and what described the terminal of whoever started the keeper is gone.
    """
    for name in ("COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY", "WINDOWID", "TERM_PROGRAM"):
        monkeypatch.setenv(name, "foreign")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("KEPT", "yes")

    lines = output("env", env={"ADDED": "too"}).splitlines()

    assert "foreign" not in "".join(lines)
    assert {"TERM=xterm-256color", "COLORTERM=truecolor", "KEPT=yes", "ADDED=too"} <= {*lines}


@pytest.mark.parametrize("extra", [{"TERM": "vt100"}, {"COLUMNS": "40"}])
def test_who_names_a_variable_gets_it(extra: Mapping[str, str]) -> None:
    """
    What the request says wins over what we would say.
    """
    assert extra.items() <= environment(extra).items()


def test_a_program_starts_in_its_directory(tmp_path: Path) -> None:
    """
    The directory is entered before the program starts.
    """
    assert output("pwd", cwd=str(tmp_path)) == f"{tmp_path}\n"


@pytest.mark.parametrize(
    ("changes", "stage", "reason"),
    [
        ({"argv": ["/no/such/program"]}, "exec", "No such file or directory"),
        ({"argv": ["no-such-program-on-the-path"]}, "exec", "No such file or directory"),
        ({"argv": ["/etc/passwd"]}, "exec", "Permission denied"),
        ({"argv": ["/"]}, "exec", "Permission denied"),
        ({"cwd": "/no/such/directory"}, "cwd", "No such file or directory"),
        ({"cwd": "/etc/passwd"}, "cwd", "Not a directory"),
        ({"argv": []}, "exec", "IndexError('list index out of range')"),
        ({"argv": ["true", "x" * 3_000_000]}, "exec", "Argument list too long"),
    ],
)
def test_why_it_did_not_start_is_reported(
    changes: Mapping[str, Sequence[str] | str], stage: str, reason: str
) -> None:
    """
    The report says at which step it failed and what the system said; the child is gone.
    """
    started = start(program("true", **changes))

    why = failure(started)

    assert why is not None
    assert (why["stage"], why["reason"]) == (stage, reason)
    assert finish(started) == 127


def test_a_size_that_does_not_exist_leaves_nothing_behind() -> None:
    """
    A start that fails before the fork closes what it had opened.
    """
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(struct.error, match="format requires"):
        start(program("true", rows=70_000))

    assert len(os.listdir("/proc/self/fd")) == before


def test_closing_the_master_hangs_up() -> None:
    """
    Nobody else holds the terminal: when the caller lets go, the program is told.
    """
    started = start(program("sleep", "1000"))
    assert failure(started) is None

    assert finish(started) == -signal.SIGHUP
