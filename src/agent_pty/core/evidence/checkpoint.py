"""Signed checkpoints: how long each journal was, and what its last event was.

They form a chain of their own over all sessions, outside the log directory. So it shows when a
journal's end was cut off, when it was written anew, and when all of it is gone. A journal that
`gc` removed has a last checkpoint that says so. Pure: signing and checking a signature are given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

VERSION = 1
# Of lines with fields that version 1 does not have.
REMOVAL_VERSION = 2
KEY_CHANGE_VERSION = 3
_LAST_VERSION = KEY_CHANGE_VERSION
_ORIGIN = "agent-pty checkpoint"


class Removal(Struct, frozen=True, kw_only=True):
    """The journal is being removed: what `verify` said of it, and where a copy of it is."""

    verdict: str
    forced: bool
    exported_to: str | None
    by: dict[str, Any]


class KeyChange(Struct, frozen=True, kw_only=True):
    """Another key signs from here on: the one *before* named it, or it was *lost*.

    Nothing but the file's own chain says that a key which follows a lost one is the same user's.
    """

    before: str
    reason: Literal["rotated", "lost"]


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
    removed: Removal | UnsetType = UNSET
    key_change: KeyChange | UnsetType = UNSET
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


def checked(
    lines: Iterator[bytes], is_signed: IsSigned, *, excerpt: bool = False
) -> Iterator[Checkpoint]:
    """Yield the checkpoints of a file; raise `BadCheckpoint` at the first that is none.

    Of an *excerpt*, which has the checkpoints of some sessions only, each is checked by itself.
    """
    last, previous = 0, ""
    for place, line in enumerate(lines, start=1):
        found = _checked_line(place, line, is_signed)
        follows = (found.number, found.previous) == (last + 1, previous)
        left_out = excerpt and (last == 0 or found.number > last + 1)
        if not follows and not left_out:
            raise BadCheckpoint(place, "it does not follow the one before it")
        last, previous = found.number, digest(line)
        yield found


def _checked_line(number: int, line: bytes, is_signed: IsSigned) -> Checkpoint:
    try:
        found = msgspec.json.decode(line, type=Checkpoint)
        signature = bytes.fromhex(found.signature)
    except (msgspec.DecodeError, ValueError) as error:
        raise BadCheckpoint(number, "it is no checkpoint") from error
    emptied = line[: -(_SIGNATURE_BYTES + 2)] + b'"}'
    if not emptied.endswith(_EMPTY) or len(found.signature) != _SIGNATURE_BYTES:
        raise BadCheckpoint(number, "it is no checkpoint")
    if found.version > _LAST_VERSION:
        later = f"it has format version {found.version}, this program knows up to {_LAST_VERSION}"
        raise BadCheckpoint(number, later)
    known = is_signed(found.key, signature, emptied)
    if known is None:
        raise BadCheckpoint(number, f"it is signed with an unknown key, {found.key}")
    if not known:
        raise BadCheckpoint(number, "its signature does not match")
    return found


class ChainEnd(NamedTuple):
    """The last line of a file, from which the chain goes on."""

    number: int = 0
    digest: str = ""
    key: str = ""


def chain_end(line: bytes) -> ChainEnd:
    """Return what the next line must follow."""
    found = json.loads(line)
    return ChainEnd(int(found["number"]), digest(line), str(found["key"]))
