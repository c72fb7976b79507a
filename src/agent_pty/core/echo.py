"""What a wait may look at: what appeared since the last input, without the echo of that input.

A terminal shows what is typed, up to twice: the kernel echoes what is typed while a program runs,
and the shell's line editor draws it again after its next prompt. A wait that took this for an
answer would be met by its own input.

The rule: each typed line has one echo, the first line that ends with it, whatever precedes it.
After that only a line with a prompt before it is an echo; without a prompt it is output, because
`cat` answers `hello` with `hello`. The prompt stays, so that a wait for it still works.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from agent_pty.core.prompt import looks_like_prompt

# Python's continuation prompt does not wait for a new command, but it precedes an echo.
_CONTINUATION: Final = "..."

# No prompt is longer; this bounds the search for an echo that is still arriving.
_LONGEST_PROMPT: Final = 200

# Linux echoes these as they are (ECHOCTL in termios(3)).
_NO_CARET: Final = "\t\n"
_CARETS: Final = {
    code: "^" + chr(code ^ 0x40) for code in (*range(0x20), 0x7F) if chr(code) not in _NO_CARET
}


def without_echo(text: str, typed: Sequence[str]) -> str:
    """Return *text* without the echo of the lines *typed*.

    *text* is the transcript since the last input; it may begin in the middle of a line, after the
    prompt. *typed* are the lines of that input, without their Enter. The result has as many lines
    as *text*: where an echo was removed, the text before it stays, or an empty line.
    """
    wanted = [shown for line in typed if (shown := line.translate(_CARETS).rstrip())]
    if not wanted:
        return text
    return "\n".join(_Echoes(wanted).remove(text.split("\n")))


def fresh_lines(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return the lines of the screen *now* that the screen *before* did not show, in order.

    A line shown once before and twice now is fresh once: the lower one.
    """
    old = Counter(line.rstrip() for line in before)
    fresh = []
    for line in now:
        shown = line.rstrip()
        if old[shown] > 0:
            old[shown] -= 1
        else:
            fresh.append(line)
    return fresh


class _Echoes:
    """The typed lines, and which of them have not been echoed yet.

    The end of a line is looked up once for each length a typed line has, so the lookups never
    outnumber the characters of the text, however many lines were pasted.
    """

    def __init__(self, typed: list[str]) -> None:
        self._typed = typed
        self._due = Counter(typed)
        self._sorted = sorted(self._due)
        self._lengths = sorted({len(line) for line in typed}, reverse=True)
        self._ends = {line[-1] for line in typed}

    def remove(self, lines: list[str]) -> Iterator[str]:
        """Yield each line without its echo; the last may be an echo still arriving."""
        only_echo = True
        for line in lines[:-1]:
            rest = self._cut(line)
            only_echo = only_echo and not rest
            yield rest
        last = self._cut(lines[-1])
        yield self._cut_arriving(last, at_start=only_echo) if last == lines[-1] else last

    def _cut(self, line: str) -> str:
        """Return the text before the echo in *line*, or the whole line if it has no echo."""
        shown = line.rstrip()
        place = self._echo_place(shown)
        if place is None:
            return line
        before, echo = shown[:place], shown[place:]
        if self._due[echo] > 0:
            self._due[echo] -= 1
            return before
        return before if _is_before_echo(before) else line

    def _echo_place(self, shown: str) -> int | None:
        """Find where the longest typed line at the end of *shown* begins."""
        if shown[-1:] not in self._ends:
            return None
        for length in self._lengths:
            place = len(shown) - length
            if place < 0 or _is_inside_word(shown, place):
                continue
            if shown[place:] in self._due:
                return place
        return None

    def _cut_arriving(self, line: str, *, at_start: bool) -> str:
        """Return the text before the first part of a typed line in an unfinished *line*."""
        if at_start and self._next_due().startswith(line):
            return ""
        first = max(1, len(line) - self._lengths[0])
        for place in range(first, min(len(line), _LONGEST_PROMPT)):
            if _is_inside_word(line, place) or not self._is_begun(line[place:]):
                continue
            if _is_before_echo(line[:place]):
                return line[:place]
        return line

    def _next_due(self) -> str:
        return next((line for line in self._typed if self._due[line] > 0), "")

    def _is_begun(self, part: str) -> bool:
        """Say whether a typed line begins with *part*: in sorted order, it would be the next."""
        # A lone blank belongs to the prompt, even if an indented line was typed.
        if not part.strip():
            return False
        place = bisect_left(self._sorted, part)
        return place < len(self._sorted) and self._sorted[place].startswith(part)


def _is_before_echo(before: str) -> bool:
    return looks_like_prompt(before) or before.rstrip() == _CONTINUATION


def _is_inside_word(line: str, place: int) -> bool:
    """Say whether *place* splits a word: `y` typed into a menu is not the end of `directory`."""
    return place > 0 and _is_wordy(line[place - 1]) and _is_wordy(line[place])


def _is_wordy(character: str) -> bool:
    return character.isalnum() or character == "_"
