"""A secret that was found: where it stands, and what takes its place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """A part of a text. Without a *marker* of its own it is replaced by `[REDACTED:kind]`."""

    start: int
    end: int
    kind: str
    marker: str = ""

    @classmethod
    def at(cls, span: tuple[int, int], kind: str, marker: str = "") -> Found:
        """Return what a pattern found there."""
        return cls(span[0], span[1], kind, marker)

    @property
    def shown(self) -> bytes:
        """What is written instead."""
        return (self.marker or f"[REDACTED:{self.kind}]").encode()
