"""The signed statement of a proof: an in-toto statement in a DSSE envelope. Pure.

The statement has the digest of every part of a proof. It is a file of its own beside them, one
line of JSON, so each part stays plain; any in-toto tool can read it. Signing is given.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from agent_pty.core.evidence.checkpoint import IsSigned

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:agent-pty:proof:v1"


class BadStatement(ValueError):
    """A file is no signed statement of a proof, or not what was signed."""


class Subject(Struct, frozen=True, kw_only=True):
    """A part of the proof; of a file that grows, *annotations* say how much of it is meant."""

    name: str
    digest: dict[str, str]
    annotations: dict[str, Any] = {}


class Predicate(Struct, frozen=True, kw_only=True):
    """What was found of the session."""

    session_id: str
    instance: str
    generated_at: str
    first_event: int | None
    last_event: int | None
    event_count: int
    signed_count: int
    head_hash: str | None
    verdict: str
    first_error: str | None
    policy_hash: str | None
    tool: dict[str, str]
    claims: dict[str, str]


class Statement(Struct, frozen=True, kw_only=True):
    """The payload of the envelope."""

    type_: str = msgspec.field(name="_type", default=STATEMENT_TYPE)
    subject: list[Subject]
    predicate_type: str = msgspec.field(name="predicateType", default=PREDICATE_TYPE)
    predicate: Predicate


class Signature(Struct, frozen=True, kw_only=True):
    """Whose signature it is, and the signature in base64."""

    keyid: str
    sig: str


class Envelope(Struct, frozen=True, kw_only=True):
    """A DSSE envelope."""

    payload_type: str = msgspec.field(name="payloadType")
    payload: str
    signatures: list[Signature]


def signed_line(statement: Statement, key: str, sign: Callable[[bytes], bytes]) -> bytes:
    """Return the envelope as it is stored."""
    payload = msgspec.json.encode(statement)
    signature = base64.b64encode(sign(_authenticated(payload))).decode()
    envelope = Envelope(
        payload_type=PAYLOAD_TYPE,
        payload=base64.b64encode(payload).decode(),
        signatures=[Signature(keyid=key, sig=signature)],
    )
    return msgspec.json.encode(envelope) + b"\n"


def _authenticated(payload: bytes) -> bytes:
    """Return what is signed: the type and the payload, each with its length (DSSE's PAE)."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def checked_statement(data: bytes, is_signed: IsSigned) -> tuple[Statement, str]:
    """Return the statement of a stored envelope and the key that signed it, or raise."""
    try:
        envelope = msgspec.json.decode(data, type=Envelope)
        payload = base64.b64decode(envelope.payload, validate=True)
        (signature,) = envelope.signatures
        raw = base64.b64decode(signature.sig, validate=True)
    except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error, ValueError) as error:
        raise BadStatement(f"it is no signed statement: {error}") from error
    # One content has one form: so a changed blank or a spare bit of base64 is seen, too.
    same = (base64.b64encode(payload).decode(), base64.b64encode(raw).decode())
    if (envelope.payload, signature.sig) != same or msgspec.json.encode(envelope) + b"\n" != data:
        raise BadStatement("it is not written as it was signed")
    known = is_signed(signature.keyid, raw, _authenticated(payload))
    if known is None:
        raise BadStatement(f"it is signed with an unknown key, {signature.keyid}: give --key FILE")
    if not known or envelope.payload_type != PAYLOAD_TYPE:
        raise BadStatement("its signature does not match")
    return _decoded(payload), signature.keyid


def _decoded(payload: bytes) -> Statement:
    try:
        statement = msgspec.json.decode(payload, type=Statement)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadStatement(f"it is no statement about a proof: {error}") from error
    if (statement.type_, statement.predicate_type) != (STATEMENT_TYPE, PREDICATE_TYPE):
        raise BadStatement(f"it is about something else: {statement.predicate_type}")
    return statement
