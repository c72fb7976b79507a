"""What the daemon may ask of a host: a stated set of messages, each with the type of its answer.

On the wire a message is one line of JSON; a request of a client follows it as the same bytes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import Struct

from agent_pty.core.evidence import event as evidence
from agent_pty.host.principal import Kind, Principal
from agent_pty.ops.approval import Denied, Granted, Pending
from agent_pty.ops.model import Described, HostReport, Killed, Process
from agent_pty.ops.past_screen import PastForm, PastScreen
from agent_pty.ops.secret import Entered

Answer = TypeVar("Answer")


class Caller(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a request came in, as the daemon's transport saw it."""

    transport: str
    uid: int | None = None
    pid: int | None = None
    terminal: bool = False

    def acting_as(self, kind: Kind) -> Principal:
        """Return the principal of a request."""
        return Principal(
            kind=kind,
            transport=self.transport,
            uid=self.uid,
            pid=self.pid,
            terminal=self.terminal,
        )


class Addressed(Struct, frozen=True, kw_only=True, tag_field="control", tag="request"):
    """The payload that follows is a request for one session; *name* is for messages."""

    instance: str
    name: str
    caller: Caller


class AddressedStream(Addressed, frozen=True, kw_only=True, tag="stream"):
    """The payload that follows opens a stream of one session."""


class Control(Struct, Generic[Answer], frozen=True, kw_only=True, tag_field="control"):
    """Base of questions about a host and its sessions; *answer* is the type of the answer."""

    answer: ClassVar[Any] = None


class AwaitOpened(Control[Described], frozen=True, kw_only=True, tag="opened"):
    """Answer once the host reads the terminal of a session."""

    answer: ClassVar[Any] = Described
    instance: str


class Describe(Control[HostReport], frozen=True, kw_only=True, tag="describe"):
    """Describe the host and all its sessions."""

    answer: ClassVar[Any] = HostReport


class CountMembers(Control[int], frozen=True, kw_only=True, tag="members"):
    """Count the living processes of a session."""

    answer: ClassVar[Any] = int
    instance: str


class Kill(Control[Killed], frozen=True, kw_only=True, tag="kill"):
    """End a session's process tree."""

    answer: ClassVar[Any] = Killed
    instance: str


class KillAll(Control[list[Process]], frozen=True, kw_only=True, tag="kill_all"):
    """End every process tree; answer with the survivors."""

    answer: ClassVar[Any] = list[Process]


class Forget(Control[None], frozen=True, kw_only=True, tag="forget"):
    """Free a session and remove its files."""

    instance: str


class Rename(Control[None], frozen=True, kw_only=True, tag="rename"):
    """Give a session another name."""

    instance: str
    name: str


class GiveCustody(Control[int], frozen=True, kw_only=True, tag="custody"):
    """Give a duplicate of every terminal to a keeper that knows none of them."""

    answer: ClassVar[Any] = int


class NoteRelease(Control[None], frozen=True, kw_only=True, tag="note_release"):
    """Record that a pane that was adopted is given back."""

    instance: str


class AskExports(Control[list[bytes] | None], frozen=True, kw_only=True, tag="ask_exports"):
    """Return what the shell of a session exports now, as `NAME=value`; null: it cannot be asked."""

    answer: ClassVar[Any] = list[bytes] | None
    instance: str


class Watch(Control[None], frozen=True, kw_only=True, tag="watch"):
    """Send the events of all sessions on this connection, or stop that."""

    on: bool


class PastEvents(Struct, frozen=True, kw_only=True):
    """Events that are kept, as watchers get them, and how many before them are not."""

    events: list[dict[str, Any]]
    missed: int


class EventsSince(Control[PastEvents], frozen=True, kw_only=True, tag="events"):
    """Return the events of a session after a number."""

    answer: ClassVar[Any] = PastEvents
    instance: str
    number: int


class SettleEvidence(Control[None], frozen=True, kw_only=True, tag="settle_evidence"):
    """Let the journal say how the work tree and the recording are now: a proof is made of it."""

    instance: str


class NoteProof(Control[None], frozen=True, kw_only=True, tag="note_proof"):
    """Record that a proof of a session was written."""

    instance: str
    json_path: str
    markdown_path: str
    html_path: str
    by: Caller


class ShowPast(Control[PastScreen], frozen=True, kw_only=True, tag="past_screen"):
    """Draw the screen of a past moment, also of a session that this host does not have."""

    answer: ClassVar[Any] = PastScreen
    name: str
    instance: str
    monotonic_ns: int | None
    time: float | None
    form: PastForm


class UsePolicy(Control[None], frozen=True, kw_only=True, tag="policy"):
    """Let these rules count from now on; *text* is a policy file, null: the built-in ones."""

    text: str | None
    path: str


class Approve(Control[Granted], frozen=True, kw_only=True, tag="approve"):
    """Approve a command of a session before it is sent."""

    answer: ClassVar[Any] = Granted
    instance: str
    command: str
    rule: str | None
    ttl_ms: int
    by: Principal


class Grant(Control[Granted], frozen=True, kw_only=True, tag="grant"):
    """Approve what somebody asked for."""

    answer: ClassVar[Any] = Granted
    instance: str
    request: str
    by: Principal


class Deny(Control[Denied], frozen=True, kw_only=True, tag="deny"):
    """Say no to what somebody asked for."""

    answer: ClassVar[Any] = Denied
    instance: str
    request: str
    by: Principal


class PendingApprovals(Control[list[Pending]], frozen=True, kw_only=True, tag="approvals"):
    """Return the requests of all sessions that wait for an operator."""

    answer: ClassVar[Any] = list[Pending]


class RefusedOperator(Control[None], frozen=True, kw_only=True, tag="refused_operator"):
    """Record that something inside of a session asked for what only operators may ask for."""

    instance: str
    op: str
    by: Principal


class EnterSecret(Control[Entered], frozen=True, kw_only=True, tag="secret"):
    """Type a secret into a session that asks for one."""

    answer: ClassVar[Any] = Entered
    instance: str
    value: str
    by: Principal


class NoteEvent(Control[None], frozen=True, kw_only=True, tag="note"):
    """Record something that the daemon has done with a session."""

    instance: str
    caller: Caller
    action: evidence.Fork | evidence.Notify


class Leave(Control[None], frozen=True, kw_only=True, tag="leave"):
    """End the host; the terminals stay with the keeper."""


AnyControl = (
    AwaitOpened
    | Describe
    | CountMembers
    | Kill
    | KillAll
    | Forget
    | Rename
    | GiveCustody
    | NoteRelease
    | AskExports
    | Watch
    | EventsSince
    | SettleEvidence
    | NoteProof
    | ShowPast
    | UsePolicy
    | Approve
    | Grant
    | Deny
    | PendingApprovals
    | RefusedOperator
    | EnterSecret
    | NoteEvent
    | Leave
)
Message = Addressed | AddressedStream | AnyControl

_decoder = msgspec.json.Decoder(Message)


def encoded(message: Message, payload: bytes = b"") -> bytes:
    """Return the body of a frame."""
    return msgspec.json.encode(message) + b"\n" + payload


def decoded(body: bytes) -> tuple[Message, bytes]:
    """Return the message in a frame's body, and the payload after it."""
    line, _, payload = body.partition(b"\n")
    return _decoder.decode(line), payload
