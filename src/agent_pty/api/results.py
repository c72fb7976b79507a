"""What answers become: the result types of the ops, and events."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from agent_pty import ops
from agent_pty.errors import VersionMismatch, from_wire
from agent_pty.ops.op import Op


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened in a session.

    *event* is its kind, *facts* are those of the kind; `docs/protocol.md` lists them. What an event
    does not have is None: `lagged` is of no session, and the daemon's own events have no *seq*.
    """

    event: str
    id: str | None = None
    instance: str | None = None
    seq: int | None = None
    ts: str | None = None
    facts: dict[str, Any] = msgspec.field(default_factory=dict)


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    ok: bool
    data: msgspec.Raw = msgspec.Raw(b"null")
    error: str | None = None
    code: str = "error"
    details: dict[str, Any] | None = None


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    data: msgspec.Raw = msgspec.Raw(b"null")


_COMMON = frozenset(Event.__struct_fields__) - {"facts"}
_envelope = msgspec.json.Decoder(_Envelope)
_answer = msgspec.json.Decoder(_Answer)


@functools.cache
def _declared(handler: Callable[..., Any]) -> Any:
    return typing.get_type_hints(handler)["return"]


def result_type(op: Op) -> Any:
    """Return the type of an op's result, as its handler declares it."""
    return Any if op.stream else _declared(op.handler)


def result(name: str, line: bytes) -> Any:
    """Return what an answer carries, or raise the error in it.

    The answer of an op that this build does not know is returned as it was sent.
    """
    op = ops.TABLE.get(name)
    kind = Any if op is None else result_type(op)
    try:
        envelope = _envelope.decode(line)
        if envelope.ok:
            return msgspec.json.decode(_answer.decode(envelope.data).data, type=kind)
    except msgspec.DecodeError as error:
        raise VersionMismatch(
            f"the daemon's answer to {name} is not what this client expects ({error}): "
            "they may be of different builds, then run `agent-pty restart --keep`",
            op=name,
        ) from error
    raise from_wire(envelope.code, envelope.error or "unknown error", envelope.details or {})


def event(line: bytes) -> Event:
    """Return the event in a line of `watch`."""
    fields: dict[str, Any] = msgspec.json.decode(line)
    facts = {name: value for name, value in fields.items() if name not in _COMMON}
    common = {name: value for name, value in fields.items() if name in _COMMON}
    return Event(**common, facts=facts)
