import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent_pty.keeper.birth import birth
from agent_pty.process import table
from support.agent import eventually

IDLE = "import sys; print('up', flush=True); sys.stdin.read()"


@contextmanager
def idle(*, executable: str = sys.executable, **changes: object) -> Iterator[int]:
    """Start a process that sleeps until it is left; give its pid."""
    with subprocess.Popen(
        [executable, "-c", IDLE, "one \n two", "three"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **changes,  # type: ignore[call-overload]  # the keywords of Popen, given by the test
    ) as child:
        child.stdout.readline()  # it is up, and about to sleep
        eventually(lambda: (found := table.entry(child.pid)) is not None and found.stat == "S")
        yield child.pid


def test_an_entry_is_what_the_kernel_says() -> None:
    """
    Parent, group, session and birth are those that other calls report.
    """
    found = table.entry(os.getpid())

    assert found is not None
    assert (found.pid, found.ppid) == (os.getpid(), os.getppid())
    assert (found.group, found.session) == (os.getpgid(0), os.getsid(0))
    assert found.birth == birth(os.getpid())
    assert found.alive


def test_the_table_has_everybody() -> None:
    """
    One reading of the table finds init, ourselves and a child of ours.
    """
    with idle() as child:
        found = table.snapshot()

    assert {1, os.getpid(), child} <= found.keys()
    assert found[child].ppid == os.getpid()


def test_nobody_has_no_entry() -> None:
    """
    A process that is gone, or never was, has none, and nothing can be seen of it.
    """
    child = subprocess.Popen(["true"])
    child.wait()

    assert table.entry(child.pid) is None
    assert table.entry(1 << 30) is None
    assert table.environment(child.pid) == set()
    assert table.open_files(child.pid) == set()
    assert table.family(child.pid) == []


def test_a_zombie_is_not_alive() -> None:
    """
    A process that has ended but was not waited for is in the table, and counts as dead.
    """
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    found = table.entry(child.pid)

    assert found is not None
    assert (found.stat, found.alive) == ("Z", False)
    child.wait()


def test_a_stopped_process_is_alive() -> None:
    """
    Standing still is not being dead.
    """
    with idle() as child:
        os.kill(child, signal.SIGSTOP)
        os.waitid(os.P_PID, child, os.WSTOPPED)

        found = table.entry(child)

        os.kill(child, signal.SIGCONT)
    assert found is not None
    assert (found.stat, found.alive) == ("T", True)


def test_a_name_with_parentheses_is_understood(tmp_path: Path) -> None:
    """
    A program may call itself what it likes.
    """
    odd = tmp_path / ") Z 1 2 (x"
    odd.symlink_to(sys.executable)

    with idle(executable=str(odd)) as child:
        found = table.entry(child)

    assert found is not None
    assert (found.ppid, found.alive) == (os.getpid(), True)


def test_a_process_is_described_by_its_command_line() -> None:
    """
    All words, with one blank between them, whatever blanks and line ends are in them.
    """
    with idle() as child:
        found = table.entry(child)
        assert found is not None
        described = table.described(found)

    assert (described.pid, described.ppid) == (child, os.getpid())
    assert described.command.startswith(f"{sys.executable} -c import sys;")
    assert described.command.endswith(" one two three")


def test_the_environment_is_the_one_it_was_started_with() -> None:
    """
    Each variable is one entry, with its name.
    """
    with idle(env={"MARK": "a b=c"}) as child:
        assert b"MARK=a b=c" in table.environment(child)
        assert b"MARK=a b" not in table.environment(child)


def test_who_becomes_another_program_keeps_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    In the middle of an exec there is none to be seen: then it is looked for again.
    """
    monkeypatch.setattr(table, "time", SimpleNamespace(monotonic=lambda: 0.0))  # never too late
    restless = tmp_path / "restless"
    restless.write_text('#!/bin/sh\nexec "$0"\n')
    restless.chmod(0o755)
    with subprocess.Popen([restless], env={"WHO": "restless"}) as child:
        seen = [b"WHO=restless" in table.environment(child.pid) for _ in range(2000)]
        child.kill()

    assert all(seen[seen.index(True) :])


def test_an_exec_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A process may be stopped in the middle of it: then nothing is to be seen.
    """
    clock = iter(range(1000))
    monkeypatch.setattr(table, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    read = table.read
    monkeypatch.setattr(
        table, "read", lambda pid, what: b"" if what == "environ" else read(pid, what)
    )

    assert table.environment(os.getpid()) == set()
    assert next(clock) < 10


@contextmanager
def kernel_thread() -> Iterator[int]:
    """Give the pid of a thread of the kernel."""
    if table.read(2, "comm") != b"kthreadd\n":
        pytest.skip("a container shows no threads of the kernel")
    yield 2


@contextmanager
def zombie() -> Iterator[int]:
    """Give the pid of a process that has ended and was not counted."""
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        yield child.pid


@pytest.mark.parametrize("nothing", [kernel_thread, zombie, partial(idle, env={})])
def test_who_has_no_environment_is_not_waited_for(
    nothing: Callable[[], AbstractContextManager[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    There is nothing to come: one look is enough.
    """
    looks = list[int]()
    monkeypatch.setattr(os, "sched_yield", lambda: looks.append(1))

    with nothing() as pid:
        assert table.environment(pid) == set()

    assert looks == []


def test_open_files_are_the_paths(tmp_path: Path) -> None:
    """
    A terminal or a file that a process holds is found by its name.
    """
    with open(tmp_path / "held", "wb") as held, idle(stderr=held) as child:
        assert str(tmp_path / "held") in table.open_files(child)


def test_a_file_closed_meanwhile_hides_no_other(tmp_path: Path) -> None:
    """
    A descriptor that is gone before it is looked at does not make the others invisible.
    """
    # We ourselves are such a process: the directory we list is closed when we look.
    with open(tmp_path / "held", "wb"):
        assert str(tmp_path / "held") in table.open_files(os.getpid())


@pytest.mark.skipif(os.getuid() == 0, reason="root may look into every process")
def test_what_is_not_ours_is_not_seen() -> None:
    """
    Of somebody else's process neither environment nor files are to be had.
    """
    assert table.environment(1) == set()
    assert table.open_files(1) == set()


def test_a_family_is_a_process_and_its_descendants() -> None:
    """
    Grandchildren too, parents before children, and nobody else.
    """
    # `true` at each end keeps a shell from becoming its last command.
    script = "sh -c \"sh -c 'echo \\$\\$; read x; true'; true\"; true"
    with (
        idle(),
        subprocess.Popen(
            ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as root,
    ):
        assert root.stdout is not None
        grandchild = int(root.stdout.readline())

        family = table.family(root.pid)

    pids = [found.pid for found in family]
    assert (len(pids), pids[0], pids[2]) == (3, root.pid, grandchild)
    assert [found.ppid for found in family] == [os.getpid(), *pids[:2]]


def test_a_process_that_ended_is_described_by_its_name() -> None:
    """
    Whoever was seen has a name, also when its command line can no longer be read.
    """
    with idle() as pid:
        found = table.entry(pid)

    assert found is not None
    assert table.described(found).command == f"[{found.name}]"
