"""Whose journal a file is, by its name and by what is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_pty.core.evidence.event import Kill
from agent_pty.store import journal_files
from agent_pty.store.journal import Journal
from agent_pty.store.journal_files import by_instance, find, instance_of, locate


def write(directory: Path, name: str, instance: str) -> None:
    """Write a journal as a host does it: that of an earlier instance is moved away."""
    journal = Journal(str(directory), name=name, instance=instance)
    journal.append(Kill())
    journal.close()


def test_the_newest_has_the_name_alone(tmp_path: Path) -> None:
    """
    Earlier instances are found by name and instance; one that there was not is not found.
    """
    for instance in ("one", "two", "three"):
        write(tmp_path, "work", instance)

    assert find(str(tmp_path), "work") == f"{tmp_path}/work.jsonl"
    assert find(str(tmp_path), "work", "three") == f"{tmp_path}/work.jsonl"
    assert find(str(tmp_path), "work", "one") == f"{tmp_path}/work.one.jsonl"
    assert find(str(tmp_path), "work", "four") is None
    assert find(str(tmp_path), "nobody") is None
    assert find(str(tmp_path), "work", "../one") is None


def test_fs_02_a_session_whose_name_looks_like_an_older_one(tmp_path: Path) -> None:
    """
    The journal of session `work.one` is never taken for that of an instance `one` of `work`.
    """
    write(tmp_path, "work.one", "other")
    write(tmp_path, "work", "one")
    write(tmp_path, "work", "two")

    older = find(str(tmp_path), "work", "one")

    assert older == f"{tmp_path}/work.one-2.jsonl"
    assert find(str(tmp_path), "work.one") == f"{tmp_path}/work.one.jsonl"
    assert instance_of(f"{tmp_path}/work.one.jsonl") == "other"


def test_sessions_are_located_by_name_and_otherwise_by_content(tmp_path: Path) -> None:
    """
    Whatever a file is called now, its session finds it; what nobody claims is named.
    """
    write(tmp_path, "a", "one")
    write(tmp_path, "a", "two")
    write(tmp_path, "b", "three")
    write(tmp_path, "b.x", "stranger")
    (tmp_path / "b.jsonl").rename(tmp_path / "kept-its-old-name.jsonl")
    (tmp_path / "traces.jsonl").write_text('{"name": "no journal"}\n')

    found = locate(str(tmp_path), [("a", "one"), ("a", "two"), ("b", "three"), ("a", "gone")])

    assert found.paths == {
        "one": f"{tmp_path}/a.one.jsonl",
        "two": f"{tmp_path}/a.jsonl",
        "three": f"{tmp_path}/kept-its-old-name.jsonl",
    }
    assert found.others == [f"{tmp_path}/b.x.jsonl"]


def test_a_name_in_use_again_does_not_hide_a_journal_that_is_gone(tmp_path: Path) -> None:
    """
    The newest of a name belongs to one instance; another that claims it has none.
    """
    write(tmp_path, "a", "new")

    found = locate(str(tmp_path), [("a", "old"), ("a", "new")])

    assert found.paths == {"new": f"{tmp_path}/a.jsonl"}


def test_thousands_are_located_without_opening_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Names are enough where only one session can own a file.
    """
    for number in range(50):
        write(tmp_path, f"s{number}", f"i{number}")
    opened: list[str] = []
    monkeypatch.setattr(journal_files, "instance_of", opened.append)

    found = locate(str(tmp_path), [(f"s{number}", f"i{number}") for number in range(50)])

    assert len(found.paths) == 50
    assert opened == []


def test_journals_by_instance(tmp_path: Path) -> None:
    """
    Also two files of one instance, of which one must be a copy; what is no journal is left out.
    """
    write(tmp_path, "a", "one")
    (tmp_path / "copy.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    (tmp_path / "other.jsonl").write_text("{}\n")

    assert by_instance(str(tmp_path)) == {"one": [f"{tmp_path}/a.jsonl", f"{tmp_path}/copy.jsonl"]}
    assert by_instance(str(tmp_path / "nowhere")) == {}
