"""What of the text since an input is its output: not the echo of the line, not the next prompt.

Only for programs that do not mark where output begins and ends; marks are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent_pty.core.echo import without_echo

_CONTINUATION: Final = "..."
# An echo begins with the first characters of what was typed; later ones may be drawn anew.
_TELLING: Final = 4


def without_prompt(line: bytes, prompt: str) -> bytes:
    """Return what stands before *prompt* on the last, unfinished line: `abc` of `abc>>> `."""
    shown, known = line.decode(errors="replace").rstrip(), prompt.rstrip()
    if known and shown.endswith(known):
        return shown[: -len(known)].encode()
    return b""


def unechoed(text: str, typed: Sequence[str]) -> str:
    """Return *text* without the echo of the lines *typed*.

    A line editor shows a paste whole, often twice: marked as pasted, then plain. A program that
    reads line by line shows each behind its prompt, with output in between.
    """
    lines = text.split("\n")
    begin = _behind_blocks(lines, typed)
    if begin:
        return "\n".join(lines[begin:])
    after = without_echo(text, typed).split("\n")
    kept = [
        line
        for was, line in zip(lines, after, strict=True)
        # An empty line that was typed leaves its continuation prompt alone on the line.
        if was == line and line.rstrip() != _CONTINUATION
    ]
    return "\n".join(kept)


def _behind_blocks(lines: Sequence[str], typed: Sequence[str]) -> int:
    """Return the number of the line behind the typed lines, shown whole once or several times."""
    behind = 0
    while True:
        starts = range(behind, min(behind + 2, len(lines)))
        found = next((at for at in starts if _is_block(lines[at : at + len(typed)], typed)), None)
        if found is None:
            return behind
        behind = found + len(typed)


def _is_block(lines: Sequence[str], typed: Sequence[str]) -> bool:
    return len(lines) == len(typed) and all(map(_is_echo, lines, typed))


def _is_echo(line: str, typed: str) -> bool:
    shown, wanted = line.rstrip(), typed.expandtabs().rstrip()
    if not wanted:
        return shown.lstrip() in ("", _CONTINUATION)
    return shown.expandtabs().endswith(wanted)


def echo_end(text: bytes, typed: str, *, echoed: bool) -> int:
    """Return where output begins in *text*, which begins where the line *typed* was typed.

    Whether a line editor echoes (*echoed* or not) only the text tells: after `stty -echo` it does
    not.
    """
    if not echoed or not text.startswith(typed[:_TELLING].encode()):
        return 0
    newline = text.find(b"\n")
    return newline + 1 if newline >= 0 else len(text)
