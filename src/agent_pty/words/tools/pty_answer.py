"""What one of the six tools answers, before its footer and the notices of exits are added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PtyAnswer:
    """Text about session *name*; without *cursor* there is no footer.

    *ended* has state, exit_code and signal, as they were when the text was read. *seconds* is how
    long a program ran, if that is known better than by its start. *image* is a PNG in base64.
    """

    body: str
    name: str = ""
    cursor: int | None = None
    ended: Mapping[str, Any] | None = None
    seconds: float | None = None
    doing: str | None = None
    image: str | None = None


def joined(text: str, notes: str) -> str:
    """Put notes on lines of their own after a text."""
    return text + ("\n" if text and not text.endswith("\n") else "") + notes
