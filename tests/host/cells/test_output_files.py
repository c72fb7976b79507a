"""Files with whole outputs: complete, of a running cell only what is new, and not too many."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from agent_pty.host.cells.output_files import OutputFiles
from agent_pty.host.cells.output_range import OutputRange
from agent_pty.store.textlog import TextLog


@pytest.fixture
def log(tmp_path: Path) -> TextLog:
    """A transcript."""
    return TextLog(str(tmp_path), keep=1 << 20)


def saved(files: OutputFiles, cell: str, output: OutputRange, log: TextLog) -> str:
    """Save an output and return what its file has."""
    path = asyncio.run(files.save(cell, output, log))
    assert path == files.path(cell)
    return Path(path).read_text()


def test_trial_19_a_running_output_is_continued(log: TextLog, tmp_path: Path) -> None:
    """
    A second time only what is new is written; the unfinished line is replaced by what became of it.
    """
    files = OutputFiles(f"{tmp_path}/cells")
    log.append(b"echo\none\n")
    first = saved(files, "a", OutputRange(start=5, end=9, tail=b"50%"), log)
    inode = os.stat(files.path("a")).st_ino
    log.append("100%\nzwölf\n".encode())

    second = saved(files, "a", OutputRange(start=5, end=log.committed - 1), log)

    assert (first, second) == ("one\n50%", "one\n100%\nzwölf")
    assert os.stat(files.path("a")).st_ino == inode
    assert os.stat(files.path("a")).st_mode & 0o777 == 0o600


def test_trial_19_an_output_that_begins_elsewhere_is_written_anew(
    log: TextLog, tmp_path: Path
) -> None:
    """
    Where output begins may be known later than that it began; a file that was removed comes back.
    """
    files = OutputFiles(f"{tmp_path}/cells")
    log.append(b"echo\none\n")
    saved(files, "a", OutputRange(start=0, end=9), log)

    assert saved(files, "a", OutputRange(start=5, end=9), log) == "one\n"
    os.unlink(files.path("a"))
    assert saved(files, "a", OutputRange(start=5, end=9), log) == "one\n"


def test_the_oldest_file_is_removed(log: TextLog, tmp_path: Path) -> None:
    """
    Sixteen files are kept; which one was written last counts.
    """
    files = OutputFiles(f"{tmp_path}/cells")
    log.append(b"text\n")
    for number in (*range(16), 0, 16):
        saved(files, str(number), OutputRange(start=0, end=4), log)

    left = {name.removesuffix(".txt") for name in os.listdir(f"{tmp_path}/cells")}
    assert left == {str(number) for number in range(17)} - {"1"}


def test_a_file_that_cannot_be_written_is_none(log: TextLog, tmp_path: Path) -> None:
    """
    Without a directory to write into there is no path; the output is still in the transcript.
    """
    (tmp_path / "cells").write_text("in the way")
    files = OutputFiles(f"{tmp_path}/cells")

    assert asyncio.run(files.save("a", OutputRange(start=0, end=0), log)) is None
