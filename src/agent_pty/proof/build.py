"""The bundle of a session, made of its record and of what is known beside it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from agent_pty.core.evidence.verdict import Verdict
from agent_pty.ops.proof_model import (
    Bundle,
    EventRange,
    Integrity,
    Omitted,
    SegmentDigest,
    ToolBuild,
)
from agent_pty.proof.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofPaths:
    """Where the parts are."""

    journal: str
    json: str
    markdown: str
    html: str
    statement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the record itself does not say."""

    session_id: str
    instance: str
    generated_at: str
    paths: ProofPaths
    tool: ToolBuild
    key_id: str | None
    torn_bytes: int
    # The screen as the recording has it, for a session in which nobody has waited.
    screen: str | None
    segments_present: Collection[int]
    # False: it is too large to be read for every proof.
    recording_compared: bool


def bundle(record: Record, verdict: Verdict, about: About) -> Bundle:
    """Put everything together."""
    failed = verdict.result == "failed"
    tree = record.files.state
    screen = record.screen if record.screen is not None else about.screen
    claims = [one.result(whole=not failed and not record.unreadable) for one in record.claims]
    ending = record.ending
    return Bundle(
        session_id=about.session_id,
        generated_at=about.generated_at,
        event_count=record.lines,
        commands_run=record.commands.run.items,
        files_changed=record.files.files,
        risk_flags=record.risks.flags(*_doubts(record, verdict, about)),
        latest_git_status=None if tree is None else tree.status_short,
        git_diff=record.files.diff,
        screen_tail=screen or "",
        log_integrity=_integrity(record, verdict, about),
        log_path=about.paths.journal,
        json_path=about.paths.json,
        markdown_path=about.paths.markdown,
        html_path=about.paths.html,
        statement_path=about.paths.statement,
        key_id=about.key_id,
        instance=about.instance,
        event_range=_range(record),
        tool=about.tool,
        argv=record.argv,
        cwd=record.cwd,
        state=record.state,
        exit_code=None if ending is None else ending.exit_code,
        signal=None if ending is None else ending.signal,
        cells=record.commands.cells.items,
        approvals=record.fences.approvals.items,
        attached=record.people.attached.items,
        typed=record.people.typed,
        gate_coverage=record.fences.coverage.items,
        programs_run=record.commands.programs,
        guarded_execs=record.fences.execs.items,
        secrets_redacted=dict(sorted(record.secrets.items())),
        policy_hash=record.fences.policy_hash,
        staged_diff=record.files.staged_diff,
        branch=None if tree is None else tree.branch,
        head_commit=None if tree is None else tree.head_commit,
        screen_source=_screen_source(record, screen),
        recording=_segments(record, about),
        claims=claims,
        omitted=_omitted(record),
    )


def _screen_source(
    record: Record, screen: str | None
) -> Literal["observation", "recording"] | None:
    if screen is None:
        return None
    return "observation" if record.screen is not None else "recording"


def _integrity(record: Record, verdict: Verdict, about: About) -> Integrity:
    return Integrity(
        verified=verdict.result != "failed",
        event_count=verdict.count,
        head_hash=verdict.head,
        first_error=verdict.error,
        verdict=verdict.result,
        signed_count=verdict.signed,
        unreadable_events=record.unreadable,
        torn_bytes=about.torn_bytes,
    )


def _range(record: Record) -> EventRange:
    first, last = record.first, record.last
    return EventRange(
        first=None if first is None else first.sequence,
        last=None if last is None else last.sequence,
        first_at=None if first is None else first.timestamp,
        last_at=None if last is None else last.timestamp,
        journal_bytes=record.journal_bytes,
        journal_sha256=record.journal_sha256,
    )


def _doubts(record: Record, verdict: Verdict, about: About) -> list[str]:
    """Say what is wrong with the record as a whole."""
    found = []
    if verdict.result == "failed":
        found.append(f"the record is damaged: {verdict.error}")
    if record.unreadable:
        found.append(f"events that cannot be read: {record.unreadable}")
    if about.torn_bytes:
        found.append(f"an unfinished event stands at the end: {about.torn_bytes} bytes")
    if not about.recording_compared:
        found.append("the recording is too large to be compared here: agent-pty verify does it")
    if record.state == "lost":
        found.append("the session was lost: how its program ended is not known")
    return found


def _segments(record: Record, about: About) -> list[SegmentDigest]:
    return [
        SegmentDigest(
            segment=number,
            bytes=one.bytes,
            sha256=one.sha256,
            sealed=one.sealed,
            present=number in about.segments_present,
        )
        for number, one in sorted(record.segments.items())
        if number not in record.dropped
    ]


def _omitted(record: Record) -> dict[str, Omitted]:
    commands, fences = record.commands, record.fences
    return {
        **commands.run.omitted("commands_run"),
        **commands.cells.omitted("cells"),
        **record.files.omitted,
        **fences.approvals.omitted("approvals"),
        **fences.coverage.omitted("gate_coverage"),
        **fences.execs.omitted("guarded_execs"),
        **record.people.attached.omitted("attached"),
        **record.timeline.moments.omitted("timeline"),
    }
