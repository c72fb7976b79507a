"""What a screen should show, and what to say if it does not. Pure."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_pty.core.width import cells
from agent_pty.ops.model import Screen

Part = str | re.Pattern[str]
# After each of these events the screen, or whether it can change, may be another one.
EVENTS = ("output", "lagged", "exited", "lost")
_ENDED = {"exited": "the program has ended", "lost": "the session is lost"}
# How like a text a line must be to be shown beside it.
_SIMILAR = 0.5


class ScreenMismatch(AssertionError):
    """The screen did not become what was expected; the message shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What must be visible, what must not, and what the whole screen must be."""

    visible: Sequence[Part] = ()
    absent: Part | None = None
    equals: str | None = None

    def faults(self, text: str) -> list[str]:
        """Return what is wrong with a screen, each as a paragraph; nothing if it is right."""
        return [*self._missing(text), *self._surplus(text), *self._difference(text)]

    def _missing(self, text: str) -> Iterator[str]:
        for part in self.visible:
            if not _found(part, text):
                yield f"not on the screen: {_shown(part)}{_nearest(part, text)}"

    def _surplus(self, text: str) -> Iterator[str]:
        if self.absent is not None and _found(self.absent, text):
            yield f"still on the screen: {_shown(self.absent)}"

    def _difference(self, text: str) -> Iterator[str]:
        if self.equals is None:
            return
        wanted, seen = _lines(textwrap.dedent(self.equals)), _lines(text)
        wanted = wanted[1:] if wanted and not wanted[0] else wanted
        if wanted != seen:
            compared = difflib.ndiff(wanted, seen)
            yield "\n".join(["the screen differs (- expected, + seen):", *map(_trimmed, compared)])


def _found(part: Part, text: str) -> bool:
    return part in text if isinstance(part, str) else part.search(text) is not None


def _shown(part: Part) -> str:
    return repr(part) if isinstance(part, str) else f"a match of {part.pattern!r}"


def _nearest(part: Part, text: str) -> str:
    """Compare a missing text with the line that is most like it."""
    if not isinstance(part, str):
        return ""
    lines = [line.strip() for line in text.splitlines()]
    near = difflib.get_close_matches(part, lines, n=1, cutoff=_SIMILAR)
    if not near:
        return ""
    return "\n" + "\n".join(map(_trimmed, difflib.ndiff([part], near)))


def _trimmed(line: str) -> str:
    return line.rstrip()


def _lines(text: str) -> list[str]:
    """Return the lines of a screen without blanks at their ends and empty lines after them."""
    return [line.rstrip() for line in text.rstrip().split("\n")]


def mismatch(name: str, screen: Screen, faults: Sequence[str], *, seconds: float) -> ScreenMismatch:
    """Return the error for a screen that did not become right in time, or never can."""
    when = _ENDED.get(screen.state, f"within {seconds:g} s")
    head = f"the screen of {name!r} is not as expected ({when})"
    return ScreenMismatch("\n".join([head, *faults, framed(screen.text, screen.cols)]))


def framed(text: str, cols: int) -> str:
    """Return a screen in a frame, so that its blanks can be seen."""
    border = "+" + "-" * cols + "+"
    rows = (f"|{line}{' ' * (cols - cells(line))}|" for line in _lines(text))
    return "\n".join([border, *rows, border])
