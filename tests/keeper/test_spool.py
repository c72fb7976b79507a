"""The spool of a session in the keeper's custody: made once, the same for every host."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator

import pytest

from agent_pty.core.layout import Layout
from agent_pty.keeper import spool
from agent_pty.keeper.spool import create_spool
from support.keeper import Talk, keeper

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


def handed(talk: Talk, host: Talk, instance: str) -> tuple[int, int]:
    """Have the keeper hand a session to a host; return master and spool."""
    answer = talk.ask(do="hand", instance=instance, host="h", spec=None)
    assert "error" not in answer, answer
    master, made = host.event("adopt").fds
    return master, made


def close(*fds: int) -> None:
    """Close descriptors."""
    for fd in fds:
        os.close(fd)


def test_every_host_is_handed_the_same_spool(talk: Talk, host: Talk) -> None:
    """
    What one host has written there is found by the next one.
    """
    talk.spawn("same", "sleep", "1000")
    master, first = handed(talk, host, "same")
    os.write(first, b"written by a host that died")
    close(master, first)

    master, second = handed(talk, host, "same")

    assert os.pread(second, 100, 0) == b"written by a host that died"
    close(master, second)
    talk.ask(do="release", instance="same")


def test_each_session_has_a_spool_of_its_own(talk: Talk, host: Talk) -> None:
    """
    A new spool is empty.
    """
    for name in ("one", "two"):
        talk.spawn(name, "sleep", "1000")
    one, two = handed(talk, host, "one"), handed(talk, host, "two")

    os.write(one[1], b"of one")

    assert not os.path.sameopenfile(one[1], two[1])
    assert os.fstat(two[1]).st_size == 0
    close(*one, *two)
    for name in ("one", "two"):
        talk.ask(do="release", instance=name)


def test_a_spool_given_into_custody_is_handed_on(talk: Talk, host: Talk) -> None:
    """
    A keeper that comes after one that died has what the host still had.
    """
    master, slave = os.openpty()
    made = create_spool()
    os.write(made, b"written before the keeper died")
    given = {"instance": "found", "pid": 1, "birth": None, "host_pid": os.getpid(), "spool": True}

    host.ask(do="custody", fds=(master, made), **given)
    close(master, made)
    again, spooled = handed(talk, host, "found")

    assert os.pread(spooled, 100, 0) == b"written before the keeper died"
    close(again, spooled, slave)
    talk.ask(do="release", instance="found")


def test_a_host_of_the_previous_build_gives_no_spool(talk: Talk, host: Talk) -> None:
    """
    Its session has a file instead; the next host gets an empty spool with the terminal.
    """
    master, slave = os.openpty()
    given = {"session": "old", "pid": 1, "birth": None, "host_pid": os.getpid(), "ended": None}

    answer = host.ask(do="custody", fds=(master,), **given)
    close(master)
    again, made = handed(talk, host, "old")

    assert "error" not in answer
    assert os.fstat(made).st_size == 0
    close(again, made, slave)
    talk.ask(do="release", instance="old")


def test_a_session_whose_spool_did_not_arrive_is_not_taken(talk: Talk, host: Talk) -> None:
    """
    The kernel drops descriptors for which there is no room: that must not look like an old host.
    """
    master, slave = os.openpty()
    given = {"instance": "half", "pid": 1, "birth": None, "host_pid": os.getpid(), "spool": True}

    answer = host.ask(do="custody", fds=(master,), **given)

    assert "not all of its descriptors arrived" in answer["error"]["reason"]
    assert "half" not in talk.ask(do="hello", role="daemon")["sessions"]
    close(master, slave)


def test_a_spool_is_memory_without_a_name() -> None:
    """
    No file has it, no program inherits it, it cannot be executed and its size can be fixed.
    """
    made = create_spool()

    assert os.readlink(f"/proc/self/fd/{made}") == "/memfd:agent-pty-spool (deleted)"
    assert not os.get_inheritable(made)
    assert stat.S_IMODE(os.fstat(made).st_mode) & 0o111 == 0
    assert fcntl.fcntl(made, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SEAL == 0
    os.close(made)


def test_a_kernel_that_does_not_know_a_flag_is_asked_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Linux before 6.3 refuses the flag that forbids to execute the memory.
    """
    real: Callable[[str, int], int] = os.memfd_create

    def old_kernel(name: str, flags: int) -> int:
        if flags & ~(os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return real(name, flags)

    monkeypatch.setattr(os, "memfd_create", old_kernel)
    made = create_spool()

    assert "memfd" in os.readlink(f"/proc/self/fd/{made}")
    assert not os.get_inheritable(made)
    os.close(made)


def test_want_of_descriptors_is_no_reason_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Another error than that of an unknown flag reaches the caller.
    """

    def full(_name: str, _flags: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "memfd_create", full)

    with pytest.raises(OSError, match="Too many open files"):
        create_spool()


def test_without_memfd_a_spool_is_a_file_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    On macOS it can be written and mapped, is private, and no directory has it.
    """
    monkeypatch.delattr(os, "memfd_create")

    made = spool.create_spool()

    found = os.fstat(made)
    assert (found.st_nlink, found.st_size, stat.S_IMODE(found.st_mode)) == (0, 0, 0o600)
    assert not os.get_inheritable(made)
    os.close(made)
