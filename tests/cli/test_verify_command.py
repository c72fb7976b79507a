"""`verify` on files alone: no daemon runs here."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from agent_pty.cli.main import main
from agent_pty.core.evidence.event import Recording
from agent_pty.store import journal_files
from support.evidence import Evidence


@pytest.fixture
def evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evidence:
    """A home of its own."""
    monkeypatch.setenv("AGENT_PTY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AGENT_PTY_SOCKET", raising=False)
    monkeypatch.chdir(tmp_path)
    return Evidence(tmp_path / "home")


def verify(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Return the exit status, and what is said as JSON."""
    status = main(["verify", *words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_all_journals_are_opened_a_fixed_number_of_times(
    evidence: Evidence, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The time of `--all` grows with the number of sessions, not with its square.
    """
    for number in range(20):
        evidence.session(f"s{number}", f"i{number}")
    opened: list[str] = []
    instance_of = journal_files.instance_of

    def counted(path: str) -> str | None:
        opened.append(path)
        return instance_of(path)

    monkeypatch.setattr(journal_files, "instance_of", counted)
    status, results = verify(capsys, "--all")

    assert (status, len(results)) == (0, 20)
    assert len(opened) == 2 * 20


def test_a_removal_is_no_loss_and_a_loss_is_no_removal(
    evidence: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    By `--all` and by name; what is gone without a signature is a failure.
    """
    removed, lost = evidence.session("removed", "one"), evidence.session("lost", "two")
    (last,) = evidence.signed().of("one")
    evidence.remove("one", count=last.count, head=last.head)
    removed.unlink()
    lost.unlink()

    status, results = verify(capsys, "--all")
    by_name = verify(capsys, "gone")  # its name when it was removed
    missing = verify(capsys, "lost")

    assert status == 1
    assert [one["result"] for one in results] == ["removed", "failed"]
    assert (by_name[0], by_name[1]["exported_to"]) == (0, "/copy")
    assert (missing[0], missing[1]["first_error"]) == (1, "its journal is gone")


def test_a_removed_journal_that_is_there_is_checked(
    evidence: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A gc that was interrupted, or a copy that was put back.
    """
    evidence.session("work", "one")
    (last,) = evidence.signed().of("one")
    evidence.remove("one", count=last.count, head=last.head)

    assert verify(capsys, "work")[1]["result"] == "verified"


def test_a_broken_chain_fails_without_any_journal(
    evidence: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Whoever deletes all journals and spoils the checkpoints is not answered "all is well".
    """
    evidence.session("work", "one").unlink()
    data = evidence.checkpoints.read_bytes()
    evidence.checkpoints.write_bytes(data.replace(b'"count":3', b'"count":0'))

    status, results = verify(capsys, "--all")

    assert status == 1
    assert [one["first_error"] for one in results] == ["checkpoint 1: its signature does not match"]


def test_a_directory_with_the_name_of_a_session_is_not_meant(
    evidence: Evidence, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """
    A name is a session; a path, which has a slash, may be an export.
    """
    evidence.session("work", "one")
    (tmp_path / "work").mkdir()

    session, directory = verify(capsys, "work"), verify(capsys, "./work")

    assert (session[0], session[1]["result"]) == (0, "verified")
    assert directory[0] == 1
    assert "is no export of `gc`" in directory[1]["first_error"]


def test_an_emptied_journal_fails_by_its_name(
    evidence: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Its first line cannot say whose it is, but the checkpoints can.
    """
    evidence.session("work", "one").write_bytes(b"")

    status, result = verify(capsys, "work")

    assert status == 1
    assert "does not say whose it is" in result["first_error"]


@pytest.mark.parametrize("signed", [True, False])
def test_the_journal_of_another_session_fails_by_the_name_it_has(
    evidence: Evidence, capsys: pytest.CaptureFixture[str], *, signed: bool
) -> None:
    """
    Whether or not the one that stood there was signed.
    """
    alice = evidence.session("alice", "one")
    bob = evidence.session("bob", "two", sign=signed)
    bob.write_bytes(alice.read_bytes())

    status, result = verify(capsys, "bob")

    assert status == 1
    assert result["result"] == "failed"
    assert verify(capsys, "alice")[0] == 0


def test_a_newer_session_of_a_name_is_checked_before_it_is_signed(
    evidence: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The one before it has another file by then.
    """
    evidence.session("work", "one")
    evidence.session("work", "two", sign=False)

    status, result = verify(capsys, "work")

    assert (status, result["result"]) == (3, "verified_to_checkpoint")
    assert verify(capsys, "work", "--instance", "one")[0] == 0


def test_a_journal_with_a_very_long_first_line_is_signed(
    evidence: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A session may be started with more than a megabyte of arguments.
    """
    path = evidence.session("work", "one", argv=["x" * 100_000] * 20)

    assert journal_files.instance_of(str(path)) == "one"
    assert verify(capsys, "work")[0] == 0


def test_a_segment_that_is_newer_than_the_journal_knows_is_named(
    evidence: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    It would be shown as what the terminal had shown last.
    """
    segment = evidence.record("one")
    data = segment.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    mark = Recording(segment=1, bytes=len(data), sha256=digest, sealed=True)
    evidence.session("work", "one", noted=[mark])
    before = verify(capsys, "work")

    segment.with_name("recording-000002.cast").write_bytes(data)
    after = verify(capsys, "work")

    assert (before[0], after[0]) == (0, 1)
    assert after[1]["first_error"] == "recording: segment 2 is in no event"
