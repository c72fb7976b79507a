"""Whether journals are what was signed: the files of `agent-pty verify` and of `gc`."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET

from agent_pty.core.evidence.cast import journal_mark
from agent_pty.core.evidence.checkpoint import BadCheckpoint, Checkpoint, checked
from agent_pty.core.evidence.verdict import Verdict, judged
from agent_pty.store import checkpoints, journal_files, journal_reader
from agent_pty.store import recording as recordings
from agent_pty.store.signing_key import is_signed

Keys = Mapping[str, bytes]
# Called for every line that is read; raises if whoever asked does not want to know any more.
Pause = Callable[[], None]
# Where a line begins in its file, and how long it is.
Place = tuple[int, int]


_EXITED = b'"type":"exited"'


def go_on() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """The checkpoints of a file by instance, and their places; *broken* says where its chain is."""

    path: str
    by_instance: Mapping[str, list[Checkpoint]] = field(default_factory=dict)
    places: Mapping[str, list[Place]] = field(default_factory=dict)
    broken: str | None = None
    # Keys that were gone without having named their successors.
    lost_keys: Sequence[str] = ()

    def of(self, instance: str | None) -> list[Checkpoint]:
        """Return the checkpoints of one instance."""
        return self.by_instance.get(instance or "", [])

    def name_of(self, instance: str) -> str:
        """Return what a session was last called."""
        return self.of(instance)[-1].name

    def removal_of(self, instance: str) -> Checkpoint | None:
        """Return the checkpoint that says that a journal was removed; None: it was not."""
        found = [one for one in self.of(instance) if one.removed is not UNSET]
        return found[-1] if found else None

    @property
    def names(self) -> dict[str, str]:
        """What the sessions whose journals should be there were last called, by instance."""
        there = [one for one in self.by_instance if self.removal_of(one) is None]
        there.sort(key=lambda one: self.of(one)[-1].number)
        return {instance: self.name_of(instance) for instance in there}

    def lines_of(self, instance: str) -> Iterator[bytes]:
        """Read the checkpoints of one instance again, as they are stored."""
        if self.places.get(instance):
            with open(self.path, "rb") as file:
                for start, length in self.places[instance]:
                    file.seek(start)
                    yield file.read(length)


def read_signed(
    path: str,
    keys: Keys,
    *,
    excerpt: bool = False,
    instance: str | None = None,
    pause: Pause = go_on,
) -> Signed:
    """Check a file of checkpoints; if its chain is broken, nothing of it counts.

    With *instance* only the signatures of that one's checkpoints are checked. They cover all that
    stand before them, because each has the digest of the one before it.
    """
    known, place = dict(keys), (0, -1)

    def signature_fits(key: str, signature: bytes, data: bytes) -> bool | None:
        if instance is not None and f'"instance":"{instance}"'.encode() not in data:
            return True
        return is_signed(known, key, signature, data)

    def lines() -> Iterator[bytes]:
        nonlocal place
        for line in _pausing(checkpoints.lines(path), pause):
            place = (place[0] + place[1] + 1, len(line))
            yield line

    found: defaultdict[str, list[Checkpoint]] = defaultdict(list)
    places: defaultdict[str, list[Place]] = defaultdict(list)
    lost: list[str] = []
    try:
        for one in checked(lines(), signature_fits, excerpt=excerpt):
            found[one.instance].append(_lean(one))
            places[one.instance].append(place)
            if one.key_change is not UNSET and one.key_change.reason == "lost":
                lost.append(one.key_change.before)
    except BadCheckpoint as bad:
        return Signed(path=path, broken=f"checkpoint {bad.number}: {bad.reason}")
    return Signed(path=path, by_instance=dict(found), places=dict(places), lost_keys=lost)


def _lean(one: Checkpoint) -> Checkpoint:
    """Drop what was needed for the check alone: a home may have 100,000 of them."""
    return msgspec.structs.replace(
        one,
        origin="",
        instance=sys.intern(one.instance),
        name=sys.intern(one.name),
        key=sys.intern(one.key),
        previous="",
        signature="",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was found of a file; *torn* bytes of an unfinished event stand at its end.

    *segments* of the recording were checked; None: it was not looked for.
    """

    verdict: Verdict
    torn: int
    segments: int | None = None


def verified(
    path: str, signed: Signed, *, recording: str | None = None, pause: Pause = go_on
) -> Verified:
    """Check a journal from its beginning to its end, and the *recording* in that directory."""
    mine = signed.of(journal_files.instance_of(path))
    marks: list[dict[str, Any]] = []
    ends: list[bytes] = []
    lines = _collecting(_pausing(journal_reader.lines(path), pause), marks, ends)
    verdict = judged(lines, mine)
    error = signed.broken
    if recording is not None and error is None and verdict.error is None:
        error = recordings.problem(recording, marks)
        if error is None and ends:
            error = recordings.added(recording, marks)
    if error is not None and verdict.error is None:
        verdict = Verdict(
            result="failed", count=verdict.count, head=verdict.head, signed=0, error=error
        )
    return Verified(
        verdict=verdict,
        torn=journal_reader.torn_tail(path),
        segments=None if recording is None else len({one.get("segment") for one in marks} - {None}),
    )


def recording_beside(path: str, log_dir: str, instance: str | None) -> str | None:
    """Return the directory of a journal's recording; *instance*, if known, is whose it is.

    None: the journal is a copy, and the recording was not copied with it.
    """
    instance, directory = instance or journal_files.instance_of(path), os.path.dirname(path)
    if instance is None:
        return None
    found = recordings.directory_of(directory, instance)
    return found if directory == log_dir or os.path.isdir(found) else None


def _collecting(
    lines: Iterable[bytes], marks: list[dict[str, Any]], ends: list[bytes]
) -> Iterator[bytes]:
    """Keep what a journal says of its recording, and of the end of its session."""
    for line in lines:
        if _EXITED in line:
            ends.append(line)
        mark = journal_mark(line)
        if mark is not None:
            marks.append(mark)
        yield line


def _pausing(lines: Iterable[bytes], pause: Pause) -> Iterator[bytes]:
    for line in lines:
        pause()
        yield line
