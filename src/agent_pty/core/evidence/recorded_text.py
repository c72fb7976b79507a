"""A recording as text: the lines that programs wrote, without how they were drawn. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from agent_pty.core.evidence.cast import parsed_size
from agent_pty.core.evidence.playback import Moment
from agent_pty.core.transcript import Transcript


def recorded_text(moments: Iterable[Moment], *, cols: int) -> bytes:
    """Return all lines, and the unfinished one at the end."""
    lines = [text for _, text in timed_lines(moments, cols=cols)]
    return b"".join(line + b"\n" for line in lines)


def timed_lines(moments: Iterable[Moment], *, cols: int) -> list[tuple[float, bytes]]:
    """Return each line with the second at which it ended."""
    transcript, found, rest, last = Transcript(cols=cols), list[tuple[float, bytes]](), b"", 0.0
    for one in moments:
        if one.code == "r":
            transcript.resize(cols=parsed_size(one.text)[1])
        elif one.code == "o":
            *ended, rest = (rest + transcript.feed(one.text.encode())).split(b"\n")
            found += [(one.at, line) for line in ended]
            last = one.at
    rest += transcript.pending
    return [*found, (last, rest)] if rest else found
