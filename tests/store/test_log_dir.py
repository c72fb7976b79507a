from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_pty.core.layout import Layout, layout
from agent_pty.errors import DaemonError, DaemonRunning
from agent_pty.store import home
from agent_pty.store.lock import Lock
from agent_pty.store.log_dir import check, claim, locate

NOBODY = 65534


def env(tmp_path: Path) -> dict[str, str]:
    """Return an environment with a home of its own."""
    return {"AGENT_PTY_HOME": str(tmp_path / "home")}


def prepared(tmp_path: Path, name: str, logs: str) -> Layout:
    """Return where a daemon at socket *name* with the log directory *logs* has its files."""
    where = layout(
        env(tmp_path), cwd="/", socket=str(tmp_path / name), log_dir=str(tmp_path / logs)
    )
    Path(where.run).mkdir(parents=True, mode=0o700, exist_ok=True)
    Path(where.log_dir).mkdir(mode=0o700, exist_ok=True)
    return where


def test_trial_29_what_a_daemon_was_given_is_found_by_either_half(tmp_path: Path) -> None:
    """
    The socket leads to the log directory, and the directory to the socket.
    """
    where = prepared(tmp_path, "a.sock", "logs")

    claim(where).release()

    assert locate(env(tmp_path), cwd="/", socket=where.socket) == where
    assert locate(env(tmp_path), cwd="/", log_dir=where.log_dir) == where


def test_trial_29_what_is_given_counts_more_than_what_is_noted(tmp_path: Path) -> None:
    """
    A caller who gives both gets both.
    """
    claim(prepared(tmp_path, "a.sock", "logs")).release()
    other, logs = str(tmp_path / "b.sock"), str(tmp_path / "logs")

    where = locate(env(tmp_path), cwd="/", socket=other, log_dir=logs)
    by_environment = locate({**env(tmp_path), "AGENT_PTY_SOCKET": other}, cwd="/", log_dir=logs)

    assert (where.socket, where.log_dir) == (other, logs)
    assert by_environment == where


def test_trial_29_one_daemon_has_a_log_directory(tmp_path: Path) -> None:
    """
    Another one is refused, by itself and by its clients, until the first has ended.
    """
    first, second = (prepared(tmp_path, name, "logs") for name in ("a.sock", "b.sock"))
    lock = claim(first)

    check(first)
    with pytest.raises(DaemonRunning, match=f"used by the daemon at {first.socket}"):
        check(second)
    with pytest.raises(DaemonRunning, match=f"used by the daemon at {first.socket}"):
        claim(second)
    lock.release()
    check(second)
    claim(second).release()

    assert locate(env(tmp_path), cwd="/", log_dir=first.log_dir).socket == second.socket


def test_trial_29_a_log_directory_is_not_changed_under_sessions(tmp_path: Path) -> None:
    """
    While the keeper lives, the home has the log directory it had; afterwards any other.
    """
    before, after = (prepared(tmp_path, "a.sock", logs) for logs in ("one", "two"))
    claim(before).release()
    keeper = Lock(before.keeper_lock)
    assert keeper.acquire()

    with pytest.raises(DaemonError, match=f"use the log directory {before.log_dir}"):
        check(after)
    check(before)
    keeper.release()
    check(after)
    claim(after).release()

    assert locate(env(tmp_path), cwd="/", socket=after.socket).log_dir == after.log_dir


@pytest.mark.parametrize("content", [b"", b"relative/path", b"\xff"])
def test_trial_29_a_note_without_a_path_says_nothing(tmp_path: Path, content: bytes) -> None:
    """
    Damaged files are as good as none.
    """
    where = prepared(tmp_path, "a.sock", "logs")
    Path(where.owner_note).write_bytes(content)
    Path(where.log_dir_note).write_bytes(content)

    assert locate(env(tmp_path), cwd="/", socket=where.socket).log_dir == f"{where.home}/runs"
    assert locate(env(tmp_path), cwd="/", log_dir=where.log_dir).socket.startswith(where.base)


def test_trial_29_a_note_that_is_no_file_says_nothing(tmp_path: Path) -> None:
    """
    Links are not followed, directories not read.
    """
    where = prepared(tmp_path, "a.sock", "logs")
    Path(where.log_dir_note).mkdir()
    (tmp_path / "note").write_text("/somewhere")
    Path(where.owner_note).symlink_to(tmp_path / "note")

    assert locate(env(tmp_path), cwd="/", socket=where.socket).log_dir == f"{where.home}/runs"
    assert locate(env(tmp_path), cwd="/", log_dir=where.log_dir).socket.startswith(where.base)


def test_trial_29_a_note_of_somebody_else_says_nothing(tmp_path: Path) -> None:
    """
    Nobody can lead us to a socket of theirs.
    """
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    where = prepared(tmp_path, "a.sock", "logs")
    Path(where.owner_note).write_text("/tmp/theirs.sock")
    os.chown(where.owner_note, NOBODY, NOBODY)

    assert locate(env(tmp_path), cwd="/", log_dir=where.log_dir).socket.startswith(where.base)


def test_trial_29_a_path_may_have_any_bytes(tmp_path: Path) -> None:
    """
    Not every name of a directory is UTF-8.
    """
    where = prepared(tmp_path, "a.sock", os.fsdecode(b"l\xffogs\n"))

    claim(where).release()

    assert locate(env(tmp_path), cwd="/", socket=where.socket).log_dir == where.log_dir


def test_trial_29_a_note_that_cannot_be_written_is_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    The daemon works without it; whoever gives half of the options does not find it.
    """
    where = prepared(tmp_path, "a.sock", "logs")
    Path(f"{where.owner_note}.new").mkdir()

    claim(where).release()

    assert f"cannot write {where.owner_note}: " in capfd.readouterr().err


def test_trial_29_the_default_home_is_private_too(tmp_path: Path) -> None:
    """
    A home lies in the default one, so that must belong to nobody else either.
    """
    where = prepared(tmp_path, "a.sock", "logs")
    Path(where.base).chmod(0o777)

    home.prepare(where)

    assert Path(where.base).stat().st_mode & 0o777 == 0o700
