"""The file of a journal: torn ends, removed files, names, and a disk that fails."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import pytest

from agent_pty.core.evidence.chain import ChainCheck
from agent_pty.core.evidence.event import Kill, Notify, SendKeys
from agent_pty.errors import EvidenceUnavailable
from agent_pty.store import journal_files, journal_reader
from agent_pty.store.journal import Journal


def opened(directory: Path, *, name: str = "work", instance: str = "one") -> Journal:
    """Open a journal as a host does it."""
    return Journal(str(directory), name=name, instance=instance)


def kinds(path: Path) -> list[str]:
    """Check a journal, and return the types of its events."""
    check = ChainCheck()
    events = [check.feed(line) for line in journal_reader.lines(str(path))]
    assert check.first_error is None
    return [event["kind"]["payload"]["type"] for event in events if event is not None]


def test_events_are_one_line_each(tmp_path: Path) -> None:
    """
    LOG-34, LOG-35: Whatever is in a text, it stays inside of one string of one line.
    """
    journal = opened(tmp_path)
    nasty = 'a\nb"c\u2028\x00\x1b{"sequence":1,"event_hash":""}\n'
    journal.append(Notify(who="x", message=nasty))
    journal.append(SendKeys(bytes=list(b"\xff\xfe\n"), input="text", entered=True))

    lines = (tmp_path / "work.jsonl").read_bytes().splitlines()

    assert len(lines) == 2
    assert json.loads(lines[0])["kind"]["payload"]["message"] == nasty
    assert bytes(json.loads(lines[1])["kind"]["payload"]["bytes"]) == b"\xff\xfe\n"
    assert kinds(tmp_path / "work.jsonl") == ["notify", "send_keys"]


@pytest.mark.parametrize(
    "torn",
    [b'{"id":"half', b'{"id":"\xc3', bytes(4096), b'{"id":"whole"}\n', b"\n\n"],
    ids=["half a line", "half a character", "NULs", "no event", "empty lines"],
)
def test_log_14_15_a_torn_end_is_set_aside(tmp_path: Path, torn: bytes) -> None:
    """
    What a crash left behind the last event is kept in a file, and recorded; the chain goes on.
    """
    journal = opened(tmp_path)
    for _ in range(3):
        journal.append(Kill())
    journal.close()
    path = tmp_path / "work.jsonl"
    with path.open("ab") as file:
        file.write(torn)

    again = opened(tmp_path)
    again.append(Kill())

    assert kinds(path) == ["kill", "kill", "kill", "recovery", "kill"]
    recovery = json.loads(path.read_bytes().splitlines()[3])["kind"]["payload"]
    assert Path(recovery["file"]).read_bytes() == torn
    assert recovery["bytes"] == len(torn)


def test_log_19_damage_in_the_middle_is_not_repaired(tmp_path: Path) -> None:
    """
    It is reported by whoever checks, and everything readable is still returned.
    """
    journal = opened(tmp_path)
    for _ in range(3):
        journal.append(Kill())
    journal.close()
    path = tmp_path / "work.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"garbage\n" + b"".join(lines[1:]))

    opened(tmp_path).append(Kill())

    found = path.read_bytes().splitlines()
    assert found[1] == b"garbage"
    assert len(found) == 5
    assert journal_reader.page(str(path), after=0, most_bytes=1 << 20) == found


def test_a_removed_file_is_written_again(tmp_path: Path) -> None:
    """
    What somebody deletes under a running session is restored with everything that was in it.
    """
    journal = opened(tmp_path)
    journal.append(Kill())
    (tmp_path / "work.jsonl").unlink()

    journal.append(Kill())

    assert kinds(tmp_path / "work.jsonl") == ["kill", "recovery", "kill"]


def test_what_cannot_be_written_is_refused_and_counted(tmp_path: Path) -> None:
    """
    LOG-21, LOG-22: An intent is refused; what happens in any case is counted, and told afterwards.
    """
    gone = tmp_path / "logs"
    journal = Journal(str(gone), name="work", instance="one")

    with pytest.raises(EvidenceUnavailable):
        journal.append(Kill())
    assert journal.attempt(Kill()) is None
    assert journal.problem is not None
    gone.mkdir()
    journal.append(Kill())

    assert journal.problem is None
    assert kinds(gone / "work.jsonl") == ["gap", "kill"]
    gap = json.loads((gone / "work.jsonl").read_bytes().splitlines()[0])["kind"]["payload"]
    assert gap["missing"] == {"kill": 1}


def test_another_instance_of_a_name_keeps_its_own_file(tmp_path: Path) -> None:
    """
    The newest has the plain name; what older ones wrote is found by their instance.
    """
    opened(tmp_path, instance="one").append(Kill())
    opened(tmp_path, instance="two").append(Kill())

    find = journal_files.find
    assert find(str(tmp_path), "work") == find(str(tmp_path), "work", "two")
    assert find(str(tmp_path), "work", "one") == str(tmp_path / "work.one.jsonl")
    assert find(str(tmp_path), "work", "../one") is None
    assert find(str(tmp_path), "nobody") is None


def test_a_journal_follows_its_session_to_another_name(tmp_path: Path) -> None:
    """
    After a renaming the events are found under the new name, and the chain goes on.
    """
    opened(tmp_path, name="play", instance="before").append(Kill())
    journal = opened(tmp_path)
    journal.append(Kill())

    journal.rename("play")
    journal.append(Kill())

    assert kinds(tmp_path / "play.jsonl") == ["kill", "kill"]
    assert kinds(tmp_path / "play.before.jsonl") == ["kill"]
    assert not (tmp_path / "work.jsonl").exists()


def test_intents_without_an_outcome_are_known(tmp_path: Path) -> None:
    """
    Whoever goes on after a crash can say of which input it is unknown whether it arrived.
    """
    journal = opened(tmp_path)
    journal.append(SendKeys(bytes=[], input="text", entered=True))
    journal.close()

    assert opened(tmp_path).unfinished() == [1]


def test_log_37_an_event_costs_the_same_in_a_long_journal(tmp_path: Path) -> None:
    """
    Opening and appending read the end of the file only; a page is found by halving.
    """
    journal = opened(tmp_path)
    for _ in range(5000):
        journal.append(Kill())
    journal.close()
    path = str(tmp_path / "work.jsonl")

    again = opened(tmp_path)
    assert again.append(Kill()) == 5001
    numbers = [
        json.loads(line)["sequence"]
        for line in journal_reader.page(path, after=4990, most_bytes=2000)
    ]
    assert numbers[0] == 4991
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_what_the_disk_did_not_take_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The error of a sync shows until the next event, and a gap stays in the record.
    """

    def broken(_fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    journal = opened(tmp_path)
    journal.append(Kill())
    with monkeypatch.context() as faulty:
        faulty.setattr(os, "fdatasync", broken)
        assert not journal.sync()

    reason = "the disk did not take what was written: Input/output error"
    assert journal.problem == reason
    journal.append(Kill())
    assert journal.problem is None
    assert journal.sync()
    assert kinds(tmp_path / "work.jsonl") == ["kill", "gap", "kill"]
    assert reason in (tmp_path / "work.jsonl").read_text()


def test_two_who_sync_both_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The second must not be told that the disk has what the first is still writing to it.
    """
    journal = Journal(str(tmp_path), name="work", instance="one")
    journal.append(Kill())
    begun, go_on, done = threading.Event(), threading.Event(), list[str]()

    def slow(_fd: int) -> None:
        begun.set()
        go_on.wait(60)
        done.append("disk")

    def follow() -> None:
        journal.sync()
        done.append("second")

    monkeypatch.setattr(os, "fdatasync", slow)
    first = threading.Thread(target=journal.sync)
    second = threading.Thread(target=follow)
    first.start()
    begun.wait(60)
    second.start()
    assert done == []
    go_on.set()
    first.join()
    second.join()

    assert done == ["disk", "second"]
