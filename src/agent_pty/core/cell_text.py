"""What of the text since an input is its output: not the echo of the line, not the next prompt.

Only for programs that do not mark where output begins and ends; marks are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent_pty.core.echo import without_echo

_CONTINUATION: Final = "..."


def without_prompt(line: bytes, prompt: str) -> bytes:
    """Return what stands before *prompt* on the last, unfinished line: `abc` of `abc>>> `."""
    shown, known = line.decode(errors="replace").rstrip(), prompt.rstrip()
    if known and shown.endswith(known):
        return shown[: -len(known)].encode()
    return b""


def unechoed(text: str, typed: Sequence[str]) -> str:
    """Return *text* without the lines that are echoes of what was typed."""
    before, after = text.split("\n"), without_echo(text, typed).split("\n")
    kept = [
        line
        for was, line in zip(before, after, strict=True)
        # An empty line that was typed leaves its continuation prompt alone on the line.
        if was == line and line.rstrip() != _CONTINUATION
    ]
    return "\n".join(kept)


def echo_end(text: bytes, *, echoed: bool) -> int:
    """Return where output begins in *text*, which begins where one line was typed."""
    if not echoed:
        return 0
    newline = text.find(b"\n")
    return newline + 1 if newline >= 0 else len(text)
