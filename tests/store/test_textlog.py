import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_pty.store import textlog
from agent_pty.store.textlog import Excerpt, LogPositions, TextLog, last_text

EVERYTHING = 1 << 60

# What the log writes until the kernel refuses, then what it reads, as one line of JSON.
NO_ROOM = """
import json, os, resource, signal, sys
from agent_pty.store import textlog
from agent_pty.store.textlog import TextLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
textlog._MOST_HELD = int(sys.argv[2])
log = TextLog(sys.argv[1], keep=1 << 30)
log.append(b"a" * 3000)
log.flush()
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, unlimited[1]))
log.append(b"b" * 3000)
log.flush()
lost = [log.first, log.committed, log.read(0, 10).place]
try:
    log.positions()
except OSError as error:
    lost.append(error.strerror)
resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
log.append(b"after\\n")
log.flush()
again = TextLog(sys.argv[1], keep=1 << 30, positions=log.positions())
here, there = log.read(0, 1 << 20).text.decode(), again.read(0, 1 << 20).text.decode()
print(json.dumps([lost, here, there, sorted(os.listdir(sys.argv[1]))]))
"""


@contextmanager
def small_files(*, buffer: int = 16, segment: int = 64) -> Iterator[str]:
    """Give a directory, and limits so low that a short text reaches them all."""
    with (
        tempfile.TemporaryDirectory() as directory,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(textlog, "_BUFFER", buffer)
        patch.setattr(textlog, "_SEGMENT", segment)
        yield directory


@dataclass(frozen=True)
class Append:
    """Add text."""

    text: bytes


@dataclass(frozen=True)
class Flush:
    """Write to the files."""


@dataclass(frozen=True)
class Crash:
    """Go on with the marks last saved; what came after them is gone, also from the files."""

    lost: bytes


STEPS = st.lists(
    st.one_of(
        st.binary(max_size=90).map(Append),
        st.just(Flush()),
        st.binary(max_size=90).map(Crash),
    ),
    max_size=20,
)


@given(steps=STEPS, start=st.integers(0, 600), limit=st.integers(0, 600))
@settings(max_examples=150, deadline=None)
def test_the_log_is_the_text_that_was_appended(
    steps: list[Append | Flush | Crash], start: int, limit: int
) -> None:
    """
    Any range reads as from one string, through buffer, segments and crashes.
    """
    with small_files() as directory:
        log, model = TextLog(directory, keep=EVERYTHING), b""
        for step in steps:
            if isinstance(step, Append):
                log.append(step.text)
                model += step.text
            elif isinstance(step, Flush):
                log.flush()
            else:
                positions = log.positions()
                log.append(step.lost)
                log.flush()
                log.close()
                log = TextLog(directory, keep=EVERYTHING, positions=positions)

        assert (log.first, log.committed) == (0, len(model))
        assert log.read(start, limit).text == model[start : start + limit]
        assert log.read(0, EVERYTHING).text == model
        log.flush()
        assert sum(path.stat().st_size for path in Path(directory).iterdir()) == len(model)
        log.close()


@given(texts=st.lists(st.binary(max_size=60), max_size=30), keep=st.integers(0, 300))
@settings(max_examples=100, deadline=None)
def test_what_is_kept_is_the_newest(texts: list[bytes], keep: int) -> None:
    """
    At least *keep* bytes stay readable; who asks for older ones is told where the text begins.
    """
    with small_files() as directory:
        log, model = TextLog(directory, keep=keep), b""
        for text in texts:
            log.append(text)
            model += text
        log.flush()

        assert log.first <= max(0, len(model) - keep)
        assert log.read(0, EVERYTHING) == Excerpt(place=log.first, text=model[log.first :])
        again = TextLog(directory, keep=keep, positions=log.positions())
        assert again.read(0, EVERYTHING) == Excerpt(place=log.first, text=model[log.first :])
        log.close()


def test_the_oldest_files_are_removed() -> None:
    """
    A long text takes no more room than what is kept and one segment more on each side.
    """
    with small_files(buffer=10, segment=100) as directory:
        log = TextLog(directory, keep=300)
        for _ in range(1000):
            log.append(b"0123456789")

        sizes = [os.stat(f"{directory}/{name}").st_size for name in os.listdir(directory)]

        assert 300 <= sum(sizes) <= 500
        assert log.committed == 10_000
        log.close()


def test_real_limits_drop_megabytes(tmp_path: Path) -> None:
    """
    With the limits as they are, 40 MB of which 10 are kept leave less than 30 on disk.
    """
    log = TextLog(str(tmp_path), keep=10_000_000)
    block = b"x" * 999_999 + b"\n"

    for _ in range(40):
        log.append(block)

    used = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert used < 30_000_000
    assert log.first > 10_000_000
    assert log.read(0, 5).place == log.first
    log.close()


def test_text_without_marks_is_of_an_earlier_life(tmp_path: Path) -> None:
    """
    LogPositions that count nothing remove every segment that is found: nobody has seen it.
    """
    log = TextLog(str(tmp_path), keep=EVERYTHING)
    log.append(b"unseen")
    log.flush()
    log.close()

    again = TextLog(str(tmp_path), keep=EVERYTHING, positions=LogPositions())

    assert os.listdir(tmp_path) == []
    again.append(b"seen")
    assert again.read(0, EVERYTHING).text == b"seen"


def test_segments_are_private(tmp_path: Path) -> None:
    """
    A transcript may hold secrets: its files are for this user only.
    """
    log = TextLog(str(tmp_path), keep=EVERYTHING)
    log.append(b"secret")
    log.flush()
    log.close()

    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o600]


def filled(directory: Path, *, held: int) -> Any:
    """Let a log meet a full disk and holding *held* bytes; return what it says of that."""
    words = [sys.executable, "-c", NO_ROOM, str(directory), str(held)]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_what_a_full_disk_refuses_is_said_to_be_gone(tmp_path: Path) -> None:
    """
    The log goes on: `first` says what was lost, and later text is kept, also for the next host.
    """
    lost, here, there, files = filled(tmp_path, held=100)

    assert lost == [5950, 6000, 5950]
    assert here == there == "b" * 50 + "after\n"
    assert files == ["text.0", "text.5950"]


def test_trial_03_what_a_full_disk_refuses_is_held_in_memory(tmp_path: Path) -> None:
    """
    A text that is not too long is lost only with its host, and is in the files with room again.
    """
    lost, here, there, files = filled(tmp_path, held=1 << 20)

    assert lost == [0, 6000, 0, "No space left on device"]
    assert here == there == "a" * 3000 + "b" * 3000 + "after\n"
    assert files == ["text.0"]


def test_a_reader_who_saw_a_rewritten_line_gets_it_whole(tmp_path: Path) -> None:
    """
    The cursor after `50%` leads to the beginning of the line that now says `100%`.
    """
    log = TextLog(str(tmp_path), keep=EVERYTHING)
    log.append(b"start\n")
    line = log.committed
    seen = log.cursor(line) + len(b"50%")

    log.supersede(line, len(b"50%"))
    log.append(b"100%\n")

    assert log.read(log.place(seen), EVERYTHING).text == b"100%\n"
    assert log.read(log.place(log.cursor(line)), EVERYTHING).text == b"100%\n"
    assert log.place(log.cursor(0)) == 0


def test_a_line_rewritten_twice_is_new_to_both_readers(tmp_path: Path) -> None:
    """
    Who saw `10%` and who saw `50%` both get the last state, and only once.
    """
    log = TextLog(str(tmp_path), keep=EVERYTHING)
    first = log.cursor(0) + len(b"10%")
    log.supersede(0, len(b"10%"))
    second = log.cursor(0) + len(b"50%")
    log.supersede(0, len(b"50%"))
    log.append(b"100%\n")

    assert first < second
    assert [log.place(first), log.place(second)] == [0, 0]
    assert log.place(log.cursor(log.committed)) == log.committed


LINES = st.lists(
    st.tuples(st.integers(1, 9), st.lists(st.integers(0, 9), max_size=3)), min_size=1, max_size=12
)


@given(lines=LINES)
@settings(max_examples=150, deadline=None)
def test_cursors_grow_and_lead_back(lines: list[tuple[int, list[int]]]) -> None:
    """
    Every place has a cursor that leads back to it; cursors ascend, before and after a crash.
    """
    with small_files() as directory:
        log = TextLog(directory, keep=EVERYTHING)
        given_out = []
        for length, rewritten in lines:
            start = log.committed
            for shown in rewritten:
                # Whoever saw all of the line, or only its beginning.
                given_out += [(log.cursor(start) + part, start) for part in range(shown + 1)]
                log.supersede(start, shown)
            log.append(b"x" * length)

        again = TextLog(directory, keep=EVERYTHING, positions=log.positions())

        for one in (log, again):
            cursors = [one.cursor(place) for place in range(one.committed + 1)]
            assert sorted(set(cursors)) == cursors
            assert [one.place(cursor) for cursor in cursors] == list(range(one.committed + 1))
            assert [one.place(cursor) for cursor, _ in given_out] == [at for _, at in given_out]
            assert one.shift == log.shift
        log.close()


@given(
    lengths=st.lists(st.integers(1, 40), max_size=30),
    keep=st.integers(1, 200),
    most=st.integers(1, 300),
)
@settings(max_examples=50)
def test_the_end_of_the_text_can_be_read_without_its_writer(
    lengths: list[int], keep: int, most: int
) -> None:
    """
    Whatever the files are, the last bytes come back with the place at which they begin.
    """
    with small_files() as directory:
        log = TextLog(directory, keep=keep)
        for number, length in enumerate(lengths):
            log.append(str(number % 10).encode() * length)
        log.flush()

        found = last_text(directory, most=most)

        start = max(log.first, log.committed - most)
        assert found == Excerpt(place=start, text=log.read(start, most).text)
        log.close()


def test_the_end_of_the_text_has_no_hole(tmp_path: Path) -> None:
    """
    What stands before a part that could not be kept is left out: it would look like one text.
    """
    (tmp_path / "text.0").write_bytes(b"before")
    (tmp_path / "text.10").write_bytes(b"after ")
    (tmp_path / "text.16").write_bytes(b"it")

    assert last_text(str(tmp_path), most=100) == Excerpt(place=10, text=b"after it")
