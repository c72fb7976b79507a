"""The bundle that `proof` makes: the contract's keys in the contract's order, then ours."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

FORMAT = 1

Answer = Literal["true", "false", "undecidable"]
Verdict = Literal["verified", "verified_to_checkpoint", "failed"]


class ProvedFile(Struct, frozen=True, kw_only=True):
    """A file that a snapshot of the work tree named, with its last status.

    *before*: it was so already when the session began; *reverted*: in the end it was unchanged.
    """

    path: str
    status: str
    before: bool
    reverted: bool


class Integrity(Struct, frozen=True, kw_only=True):
    """Whether the record is what was written; *signed_count* of its events are signed."""

    verified: bool
    event_count: int
    head_hash: str | None
    first_error: str | None
    verdict: Verdict
    signed_count: int
    unreadable_events: int
    torn_bytes: int


class ProvedCell(Struct, frozen=True, kw_only=True):
    """A command of a cell; null: it had not ended, or nobody knows."""

    cell_id: str
    code: str
    status: str | None
    exit_code: int | None
    duration_ms: int | None
    output: str | None
    output_bytes: int | None
    started_event: int | None
    finished_event: int | None
    started_at: str | None
    by: str | None
    programs: dict[str, int] = {}


class PolicyEvent(Struct, frozen=True, kw_only=True):
    """Something that a rule refused, or that somebody permitted or asked for."""

    event: int
    at: str
    what: Literal["denied", "requested", "granted", "refused", "approved", "reloaded"]
    rule: str
    command: str
    by: str | None = None
    approval_id: str | None = None
    reason: str | None = None


class Attached(Struct, frozen=True, kw_only=True):
    """A person attached."""

    event: int
    at: str
    read_only: bool
    by: str | None


class Typist(Struct, frozen=True, kw_only=True):
    """Who typed, how often, and from when to when."""

    by: str
    kind: str | None
    inputs: int
    bytes: int
    first_event: int
    last_event: int
    first_at: str
    last_at: str


class GateCoverage(Struct, frozen=True, kw_only=True):
    """Which fences stood from an event on; `guard` null: no exec was judged."""

    from_event: int
    at: str
    line: str | None
    guard: str | None
    policy_hash: str | None
    reason: str | None


class ProvedExec(Struct, frozen=True, kw_only=True):
    """A program that a rule is about, as the guard saw it."""

    event: int
    at: str
    argv: list[str]
    cwd: str | None
    rule: str
    result: str
    cell_id: str | None


class SegmentDigest(Struct, frozen=True, kw_only=True):
    """A segment of the recording, and the digest of its first *bytes* as the journal has it."""

    segment: int
    bytes: int
    sha256: str
    sealed: bool
    present: bool


class Omitted(Struct, frozen=True, kw_only=True):
    """How much is not in the bundle, and the digest of that; null: nobody read it."""

    count: int | None
    sha256: str | None
    note: str


class ClaimResult(Struct, frozen=True, kw_only=True):
    """Whether a claim holds, why, and the events that show it."""

    claim: str
    result: Answer
    reason: str
    events: list[int]


class ToolBuild(Struct, frozen=True, kw_only=True):
    """What made the bundle."""

    name: str
    version: str
    build: str


class EventRange(Struct, frozen=True, kw_only=True):
    """The events that the bundle is about; `journal_bytes` of the journal are they."""

    first: int | None
    last: int | None
    first_at: str | None
    last_at: str | None
    journal_bytes: int
    journal_sha256: str


class Bundle(Struct, frozen=True, kw_only=True):
    """A proof of a session: what was done in it, as it was recorded."""

    session_id: str
    generated_at: str
    event_count: int
    commands_run: list[str]
    files_changed: list[ProvedFile]
    risk_flags: list[str]
    latest_git_status: str | None
    git_diff: str | None
    screen_tail: str
    log_integrity: Integrity
    log_path: str
    json_path: str
    markdown_path: str
    html_path: str
    format: int = FORMAT
    statement_path: str
    key_id: str | None
    instance: str
    event_range: EventRange
    tool: ToolBuild
    argv: list[str] | None
    cwd: str | None
    state: Literal["running", "exited", "lost"]
    exit_code: int | None
    signal: int | None
    cells: list[ProvedCell]
    approvals: list[PolicyEvent]
    attached: list[Attached]
    typed: list[Typist]
    gate_coverage: list[GateCoverage]
    programs_run: dict[str, int]
    guarded_execs: list[ProvedExec]
    secrets_redacted: dict[str, int]
    policy_hash: str | None
    staged_diff: str | None
    branch: str | None
    head_commit: str | None
    screen_source: Literal["observation", "recording"] | None
    recording: list[SegmentDigest]
    claims: list[ClaimResult]
    omitted: dict[str, Omitted]
    # Of this answer alone: how many entries or lines a key has lost; the file has all of them.
    left_out: dict[str, Any] = {}
