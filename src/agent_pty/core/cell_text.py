"""Which text after an input is its output: not the echo of the line, not the next prompt.

Only for programs that do not mark where output begins and ends; marks are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent_pty.core.echo import without_echo
from agent_pty.core.prompt import looks_like_prompt

_CONTINUATION: Final = "..."
# An echo begins with the first characters of what was typed; later ones may be drawn again.
_COMPARED: Final = 4


def without_prompt(line: bytes, prompt: str) -> bytes:
    """Return the text before *prompt* on the last, unfinished line: `abc` of `abc>>> `."""
    shown, known = line.decode(errors="replace").rstrip(), prompt.rstrip()
    if known and shown.endswith(known):
        return shown[: -len(known)].encode()
    return b""


def unechoed(text: str, typed: Sequence[str]) -> str:
    """Return *text* without the echo of the lines *typed*.

    A line editor shows a paste as a whole, often twice: marked as pasted, then plain. A program
    that reads line by line shows each line after its prompt, with output in between.
    """
    begin = paste_end(text, typed)
    if begin:
        return text[begin:]
    lines, after = text.split("\n"), without_echo(text, typed).split("\n")
    blank = "" in typed
    kept = [
        line
        for was, line in zip(lines, after, strict=True)
        # After an empty line was typed, its continuation prompt is alone on the line.
        if was == line and not (blank and line.rstrip() == _CONTINUATION)
    ]
    return "\n".join(kept)


def paste_end(text: str, typed: Sequence[str]) -> int:
    """Return where *text* continues after the typed lines, shown as a whole once or more often."""
    lines, end = text.split("\n"), 0
    while typed and (found := _block(lines, typed, end)) is not None:
        end = found + len(typed)
    return min(len(text), sum(len(line) + 1 for line in lines[:end]))


def _block(lines: Sequence[str], typed: Sequence[str], start: int) -> int | None:
    """Find the typed lines in a row from *start* on, or after one line that is blank."""
    skipped = start < len(lines) and not lines[start].strip()
    for at in (start, start + 1) if skipped else (start,):
        shown = lines[at : at + len(typed)]
        if len(shown) == len(typed) and all(map(_is_echo, shown, typed)):
            return at
    return None


def _is_echo(line: str, typed: str) -> bool:
    """Whether *line* ends with what was typed; how wide a tab was drawn does not matter."""
    shown, wanted = "".join(line.split()), "".join(typed.split())
    if not wanted:
        return shown in ("", _CONTINUATION)
    return shown.endswith(wanted)


def reply_start(text: bytes, answer: str, *, newline: bool) -> int:
    """Return where a program's reply begins in *text*, which begins where *answer* was typed.

    Before it are the echo of the answer, if there is one, and the newline of its Enter: expected
    without an echo too if *newline*. A reply may begin as the answer does, but an echo is a line.
    """
    echo = answer.encode()
    rest = text[len(echo) :] if text.startswith(echo) else None
    if echo and rest is not None and rest[:1] in (b"", b"\n"):
        return min(len(text), len(echo) + 1)
    return 1 if newline and text.startswith(b"\n") else 0


def echo_end(text: bytes, typed: str, *, echoed: bool) -> int:
    """Return where output begins in *text*, which begins where the line *typed* was typed.

    *echoed* is an expectation: only the text shows whether a line editor echoes. After `stty -echo`
    it does not. bash draws its prompt again after it was asked for its line, perhaps only now.
    """
    line, newline, _ = text.partition(b"\n")
    begins = text.startswith(typed[:_COMPARED].encode())
    if not echoed or not (begins or (newline and _follows_prompt(line, typed))):
        return 0
    return len(line + newline)


def _follows_prompt(line: bytes, typed: str) -> bool:
    """Whether a line is what was typed, after a prompt."""
    shown = line.decode(errors="replace").rstrip()
    return shown.endswith(typed) and looks_like_prompt(shown.removesuffix(typed))
