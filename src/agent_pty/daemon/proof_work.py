"""The work of one proof on files, in a thread: read the record, write and sign the parts."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from agent_pty import __version__, build, log
from agent_pty.core.evidence.cast import BadCast, journal_mark
from agent_pty.core.evidence.claim import Claim
from agent_pty.core.evidence.statement import Predicate, Statement, signed_line
from agent_pty.core.evidence.statement import Subject as Part
from agent_pty.core.evidence.verdict import Verdict
from agent_pty.core.layout import Layout
from agent_pty.core.policy.policy_file import BUILT_IN, Policy
from agent_pty.core.safe import safe_json
from agent_pty.ops.proof_model import Bundle, SegmentDigest, ToolBuild
from agent_pty.proof.build import About, ProofPaths, bundle
from agent_pty.proof.html import html_page
from agent_pty.proof.html_content import HtmlProof
from agent_pty.proof.markdown import markdown
from agent_pty.proof.player_cast import CastSegment, PlayerCast, player_cast
from agent_pty.proof.record import Record
from agent_pty.store import journal_reader
from agent_pty.store import recording as recordings
from agent_pty.store.journal_files import ENDING
from agent_pty.store.proof_files import PARTS, ProofFiles
from agent_pty.store.signing_key import SigningKey, public_keys
from agent_pty.store.verification import read_signed

# A larger recording is not compared with its digests for each proof; `verify` does it.
_MOST_COMPARED = 200_000_000
_MOST_PAGE = 5_000_000
_NO_ROOM = "the page has no room for the recording; it is in the log directory"
_JSON, _MARKDOWN, _HTML = PARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The session that a proof is about; *instance* is empty if its record does not name it."""

    name: str
    instance: str
    journal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A proof that was written; *intact*: events may be added to its journal."""

    bundle: Bundle
    intact: bool


class ProofWork:
    """Made for one proof; `read`, then `write`. *policy* is the one in force now."""

    def __init__(
        self,
        layout: Layout,
        subject: Subject,
        claims: Sequence[Claim],
        policy: Policy = BUILT_IN,
    ) -> None:
        self._layout = layout
        self._subject = subject
        self._record = Record(claims, policy)
        self._verdict: Verdict | None = None
        self._torn = 0
        self._recording = recordings.directory_of(layout.log_dir, subject.instance)
        stem = os.path.basename(subject.journal).removesuffix(ENDING)
        self._files = ProofFiles(directory=layout.proofs, stem=stem)

    @property
    def lacks_screen(self) -> bool:
        """Whether no observation in the record has a screen."""
        return self._record.screen is None

    @property
    def last_event(self) -> int | None:
        """The number of the last event that the proof is about."""
        return None if self._record.last is None else self._record.last.sequence

    def read(self, whole: int | None) -> None:
        """Read the first *whole* bytes of the journal; None: all of it, because it is damaged.

        These bytes never change, so the proof is about one moment, whatever is written meanwhile.
        """
        layout, subject = self._layout, self._subject
        keys = public_keys(layout.keys)
        signed = read_signed(layout.checkpoints, keys, instance=subject.instance)
        lines = journal_reader.prefix_lines(subject.journal, whole)
        verdict = self._record.read(lines, signed.of(subject.instance))
        error = verdict.error or signed.broken or self._recording_error()
        if error is not None and verdict.error is None:
            verdict = Verdict(
                result="failed", count=verdict.count, head=verdict.head, signed=0, error=error
            )
        self._verdict = verdict
        if whole is None:
            self._torn = journal_reader.torn_tail(subject.journal)

    @property
    def _recording_is_compared(self) -> bool:
        return sum(one.bytes for one in self._record.segments.values()) <= _MOST_COMPARED

    def _recording_error(self) -> str | None:
        """Compare the recording with its digests, as far as it is not removed meanwhile."""
        record = self._record
        if not self._recording_is_compared:
            return None
        marks = [msgspec.to_builtins(one) for one in record.segments.values()]
        marks.append({"type": "recording_dropped", "segments": list(record.dropped)})
        error = recordings.problem(self._recording, marks)
        if error is None:
            return None
        later = filter(None, map(journal_mark, journal_reader.lines(self._subject.journal)))
        dropped = [one for one in later if one["type"] == "recording_dropped"]
        return recordings.problem(self._recording, [*marks, *dropped])

    def write(self, screen: str | None) -> Written:
        """Write the parts and the signed statement about them; nothing of it for a bad claim."""
        assert self._verdict is not None  # noqa: S101  for the type checker: read comes first
        key, record = SigningKey(self._layout.keys), self._record
        there = {one.number: one for one in recordings.segments(self._recording)}
        made = bundle(record, self._verdict, self._about(key, screen, set(there)))
        parts = {
            _JSON: _pretty(made),
            _MARKDOWN: markdown(made).encode("utf-8", "replace"),
            _HTML: self._page(made, list(there.values())).encode("utf-8", "replace"),
        }
        subjects = [*self._files.write(parts), self._journal_part(made)]
        subjects += [_recording_part(made, one, there.get(one.segment)) for one in made.recording]
        statement = Statement(subject=subjects, predicate=_predicate(made))
        if made.key_id is not None:
            self._files.write_statement(signed_line(statement, made.key_id, key.sign))
        else:
            self._files.remove_statement()  # it is about other files
        intact = made.log_integrity.verified and not self._torn and bool(made.instance)
        return Written(bundle=made, intact=intact)

    def _about(self, key: SigningKey, screen: str | None, present: set[int]) -> About:
        files = self._files
        return About(
            session_id=self._subject.name,
            instance=self._subject.instance,
            generated_at=dt.datetime.now(dt.UTC).isoformat().replace("+00:00", "Z"),
            paths=ProofPaths(
                journal=self._subject.journal,
                json=files.path(_JSON),
                markdown=files.path(_MARKDOWN),
                html=files.path(_HTML),
                statement=files.statement,
            ),
            tool=ToolBuild(name="agent-pty", version=__version__, build=build.digest()),
            key_id=_key_id(key),
            torn_bytes=self._torn,
            screen=screen,
            segments_present=present,
            recording_compared=self._recording_is_compared,
        )

    def _journal_part(self, made: Bundle) -> Part:
        """Return the journal, of which only the beginning is meant: it may grow afterwards."""
        span = made.event_range
        return Part(
            name=os.path.basename(self._subject.journal),
            digest={"sha256": span.journal_sha256},
            annotations={"bytes": span.journal_bytes, "events": made.event_count},
        )

    def _page(self, made: Bundle, there: Sequence[recordings.Segment]) -> str:
        timeline = self._record.timeline
        shown = HtmlProof(
            bundle=made,
            moments=timeline.moments.items,
            markers=timeline.by_cell,
            cast=player_cast(self._segments(there), timeline.markers),
        )
        page = html_page(shown)
        if len(page.encode("utf-8", "replace")) <= _MOST_PAGE:
            return page
        # Text of which every character must be escaped becomes five times as long.
        return html_page(replace(shown, cast=PlayerCast(data=None, problem=_NO_ROOM)))

    def _segments(self, there: Sequence[recordings.Segment]) -> list[CastSegment]:
        """Return what the player shows: no more than the digests in the journal cover."""
        found = []
        for one in there:
            covered = self._record.segments.get(one.number)
            if covered is None:
                continue
            try:
                header = recordings.read_header(one)
            except (BadCast, OSError) as error:
                log.line(f"daemon: {one.path} is not in the proof's player: {error}")
                continue
            found.append(
                CastSegment(
                    number=one.number,
                    started_ns=header.agent_pty.monotonic_ns,
                    rows=header.term.rows,
                    cols=header.term.cols,
                    entries=recordings.read_moments(one, covered.bytes),
                )
            )
        return found


def _recording_part(made: Bundle, one: SegmentDigest, there: recordings.Segment | None) -> Part:
    """Return a segment by its text; of one that is compressed already, also the file itself.

    A changed bit in the frame of a compressed file need not change the text.
    """
    file = None if there is None else recordings.compressed_digest(there)
    compressed = {} if file is None else {"compressed_sha256": file}
    return Part(
        name=f"recordings/{made.instance}/recording-{one.segment:06}.cast",
        digest={"sha256": one.sha256},
        annotations={"bytes": one.bytes, "segment": one.segment, **compressed},
    )


def _key_id(key: SigningKey) -> str | None:
    """Return the name of the key; None: there is none that can sign."""
    try:
        return key.id
    except (OSError, ValueError) as error:
        log.line(f"daemon: proofs are not signed: {error!r}")
        return None


def _pretty(made: Bundle) -> bytes:
    text = msgspec.json.format(msgspec.json.encode(made), indent=2).decode()
    return safe_json(text).encode() + b"\n"


def _predicate(made: Bundle) -> Predicate:
    integrity, span = made.log_integrity, made.event_range
    return Predicate(
        session_id=made.session_id,
        instance=made.instance,
        generated_at=made.generated_at,
        first_event=span.first,
        last_event=span.last,
        event_count=made.event_count,
        signed_count=integrity.signed_count,
        head_hash=integrity.head_hash,
        verdict=integrity.verdict,
        first_error=integrity.first_error,
        policy_hash=made.policy_hash,
        tool=msgspec.to_builtins(made.tool),
        claims={one.claim: one.result for one in made.claims},
    )
