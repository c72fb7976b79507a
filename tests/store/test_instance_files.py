"""Which files belong to a session, by an exact rule and not by how their names begin."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_pty.core.evidence.event import Kill
from agent_pty.store.instance_files import survey
from agent_pty.store.journal import Journal


def write(directory: Path, name: str, instance: str) -> None:
    """Write a journal as a host does it."""
    journal = Journal(str(directory), name=name, instance=instance)
    journal.append(Kill())
    journal.close()


def files_of(directory: Path, *sessions: tuple[str, str]) -> dict[str, list[str]]:
    """Return the names of the files of each session."""
    found = survey(str(directory), sessions)
    return {one: [shown(path) for path in its.paths] for one, its in found.items()}


def shown(path: str) -> str:
    """Return the name of a file; of a segment, whose it is."""
    if "/recordings/" in path:
        return f"{os.path.basename(os.path.dirname(path))}.cast"
    return os.path.basename(path)


def record(directory: Path, instance: str, data: bytes = b"x") -> Path:
    """Write a segment of a recording."""
    path = directory / "recordings" / instance / "recording-000001.cast"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def test_fs_02_files_of_a_session_are_not_those_of_one_with_a_longer_name(tmp_path: Path) -> None:
    """
    `a`, `a.b` and an older `a`: each file belongs to exactly one; the journal comes last.
    """
    write(tmp_path, "a", "old")
    write(tmp_path, "a", "new")
    write(tmp_path, "a.b", "other")
    for name in ("a.old.jsonl.torn-2", "a.b.jsonl.torn-3", "a.jsonl.torn-1"):
        (tmp_path / name).write_text("x")
    for instance in ("old", "new", "other", "nobody"):
        record(tmp_path, instance)

    found = files_of(tmp_path, ("a", "old"), ("a", "new"), ("a.b", "other"))

    assert found == {
        "old": ["a.old.jsonl.torn-2", "old.cast", "a.old.jsonl"],
        "new": ["a.jsonl.torn-1", "new.cast", "a.jsonl"],
        "other": ["a.b.jsonl.torn-3", "other.cast", "a.b.jsonl"],
    }


@pytest.mark.parametrize(
    "name",
    [
        *["a.cast", "a.b.jsonl.torn-1", "ab.jsonl.torn-1", "a-b.jsonl.torn-1", "a.txt"],
        *["a.jsonl.torn-x", "a", "ajsonl.torn-1", "a.b.jsonl.torn-1.cast", ".a.jsonl.torn-1"],
    ],
)
def test_what_only_begins_like_it_is_left_alone(tmp_path: Path, name: str) -> None:
    """
    A file of a session `a.b` whose journal is gone does not become one of `a`.
    """
    write(tmp_path, "a", "one")
    (tmp_path / name).write_text("x")

    assert files_of(tmp_path, ("a", "one")) == {"one": ["a.jsonl"]}


def test_a_session_called_like_an_ending(tmp_path: Path) -> None:
    """
    `a.jsonl` is a name, too, and so is the instance of another session: its files are its own.
    """
    write(tmp_path, "a", "one")
    write(tmp_path, "a.jsonl", "two")
    write(tmp_path, "one", "three")
    record(tmp_path, "one")
    for name in ("a.jsonl.torn-1", "a.jsonl.jsonl.torn-2"):
        (tmp_path / name).write_text("x")

    assert files_of(tmp_path, ("a", "one"), ("a.jsonl", "two"), ("one", "three")) == {
        "one": ["a.jsonl.torn-1", "one.cast", "a.jsonl"],
        "two": ["a.jsonl.jsonl.torn-2", "a.jsonl.jsonl"],
        "three": ["one.jsonl"],
    }


def test_sizes_are_summed_and_links_are_not_followed(tmp_path: Path) -> None:
    """
    What is no ordinary file has no size here, and is not touched.
    """
    write(tmp_path, "a", "one")
    segment = record(tmp_path, "one", b"x" * 1000)
    (segment.parent / "recording-000002.cast").symlink_to("/etc/hostname")
    (segment.parent / "recording-000003.cast").mkdir()

    found = survey(str(tmp_path), [("a", "one"), ("b", "two")])

    assert found["one"].size == 1000 + (tmp_path / "a.jsonl").stat().st_size
    assert found["one"].changed == (tmp_path / "a.jsonl").stat().st_mtime
    assert found["one"].others == (str(segment),)
    assert (found["two"].journal, found["two"].size, found["two"].paths) == (None, 0, ())
