"""Fit text into a number of bytes: its beginning, its end, and a line about what is left out.

One mechanism for `--max-tokens` and for `k -m`. Bytes are counted as in JSON, where a line end
has two: text that fits also fits into an object. Tokens are estimated: three bytes each, which
is on the safe side for code and logs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from agent_pty.core.safe import safe_json

BYTES_PER_TOKEN: Final = 3
# The end has what a command came to, so it gets two parts of three.
_END, _PARTS = 2, 3
# And this part of everything, even if the note about the rest does not fit then.
_LEAST = 4


def tokens(text: str) -> int:
    """Estimate the tokens of *text*: too many rather than too few."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def printed_size(text: str) -> int:
    r"""Return how many bytes *text* has within a JSON string.

    >>> printed_size("a\n")
    3
    """
    return len(safe_json(json.dumps(text, ensure_ascii=False)).encode("utf-8", "replace")) - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Text that fits, and how many lines were left out; None if nothing was."""

    text: str
    left_out: int | None = None
    # Where the rest is, if there was no space to say it in the text.
    rest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The two ends of a text, and how much is missing between them."""

    beginning: str
    end: str
    lines: int
    missing: int  # bytes
    # Whether there is space to say where the rest is.
    names_rest: bool = False

    def fitted(self, rest: str) -> Fitted:
        """Return both ends with a line between them; *rest* says where all of it is."""
        before = "" if not self.beginning or self.beginning.endswith("\n") else "\n"
        note = self.note(rest if self.names_rest else "")
        return Fitted(
            text=f"{self.beginning}{before}{note}\n{self.end}",
            left_out=self.lines,
            rest="" if self.names_rest else rest,
        )

    def note(self, rest: str) -> str:
        """Return that line; parts of one line are counted in bytes."""
        count = f"{self.lines} line{'s' if self.lines != 1 else ''}"
        what = count if self.lines else f"{self.missing} bytes"
        return f"[... {what} left out; {rest} ...]" if rest else f"[... {what} left out ...]"


class Ends:
    """Takes a text in pieces and remembers as much of its two ends as *room* bytes can show."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._head = ""
        self._tail = ""
        self._lines = 0
        self._missing = 0

    def feed(self, text: str) -> None:
        """Take the next piece."""
        fits = self._room - len(self._head)
        self._head += text[:fits]
        self._tail += text[fits:]
        if len(self._tail) > 2 * self._room:
            dropped = self._tail[: -self._room]
            self._tail = self._tail[-self._room :]
            self._lines += dropped.count("\n")
            self._missing += _bytes(dropped)

    @property
    def text(self) -> str | None:
        """All of it; None if it does not fit."""
        if self._missing or printed_size(self._head + self._tail) > self._room:
            return None
        return self._head + self._tail

    def cut(self, *, rest: int) -> Cut:
        """Return the two ends, with space for a note between them that names *rest*, its length.

        The last line is always kept; of one that is too long, the end.
        """
        note = self._longest_note
        said = note + len("; ") + rest
        # Where the place would take most of the space, the text itself is more useful.
        names_rest = said * _PARTS <= self._room * _END
        space = max(0, self._room - (said if names_rest else note))
        # Without a gap the two are one text.
        head = self._head if self._missing else self._head + self._tail
        tail = self._tail if self._missing else head
        end = _last_lines(tail, max(1, self._room // _LEAST, space * _END // _PARTS))
        beginning = _first_lines(head, max(0, space - printed_size(end)))
        kept = len(tail) - len(end)
        middle = (
            head[len(beginning) :] + tail[:kept] if self._missing else head[len(beginning) : kept]
        )
        return Cut(
            beginning=beginning,
            end=end,
            lines=self._lines + middle.count("\n"),
            missing=self._missing + _bytes(middle),
            names_rest=names_rest,
        )

    @property
    def _longest_note(self) -> int:
        total = self._missing + _bytes(self._head) + _bytes(self._tail)
        most = Cut(beginning="", end="", lines=0, missing=total)
        return len(most.note("")) + printed_size("\n\n")


def fitted(text: str, room: int, *, rest: str) -> Fitted:
    """Return *text* if it has at most *room* bytes, else its two ends and where all of it is."""
    ends = Ends(room)
    ends.feed(text)
    if ends.text is not None:
        return Fitted(text=text)
    return ends.cut(rest=len(rest)).fitted(rest)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _first_lines(text: str, room: int) -> str:
    """Return whole lines from the beginning; part of the first line if no line fits."""
    part = text[: _length(text, room)]
    line_end = part.rfind("\n") + 1
    return part[:line_end] if line_end else part


def _last_lines(text: str, room: int) -> str:
    """Return whole lines from the end; the end of the last line if that does not fit."""
    start = len(text) - _length(text[::-1], room)
    if start == 0 or text[start - 1] == "\n":
        return text[start:]
    line = text.find("\n", start, len(text) - 1) + 1
    return text[line:] if line else text[start:]


def _length(text: str, room: int) -> int:
    """Return how many characters of the beginning of *text* have at most *room* bytes."""
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if printed_size(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return low
