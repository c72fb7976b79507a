"""The chain of a journal: each line has the hash of itself and of the line before it.

`event_hash` is the last field of a line, and the hash is that of the line's own bytes with this
field empty. So a line is checked as it is stored: nothing is written anew, and no change of a
field, of an order or of a blank goes unseen.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

_EMPTY = b'"event_hash":""}'
_SEAL = re.compile(rb'"event_hash":"([0-9a-f]{64})"\}$')
_SEAL_BYTES = len(_EMPTY) + 64


def sealed(line: bytes) -> tuple[bytes, str]:
    """Return a line whose `event_hash` is empty with its hash, and the hash.

    >>> sealed(b'{"a":1,"event_hash":""}')[0][:28]
    b'{"a":1,"event_hash":"8ab57a1'
    """
    if not line.endswith(_EMPTY):
        raise ValueError("event_hash must be the last field, and empty")
    digest = hashlib.sha256(line).hexdigest()
    return line[:-2] + digest.encode() + b'"}', digest


class Damaged(Exception):
    """A line is not what was written there."""


@dataclass(frozen=True, slots=True)
class Link:
    """The place of a line in its chain."""

    sequence: int
    event_hash: str
    event: dict[str, Any]


def link(line: bytes) -> Link:
    """Return a line's place and content; raise `Damaged` if it is no line of a journal."""
    seal = _SEAL.search(line)
    if seal is None:
        raise Damaged("it has no event_hash at its end")
    emptied = line[:-_SEAL_BYTES] + _EMPTY
    if hashlib.sha256(emptied).hexdigest() != seal[1].decode():
        raise Damaged("its hash does not match")
    try:
        event = json.loads(line)
        return Link(int(event["sequence"]), seal[1].decode(), event)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Damaged("it is no event") from error


class ChainCheck:
    """Follows the lines of one journal from its beginning."""

    def __init__(self) -> None:
        self.count = 0
        self.head: str | None = None
        self.first_error: str | None = None
        self._instance: str | None = None

    def feed(self, line: bytes) -> dict[str, Any] | None:
        """Take the next line; return its event, or None if the chain is broken there.

        The count of good events and the head stay what they were before the first bad one.
        """
        if self.first_error is not None:
            return None
        number = self.count + 1
        try:
            found = link(line)
            self._check(number, found)
        except Damaged as error:
            self.first_error = f"event {number}: {error}"
            return None
        self.count, self.head = number, found.event_hash
        return found.event

    def _check(self, number: int, found: Link) -> None:
        if found.sequence != number:
            raise Damaged(f"it has sequence {found.sequence}")
        if found.event.get("previous_hash") != self.head:
            raise Damaged("its previous hash does not match")
        instance = found.event.get("instance")
        if self._instance is None:
            self._instance = instance
        elif instance != self._instance:
            raise Damaged(f"it belongs to another session instance, {instance}")
