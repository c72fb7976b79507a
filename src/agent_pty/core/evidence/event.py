"""The events of a journal: the seed's fields in the seed's order, then ours."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

VERSION = 1


class Duration(Struct, frozen=True):
    """A length of time, as the seed writes it."""

    secs: int
    nanos: int


class Action(Struct, frozen=True, kw_only=True, tag_field="type", tag=True):
    """Something that was done; the tag is its name in the journal."""


class Exec(Action, frozen=True, kw_only=True, tag="exec"):
    """A program was started."""

    argv: list[str]
    cwd: str


class SendKeys(Action, frozen=True, kw_only=True, tag="send_keys"):
    """Input is about to be typed; written before the first byte is.

    *bytes* is the redacted text. A piece that does not end its line is held back: *held* of its
    bytes are recorded with the piece that ends the line.
    """

    bytes: list[int]
    input: str
    entered: bool
    held: int = 0


class Outcome(Action, frozen=True, kw_only=True, tag="outcome"):
    """What became of the input of event *of*."""

    of: int
    result: Literal["delivered", "failed", "unknown"]
    error: str | None = None


class SnapshotFiles(Action, frozen=True, kw_only=True, tag="snapshot_files"):
    """The work tree is not as it was; the event's `git_snapshot` says how it is.

    *globs* are names of files that differ from the last commit, of *changed* such files.
    """

    globs: list[str]
    changed: int


class WaitFor(Action, frozen=True, kw_only=True, tag="wait_for"):
    """Somebody waits for a condition; what was seen at the end is an observation."""

    predicate: dict[str, Any]
    timeout: Duration


class Kill(Action, frozen=True, kw_only=True, tag="kill"):
    """The session was ended with all its processes."""

    signal: str = "kill"


class IdleStop(Action, frozen=True, kw_only=True, tag="idle_stop"):
    """The session is ended because nobody has used it for *idle_s* seconds."""

    limit_s: float
    idle_s: float


class AttachHuman(Action, frozen=True, kw_only=True, tag="attach_human"):
    """A person attached."""

    read_only: bool


class Exited(Action, frozen=True, kw_only=True, tag="exited"):
    """The program ended; null: how is not known."""

    exit_code: int | None
    signal: int | None
    # How often the terminal answered a question of a program; what it answered is not recorded.
    device_replies: int = 0


class Resize(Action, frozen=True, kw_only=True, tag="resize"):
    """The terminal has another size."""

    rows: int
    cols: int


class SentSignal(Action, frozen=True, kw_only=True, tag="signal"):
    """Processes got a signal."""

    signal: str
    pids: list[int]


class Rename(Action, frozen=True, kw_only=True, tag="rename"):
    """The session has another name."""

    name: str


class Notify(Action, frozen=True, kw_only=True, tag="notify"):
    """Somebody left a note."""

    who: str = msgspec.field(name="from")
    message: str


class CellStarted(Action, frozen=True, kw_only=True, tag="cell_started"):
    """A command of a cell begins; *code* is shortened if it is very long."""

    cell_id: str
    code: str


class CellFinished(Action, frozen=True, kw_only=True, tag="cell_finished"):
    """A command of a cell has ended, or is no longer waited for.

    *output* is the end of what it wrote, which had *output_bytes* in all; null: not known.
    """

    cell_id: str
    status: str
    exit_code: int | None
    duration_ms: int | None
    output: str | None
    output_bytes: int | None


class SecretEntered(Action, frozen=True, kw_only=True, tag="secret_entered"):
    """A line of so many bytes was typed that the terminal did not show: a password."""

    bytes: int


class MarkForged(Action, frozen=True, kw_only=True, tag="mark_forged"):
    """The program wrote marks with a wrong secret; they had no effect."""

    count: int


class Recording(Action, frozen=True, kw_only=True, tag="recording"):
    """So much of a segment of the recording was written; *sealed*: it has ended.

    *sha256* is the digest of its first *bytes*, uncompressed.
    """

    segment: int
    bytes: int
    sha256: str
    sealed: bool


class RecordingGap(Action, frozen=True, kw_only=True, tag="recording_gap"):
    """So much output is in no segment; null: nobody knows how much."""

    bytes: int | None
    reason: str


class RecordingDropped(Action, frozen=True, kw_only=True, tag="recording_dropped"):
    """Segments were removed, because the recording had become larger than *budget* bytes."""

    segments: list[int]
    budget: int


class HostRecovered(Action, frozen=True, kw_only=True, tag="host_recovered"):
    """Another host continues the session."""


class Recovery(Action, frozen=True, kw_only=True, tag="recovery"):
    """The end of the journal was torn: *bytes* of it were set aside in *file*."""

    bytes: int
    file: str


class Gap(Action, frozen=True, kw_only=True, tag="gap"):
    """The journal could not be written for a while.

    *missing* counts by their type the events of what happened all the same, *refused* the inputs
    that were not typed because of it.
    """

    missing: dict[str, int]
    refused: int
    reason: str


class Lost(Action, frozen=True, kw_only=True, tag="host_lost"):
    """The session can no longer be followed."""

    diagnosis: str


class GateStands(Action, frozen=True, kw_only=True, tag="gate"):
    """Which fences stand around the session from here on.

    *line*: how lines are judged: `asked` of the shell, `modelled` by us. *guard*: which execs are
    judged; null: none are, for *reason*.
    """

    line: Literal["asked", "modelled"]
    guard: Literal["strict", "builds"] | None
    policy_hash: str
    reason: str | None = None


class PolicyDenied(Action, frozen=True, kw_only=True, tag="policy_denied"):
    """Something was refused; *request*: the request for an approval that was made of it.

    *span* is the place of the reason in *command*, *gate* what refused it.
    """

    command: str
    rule: str
    span: list[int] | None
    reason: str | None
    policy_hash: str
    gate: Literal["line", "guard", "start"]
    request: str | None = None


class PolicyApprovalRequested(Action, frozen=True, kw_only=True, tag="policy_approval_requested"):
    """Somebody asks that something be permitted."""

    command: str
    rule: str
    approval_id: str
    expires_at: str
    policy_hash: str


class PolicyApprovalCreated(Action, frozen=True, kw_only=True, tag="policy_approval_created"):
    """Something was permitted once; the token is nowhere in the record."""

    command: str
    rule: str
    approval_id: str
    expires_at: str
    approver: dict[str, Any]
    policy_hash: str
    # Whoever asked for it may grant it: the policy file says so.
    self_approval: bool = False


class PolicyApprovalDenied(Action, frozen=True, kw_only=True, tag="policy_approval_denied"):
    """Somebody said no to a request, or a token was not accepted."""

    command: str
    rule: str
    approval_id: str | None
    approver: dict[str, Any] | None
    reason: str


class PolicyApproved(Action, frozen=True, kw_only=True, tag="policy_approved"):
    """Something that was permitted is about to be done.

    *cwd* is the directory that the approval was bound to, *how* the way in which it came: with a
    token, by the decision of an operator, of the person attached, or of an MCP client's user.
    """

    command: str
    rule: str
    approval_id: str
    span: list[int] | None
    approver: dict[str, Any] | None
    policy_hash: str
    how: Literal["token", "request", "attach", "user"]
    cwd: str | None = None
    sha256: str | None = None


class PolicyReloaded(Action, frozen=True, kw_only=True, tag="policy_reloaded"):
    """Other rules are in force."""

    old_hash: str
    new_hash: str


class GuardedExec(Action, frozen=True, kw_only=True, tag="guarded_exec"):
    """A program that a rule is about was stopped before it ran, or was let go.

    *pid* wanted to execute *argv*; *cell_id*: the cell that ran then, if one did. *request*: what
    an operator was asked, if it waited.
    """

    argv: list[str]
    cwd: str | None
    pid: int
    rule: str
    result: Literal["denied", "held", "approved", "refused", "expired", "covered", "recorded"]
    cell_id: str | None
    request: str | None = None


class GuardedPrograms(Action, frozen=True, kw_only=True, tag="guarded_programs"):
    """How often programs were executed since the last such event, by their path."""

    programs: dict[str, int]
    cell_id: str | None


class Fork(Action, frozen=True, kw_only=True, tag="fork"):
    """Another session continues from this one."""

    source: str
    target: str
    workspace: str


class Proof(Action, frozen=True, kw_only=True, tag="proof"):
    """A proof of the session was written."""

    json_path: str
    markdown_path: str
    html_path: str


class Observation(Struct, frozen=True, kw_only=True):
    """What a wait saw when it ended: the seed's fields, then ours."""

    screen_text: str | None
    stdout_tail: str
    stderr_tail: str
    exit_status: int | None
    files_changed: list[Any] | None
    git_snapshot: Any
    process_snapshot: Any
    # The condition that came true; empty if none did.
    matched: str
    cursor: int


class ActionKind(Struct, frozen=True, kw_only=True, tag_field="event_type", tag="action"):
    """The envelope of an action."""

    payload: Action


class ObservationKind(Struct, frozen=True, kw_only=True, tag_field="event_type", tag="observation"):
    """The envelope of an observation."""

    payload: Observation


def type_of(payload: Action | Observation) -> str:
    """Return what an event is called where events are counted."""
    return "observation" if isinstance(payload, Observation) else str(payload.__struct_config__.tag)


class Recorded(Struct, frozen=True, kw_only=True):
    """One line of a journal; *redacted* counts the secrets that were taken out of it, by kind."""

    id: str
    session_id: str
    timestamp: str
    kind: ActionKind | ObservationKind
    git_snapshot: Any
    sequence: int
    version: int
    instance: str
    monotonic_ns: int
    principal: dict[str, Any] | None
    redacted: dict[str, int] | UnsetType = UNSET
    previous_hash: str | UnsetType = UNSET
    event_hash: str = ""


def encoded(event: Recorded) -> bytes:
    """Return a line whose hash is still empty."""
    return msgspec.json.encode(event)
