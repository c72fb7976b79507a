"""Keeps the beginning and the end of a long list, and a digest of what is left out between."""

from __future__ import annotations

import hashlib
from collections import deque
from typing import Generic, TypeVar

import msgspec

from agent_pty.ops.proof_model import Omitted

Item = TypeVar("Item")


class BothEnds(Generic[Item]):
    """A list that never has more than *room* bytes of JSON, however many items are added."""

    def __init__(self, room: int) -> None:
        self._half = room // 2
        self._first: list[Item] = []
        self._first_size = 0
        self._last: deque[tuple[Item, bytes]] = deque()
        self._last_size = 0
        self._left_out = 0
        self._digest = hashlib.sha256()

    def add(self, item: Item) -> None:
        """Add an item, which must not change any more."""
        encoded = msgspec.json.encode(item)
        if not self._last and self._first_size + len(encoded) <= self._half:
            self._first.append(item)
            self._first_size += len(encoded)
            return
        self._last.append((item, encoded))
        self._last_size += len(encoded)
        while self._last_size > self._half:
            _, dropped = self._last.popleft()
            self._last_size -= len(dropped)
            self._left_out += 1
            self._digest.update(dropped + b"\n")

    @property
    def items(self) -> list[Item]:
        """What is kept, in its order."""
        return [*self._first, *(item for item, _ in self._last)]

    @property
    def first_count(self) -> int:
        """How many of the kept ones stand before what is left out."""
        return len(self._first)

    def omitted(self, what: str) -> dict[str, Omitted]:
        """Return what is left out, under its name; nothing if nothing is."""
        if not self._left_out:
            return {}
        note = f"{what} left out after the first {len(self._first)}; digest of their JSON lines"
        return {what: Omitted(count=self._left_out, sha256=self._digest.hexdigest(), note=note)}
