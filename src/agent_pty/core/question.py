"""What a question looks like, for use when nothing but its text is known.

A guess: only for a line that has not changed for seconds, where it cannot be seen who reads.
"""

from __future__ import annotations

import re
from typing import Final

_ENDS: Final = ("?", ":", "]", ")", ">")
# `45% (450/1000)` and `[3/10]` are progress, however long they stand there.
_PROGRESS: Final = re.compile(r"\d%|\d ?/ ?\d")
_SECRET: Final = re.compile(r"pass(?:word|phrase|code)|\bpin\b|verification code", re.IGNORECASE)


def looks_like_question(line: str) -> bool:
    """Say whether *line* asks a person for something.

    >>> looks_like_question("Continue? [Y/n] "), looks_like_question("Building [3/10]")
    (True, False)
    """
    shown = line.rstrip()
    return shown.endswith(_ENDS) and _PROGRESS.search(shown) is None


def asks_for_secret(line: str) -> bool:
    """Say whether what a question asks for must not be shown, by its words."""
    return _SECRET.search(line) is not None
