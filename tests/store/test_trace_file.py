"""The file of spans: whole lines, within its bound, and never an error."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty.core.trace import Span, SpanContext
from agent_pty.store.trace_file import TraceFile
from support.small_disk import small_disk

CONTEXT = SpanContext(trace_id="a" * 32, span_id="b" * 16, sampled=True)
SECOND = 1_000_000_000


class Traces:
    """A file of spans in a directory, and a clock that only its owner moves."""

    def __init__(self, directory: Path, **options: Any) -> None:
        self.path = directory / "traces.jsonl"
        self.older = directory / "traces.1.jsonl"
        self.file = TraceFile(str(self.path), str(self.older), **options)
        self.now = 1000 * SECOND

    def add(self, session: str = "work", *, seconds: int = 0) -> None:
        """Write a span that ends *seconds* after the one before."""
        self.now += seconds * SECOND
        self.file.add(
            Span(
                context=CONTEXT,
                parent_span_id=None,
                op="send",
                session=session,
                transport="unix",
                started_ns=self.now,
                ended_ns=self.now,
                error_code=None,
            )
        )

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What is in the file."""
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    @property
    def sessions(self) -> list[str]:
        """The sessions of the spans in the file."""
        return [line["attributes"]["session.id"] for line in self.lines]


@pytest.fixture
def traces(tmp_path: Path) -> Iterator[Traces]:
    """A file that is not there yet."""
    found = Traces(tmp_path)
    yield found
    found.file.close()


def test_the_file_is_private_and_is_continued(traces: Traces) -> None:
    """
    It is made with the first span, for its owner alone; the next daemon goes on in it.
    """
    assert not traces.path.exists()

    traces.add("one")
    Traces(traces.path.parent).add("two")
    traces.add("three")

    assert stat.S_IMODE(traces.path.stat().st_mode) == 0o600
    assert traces.sessions == ["one", "two", "three"]
    assert (traces.file.missing, traces.file.problem) == (0, None)


def test_a_line_is_one_write(traces: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Whoever reads the file, or also writes to it, never meets half a line.
    """
    written: list[bytes] = []
    write = os.write

    def watched(fd: int, data: bytes) -> int:
        written.append(data)
        return write(fd, data)

    monkeypatch.setattr(os, "write", watched)

    for _ in range(3):
        traces.add()

    assert [data[-2:] for data in written] == [b"}\n"] * 3
    assert b"".join(written) == traces.path.read_bytes()


def test_a_removed_file_is_made_again(traces: Traces) -> None:
    """
    Not one span is written to a file that has no name any more.
    """
    traces.add("before")
    traces.path.unlink()

    traces.add("after")

    assert traces.sessions == ["after"]
    assert traces.file.missing == 0


def test_a_file_that_was_moved_gets_a_successor(traces: Traces) -> None:
    """
    Whoever rotates the file by hand loses nothing: after a second spans are in a new one.
    """
    traces.add("one")
    traces.path.rename(traces.path.parent / "kept")

    traces.add("two", seconds=2)
    traces.path.rename(traces.path.parent / "kept-2")
    traces.path.touch()
    traces.add("three", seconds=2)

    assert traces.sessions == ["three"]
    assert '"two"' in (traces.path.parent / "kept-2").read_text()
    assert traces.file.missing == 0


def test_the_file_is_bounded_and_one_older_is_kept(tmp_path: Path) -> None:
    """
    A file that is as large as it may be becomes the older one, in place of that one.
    """
    traces = Traces(tmp_path, largest=1000)

    for number in range(100):
        traces.add(f"s{number}")

    older = [json.loads(line) for line in traces.older.read_text().splitlines()]
    numbers = [line["attributes"]["session.id"] for line in [*older, *traces.lines]]
    assert sorted(os.listdir(tmp_path)) == ["traces.1.jsonl", "traces.jsonl"]
    assert 1000 <= traces.older.stat().st_size < 1300
    assert numbers == [f"s{number}" for number in range(100 - len(numbers), 100)]
    assert stat.S_IMODE(traces.older.stat().st_mode) == 0o600


def test_a_file_that_was_too_large_before_is_not_continued(tmp_path: Path) -> None:
    """
    The bound also counts for what an earlier daemon has written.
    """
    (tmp_path / "traces.jsonl").write_bytes(b"{}\n" * 500)
    traces = Traces(tmp_path, largest=1000)

    traces.add()

    assert len(traces.lines) == 1
    assert traces.older.stat().st_size == 1500


def test_what_cannot_be_written_is_counted_and_told_by_the_next_line(traces: Traces) -> None:
    """
    A directory in the file's place: nothing is raised, `missing` counts, and the next line has it.
    """
    traces.path.mkdir()

    traces.add()
    traces.add()

    assert traces.file.missing == 2
    assert traces.file.problem == f"{traces.path}: Is a directory"
    traces.path.rmdir()
    traces.add()
    traces.add()
    assert [line.get("missing") for line in traces.lines] == [2, None]
    assert traces.file.missing == 2
    assert not traces.file.problem


def test_a_directory_that_is_gone_disturbs_nobody(tmp_path: Path) -> None:
    """
    Without the log directory spans are counted until it is there again.
    """
    (tmp_path / "runs").mkdir()
    traces = Traces(tmp_path / "runs")
    traces.add("one")
    traces.path.unlink()
    traces.path.parent.rmdir()

    traces.add("two")
    traces.path.parent.mkdir()
    traces.add("three")

    assert traces.sessions == ["three"]
    assert traces.lines[0]["missing"] == 1


def test_a_link_is_not_followed(traces: Traces, tmp_path: Path) -> None:
    """
    Nothing is written to a file elsewhere.
    """
    (tmp_path / "elsewhere").touch()
    traces.path.symlink_to(tmp_path / "elsewhere")

    traces.add()

    assert (tmp_path / "elsewhere").read_bytes() == b""
    assert traces.file.missing == 1


def test_a_pipe_in_the_place_of_the_file_stops_nobody(traces: Traces) -> None:
    """
    Whether somebody reads it or not, nothing waits, and the spans are counted.
    """
    os.mkfifo(traces.path)

    traces.add()
    reader = os.open(traces.path, os.O_RDONLY | os.O_NONBLOCK)
    traces.add()

    assert os.read(reader, 10) == b""
    assert traces.file.missing == 2
    os.close(reader)


@pytest.mark.parametrize("torn", [b'{"trace_id":"aa', b"\0" * 700])
def test_a_torn_end_is_cut_off_and_counted(traces: Traces, torn: bytes) -> None:
    """
    Half a line that a machine left when it went down is not joined to the next one.
    """
    traces.add("one")
    traces.file.close()
    with traces.path.open("ab") as file:
        file.write(torn)

    traces.add("two")

    assert traces.sessions == ["one", "two"]
    assert traces.lines[1]["missing"] == 1


def test_on_a_full_disk_no_line_is_torn(tmp_path: Path) -> None:
    """
    A disk takes what it has room for, perhaps half a line: that is taken back, and counted.
    """
    del tmp_path
    with small_disk(1) as disk:
        traces = Traces(disk.path)
        traces.add()
        disk.fill()

        for _ in range(40):  # a block has room for 18 of them, and a half
            traces.add()
        full = traces.path.read_bytes()
        missing = traces.file.missing
        disk.free()
        traces.add()

        assert 0 < missing < 40
        assert traces.file.missing == missing
        assert full.endswith(b"}\n")
        assert len(traces.lines) + missing == 42
        assert traces.lines[-1]["missing"] == missing
        traces.file.close()
