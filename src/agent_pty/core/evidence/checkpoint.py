"""Signed checkpoints: how long each journal was, and what its last event was.

They form a chain of their own over all sessions, outside the log directory. So it shows when a
journal's end was cut off, when it was written anew, and when all of it is gone. Pure: signing and
checking a signature are given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
from msgspec import Struct

VERSION = 1
_ORIGIN = "agent-pty checkpoint"


class Checkpoint(Struct, frozen=True, kw_only=True):
    """One line. The signature covers the line's own bytes with an empty signature."""

    origin: str = _ORIGIN
    version: int = VERSION
    number: int
    instance: str
    name: str
    count: int
    head: str
    closed: bool
    time: str
    previous: str
    key: str
    signature: str = ""


_EMPTY = b'"signature":""}'
_SIGNATURE_BYTES = 128  # of Ed25519, in hexadecimal digits


def signed(checkpoint: Checkpoint, sign: Callable[[bytes], bytes]) -> bytes:
    """Return the line of a checkpoint."""
    line = msgspec.json.encode(checkpoint)
    return line[:-2] + sign(line).hex().encode() + b'"}'


def digest(line: bytes) -> str:
    """Return what the next checkpoint has as `previous`."""
    return hashlib.sha256(line).hexdigest()


# Whether a signature of bytes is that of the key with this name; None: the key is not known.
IsSigned = Callable[[str, bytes, bytes], bool | None]


@dataclass(frozen=True, slots=True)
class BadCheckpoint(Exception):
    """The chain of checkpoints is broken."""

    number: int
    reason: str


def checked(lines: Iterator[bytes], is_signed: IsSigned) -> Iterator[Checkpoint]:
    """Yield the checkpoints of a file; raise `BadCheckpoint` at the first that is none."""
    previous = ""
    for number, line in enumerate(lines, start=1):
        try:
            found = msgspec.json.decode(line, type=Checkpoint)
            signature = bytes.fromhex(found.signature)
        except (msgspec.DecodeError, ValueError) as error:
            raise BadCheckpoint(number, "it is no checkpoint") from error
        emptied = line[: -(_SIGNATURE_BYTES + 2)] + b'"}'
        if not emptied.endswith(_EMPTY) or len(found.signature) != _SIGNATURE_BYTES:
            raise BadCheckpoint(number, "it is no checkpoint")
        known = is_signed(found.key, signature, emptied)
        if known is None:
            raise BadCheckpoint(number, f"it is signed with an unknown key, {found.key}")
        if not known:
            raise BadCheckpoint(number, "its signature does not match")
        if (found.number, found.previous) != (number, previous):
            raise BadCheckpoint(number, "it does not follow the one before it")
        previous = digest(line)
        yield found


def last_number(line: bytes) -> tuple[int, str]:
    """Return number and digest of the last line of a file, from which the chain goes on."""
    return int(json.loads(line)["number"]), digest(line)
