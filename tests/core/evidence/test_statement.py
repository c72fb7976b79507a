from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_pty.core.evidence.statement import (
    BadStatement,
    Predicate,
    Statement,
    Subject,
    checked_statement,
    signed_line,
)
from agent_pty.store.signing_key import is_signed, key_id

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
_PUBLIC = _KEY.public_key().public_bytes_raw()
_KEYS = {key_id(_PUBLIC): _PUBLIC}
_STATEMENT = Statement(
    subject=[Subject(name="work.proof.json", digest={"sha256": "ab"})],
    predicate=Predicate(
        session_id="work",
        instance="00",
        generated_at="now",
        first_event=1,
        last_event=2,
        event_count=2,
        signed_count=2,
        head_hash="cd",
        verdict="verified",
        first_error=None,
        policy_hash=None,
        tool={},
        claims={},
    ),
)


def _line() -> bytes:
    return signed_line(_STATEMENT, key_id(_PUBLIC), _KEY.sign)


def _check(data: bytes) -> Statement:
    return checked_statement(data, lambda *what: is_signed(_KEYS, *what))[0]


def test_it_is_a_dsse_envelope_around_an_in_toto_statement() -> None:
    """
    Any tool for these formats can read it: type, base64 payload, one signature with its key.
    """
    envelope = json.loads(_line())
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"]
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)

    assert kind == "application/vnd.in-toto+json"
    assert json.loads(payload)["_type"] == "https://in-toto.io/Statement/v1"
    assert list(json.loads(payload)) == ["_type", "subject", "predicateType", "predicate"]
    _KEY.public_key().verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed)


def test_what_was_signed_comes_back() -> None:
    """
    A statement survives its way through the file.
    """
    assert _check(_line()) == _STATEMENT


def test_one_flipped_bit_anywhere_is_seen() -> None:
    """
    Every byte of the file counts: of the payload, of the signature, also those between them.
    """
    line = _line()
    for place in range(len(line)):
        changed = bytearray(line)
        changed[place] ^= 1
        with pytest.raises(BadStatement):
            _check(bytes(changed))


def test_an_unknown_key_is_named_with_the_remedy() -> None:
    """
    Without its public key nothing can be said of a statement.
    """
    with pytest.raises(BadStatement, match=rf"unknown key, {key_id(_PUBLIC)}: give --key"):
        checked_statement(_line(), lambda *what: is_signed({}, *what))
