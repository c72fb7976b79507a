"""A word of a command after expansion: one argument, as far as it is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Stands for text that only the running shell knows.
HOLE = "\x00"


class Field(NamedTuple):
    """An argument. *glob*: it has wildcards that the shell replaces by names of files.

    *script* is what a process substitution prints, if that is known.
    """

    text: str
    glob: bool = False
    script: str | None = None

    @property
    def known(self) -> bool:
        """Whether all of it is known."""
        return HOLE not in self.text


def texts(fields: Sequence[Field]) -> list[str]:
    """Return the words alone."""
    return [one.text for one in fields]
