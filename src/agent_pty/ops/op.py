"""What an op is, and the shape of every answer."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from agent_pty import log
from agent_pty.core.command import Command
from agent_pty.errors import AgentPtyError, BadRequest, Busy, DiskFull, Internal, unwrapped

# What client and daemon must agree on; a request may name it in `v`.
PROTOCOL = 1
# Larger requests are refused by every transport.
LARGEST_REQUEST = 8 * 1024 * 1024
# Larger answers are returned in pages, by cursor.
LARGEST_PAGE = 256 * 1024

# A key that begins so is forgotten a minute after its answer: it serves only to ask again when the
# connection was lost.
PASSING = "~"
# What the system reports when something has run out.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})

Cursor = Annotated[int, msgspec.Meta(ge=0)]
Where = Literal["daemon", "session"]
Carries = Literal["lines", "bytes"]
Surface = Literal["socket", "http", "mcp", "python"]
# Agents may ask for what works in sessions; what decides about them is for operators.
Audience = Literal["agent", "operator"]
EVERYWHERE: frozenset[Surface] = frozenset({"socket", "http", "mcp", "python"})


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every request; its docstring is the help text everywhere."""


class Keyed(Request, frozen=True, kw_only=True):
    """Base of requests that are carried out once for each *key*.

    A repeated key returns the first answer with `replayed: true` and does nothing; while the
    first request still runs, it waits for that answer.
    """

    key: str | None = None


class Mutation(Keyed, frozen=True, kw_only=True):
    """Base of requests that change something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One line of the table: what may be asked, who answers, and the name of the answer."""

    name: str
    answer: str
    request: type[Request]
    where: Where
    # Returns the result. For a stream of a session that is an async iterator of bytes; for a
    # stream of the daemon it must be awaited first.
    handler: Callable[[Any, Any], Any]
    stream: bool = False
    # What a stream consists of: JSON in lines, or what a terminal shows.
    carries: Carries = "lines"
    # It waits for something outside and is cancelled when its caller disconnects. Any other
    # change is carried out to its end.
    waits: bool = False
    # Asked again with its key after a crash, it takes up what was begun; nothing happens twice.
    continues: bool = False
    # Its answer has a secret: it is kept in memory only, and not for long.
    secret: bool = False
    # The handler for that case, if it differs.
    resume: Callable[[Any, Any], Any] | None = None
    # What is still to be done once the answer is kept under its key.
    afterwards: Callable[[Any, Any, Any], Any] | None = None
    # Where it can be asked for, and by whom. Over HTTP and MCP the caller counts as an agent.
    surfaces: frozenset[Surface] = EVERYWHERE
    audience: Audience = "agent"
    # It decides about what agents may do: every surface has it, and only operators may use it,
    # unless the policy lets agents approve what they do.
    grants: bool = False
    # Whether a request leaves a span in the trace; streams never do.
    traced: bool = True
    # The name of its tool for MCP clients, as the seed has it; without one it is no tool.
    tool: str | None = None
    # How it is called on the command line; an op without a command is for programs only.
    commands: Sequence[Command] = ()

    def offered(self, surface: Surface) -> bool:
        """Whether callers on this surface may ask for it."""
        trusted = surface in {"socket", "python"}
        return surface in self.surfaces and (trusted or self.audience == "agent")

    @property
    def mutates(self) -> bool:
        """Whether the op changes something."""
        return issubclass(self.request, Mutation)

    @property
    def keyed(self) -> bool:
        """Whether the op takes an idempotency key."""
        return issubclass(self.request, Keyed)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What routing must know about any request."""

    op: str
    id: str | None = None
    key: str | None = None
    v: int | None = None
    # A wrong one is ignored, so any value is accepted.
    traceparent: Any = None


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The inner object: a type, and content if the type has any."""

    type: str
    data: Any = None


class Success(msgspec.Struct, frozen=True, kw_only=True):
    """The envelope of an answer."""

    ok: bool
    data: Answer
    error: None


class Replayed(Success, frozen=True, kw_only=True):
    """The envelope of an answer that was given before."""

    replayed: bool


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The envelope of an error: a message for people, a stable code and facts for programs."""

    ok: bool
    data: None
    error: str
    code: str
    details: dict[str, Any]


class _Code(msgspec.Struct, frozen=True):
    code: str


_encoder = msgspec.json.Encoder()
_head = msgspec.json.Decoder(Head)


def decode_head(payload: bytes) -> Head:
    """Read op, id and key; anything that is no JSON object with an op is a bad request."""
    try:
        return _head.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"invalid request: {error}") from error


def without_traceparent(payload: bytes) -> bytes:
    """Return a request without the field that differs each time that it is repeated.

    A key belongs to the bytes of its request, so they must be the same.
    """
    fields = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
    fields.pop("traceparent", None)
    return _encoder.encode(fields)


def decode(op: Op, payload: bytes) -> Request:
    """Read a whole request; unknown fields are ignored, as the seed does."""
    try:
        return msgspec.json.decode(payload, type=op.request)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"invalid request: {error}", op=op.name) from error


def convert(op: Op, fields: dict[str, Any]) -> Request:
    """Build a request from values; strings may have surrogates, which JSON cannot carry."""
    try:
        return msgspec.convert(fields, op.request)
    except msgspec.ValidationError as error:
        raise BadRequest(f"invalid request: {error}", op=op.name) from error


def encode(name: str, fields: dict[str, Any]) -> bytes:
    """Return a request as it is sent; a field called `op` cannot make it another one."""
    try:
        return _encoder.encode({**fields, "op": name})
    except UnicodeEncodeError as error:
        raise BadRequest("text, names and paths must be valid UTF-8") from error


def content(envelope: bytes) -> Any:
    """Return what an envelope carries, or raise the error in it."""
    decoded = msgspec.json.decode(envelope)
    data = unwrapped(decoded).get("data")
    if decoded.get("replayed") and isinstance(data, dict):
        return {**data, "replayed": True}
    return data


def error_code(envelope: bytes) -> str | None:
    """Return the code of a failure; None if the envelope is that of an answer."""
    if envelope.startswith(b'{"ok":true'):
        return None
    return msgspec.json.decode(envelope, type=_Code).code


def success(op: Op, result: Any) -> bytes:
    """Encode an answer."""
    return _encoder.encode(Success(ok=True, data=Answer(type=op.answer, data=result), error=None))


def replayed(envelope: bytes) -> bytes:
    """Mark an envelope that is sent a second time."""
    first = msgspec.json.decode(envelope, type=dict[str, Any])
    return _encoder.encode({**first, "replayed": True})


def unexpected(error: Exception) -> AgentPtyError:
    """Return the error to answer with if *error* was not raised on purpose.

    That something of the machine has run out is told to the caller. Anything else is a mistake of
    ours and is described only in the log.
    """
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return DiskFull(f"the disk is full: {error.strerror}: make room and ask again")
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        return Busy(f"a limit is reached: {error.strerror}: ask again later, or raise it")
    log.error(error)
    return Internal("internal error; the daemon's log has the traceback")


def failure(error: Exception) -> bytes:
    """Encode an error; see `unexpected` for one that was not raised on purpose."""
    if not isinstance(error, AgentPtyError):
        error = unexpected(error)
    return _encoder.encode(
        Failure(ok=False, data=None, error=str(error), code=error.code, details=error.details)
    )
