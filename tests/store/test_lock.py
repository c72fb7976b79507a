import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_pty.store.lock import Lock, held

HOLD = """
import sys
from agent_pty.store.lock import Lock
Lock(sys.argv[1]).acquire(patience=30)
print("held", flush=True)
sys.stdin.read()
"""


def holder(path: Path) -> "subprocess.Popen[str]":
    """Start a process that holds the lock and says so."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    """
    While one has the lock another is told no, and gets it when the first gives it back.
    """
    first, second = Lock(str(tmp_path / "lock")), Lock(str(tmp_path / "lock"))

    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    """
    A holder that is killed leaves a file but no lock.
    """
    path = tmp_path / "lock"
    with holder(path) as process:
        assert held(str(path))

        process.kill()
        process.wait()

    assert path.exists()
    assert not held(str(path))
    lock = Lock(str(path))
    assert lock.acquire()
    lock.release()


def test_who_waits_gets_the_lock_when_it_is_free(tmp_path: Path) -> None:
    """
    A process that asks while the lock is held has it once it is given back.
    """
    path = tmp_path / "lock"
    lock = Lock(str(path))
    lock.acquire()
    waiter = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    lock.release()

    with waiter:
        assert waiter.stdout is not None
        assert waiter.stdout.readline() == "held\n"
        assert held(str(path))


def test_patience_ends(tmp_path: Path) -> None:
    """
    Who waits too long is told no, and the alarm that told it is not heard again.
    """
    first, second = Lock(str(tmp_path / "lock")), Lock(str(tmp_path / "lock"))
    first.acquire()
    before = signal.getsignal(signal.SIGALRM)

    assert not second.acquire(patience=0.05)

    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    first.release()
    assert second.acquire(patience=60)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    second.release()


def test_asking_makes_no_file(tmp_path: Path) -> None:
    """
    Where there is no file nobody holds the lock, and there is none afterwards.
    """
    assert not held(str(tmp_path / "lock"))
    assert os.listdir(tmp_path) == []


def test_asking_takes_nothing(tmp_path: Path) -> None:
    """
    The question does not become a lock of its own.
    """
    lock = Lock(str(tmp_path / "lock"))
    lock.acquire()
    lock.release()

    assert not held(lock.path)
    assert lock.acquire()
    lock.release()


def test_a_release_too_many_is_harmless(tmp_path: Path) -> None:
    """
    Releasing a lock that is not held does nothing.
    """
    lock = Lock(str(tmp_path / "lock"))
    lock.release()
    lock.acquire()
    lock.release()
    lock.release()

    assert not held(lock.path)


def test_the_file_is_private_and_no_link(tmp_path: Path) -> None:
    """
    The file is for this user only, and a link in its place is not followed.
    """
    lock = Lock(str(tmp_path / "lock"))
    lock.acquire()
    lock.release()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        Lock(str(tmp_path / "link")).acquire()

    assert stat.S_IMODE(os.stat(lock.path).st_mode) == 0o600
    assert not (tmp_path / "elsewhere").exists()
