"""What daemon, hosts and keeper write to their log, and what they do when they cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.core.redaction.redactor import redacted
from agent_pty.log import Log
from support.small_disk import SmallDisk, small_disk


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    """A disk of one megabyte."""
    with small_disk(1) as mounted:
        yield mounted


def opened(path: Path) -> int:
    """Open a log as daemon, hosts and keeper have it."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def test_lines_and_tracebacks_are_written_at_once(tmp_path: Path) -> None:
    """
    An entry is in the file when the call returns; text that is no UTF-8 is escaped.
    """
    log = Log(opened(tmp_path / "log"))

    log.line("daemon: one \udcff")
    log.error(ValueError("two"))

    assert (tmp_path / "log").read_text() == "daemon: one \\udcff\nValueError: two\n"


def test_trial_03_a_log_that_cannot_be_written_never_raises() -> None:
    """
    A full disk, a closed descriptor and a pipe without a reader are no reason to fail.
    """
    full = os.open("/dev/full", os.O_WRONLY)
    read, write = os.pipe()
    os.close(read)
    closed = os.dup(full)
    os.close(closed)

    for fd in (full, write, closed):
        Log(fd).line("lost")
        Log(fd).error(ValueError("lost"))

    for fd in (full, write):
        os.close(fd)


def test_trial_03_what_could_not_be_written_is_counted(disk: SmallDisk) -> None:
    """
    With room again the log says how many entries are missing, once, and goes on.
    """
    path = disk.path / "log"
    log = Log(opened(path))
    disk.fill()
    log.line("lost")
    log.error(ValueError("lost too"))
    disk.free()

    log.line("after")
    log.line("and on")

    assert path.read_text() == (
        "log: 2 entries before this one could not be written\nafter\nand on\n"
    )


def test_trial_03_half_an_entry_is_not_joined_to_the_next(disk: SmallDisk) -> None:
    """
    A disk that fills in the middle of an entry leaves a line of its own.
    """
    path = disk.path / "log"
    log = Log(opened(path))
    log.line("x")
    disk.fill()  # the file's own block has room for some of the next entry
    log.line("y" * 10_000)
    log.line("z")
    disk.free()

    log.line("after")

    lines = path.read_text().splitlines()
    assert lines[0] == "x"
    assert set(lines[1]) == {"y"}
    assert lines[2:] == ["log: 2 entries before this one could not be written", "after"]


def test_secrets_are_taken_out_of_entries(tmp_path: Path) -> None:
    """
    What an error text or a process list has of them does not last; a failure to look loses no log.
    """
    log = Log(opened(tmp_path / "log"))
    log.clean_by(redacted)
    log.line("refused: export API_TOKEN=swordfish \udc80\ud800")
    log.error(ValueError("PASSWORD=swordfish"))

    def broken(_text: str) -> str:
        raise ValueError("oops")

    log.clean_by(broken)
    log.line("swordfish")

    text = (tmp_path / "log").read_text()
    assert "swordfish" not in text
    assert "API_TOKEN=[REDACTED] \\udc80\\ud800\n" in text
    assert "an entry is left out" in text
