"""A session whose terminal is gone with a process of ours: what can still be read of it.

Its files outlive every process. The last million bytes that its program wrote are enough to make
its text again, without a terminal emulator.
"""

from __future__ import annotations

import contextlib

from agent_pty.core.layout import Layout
from agent_pty.core.safe import one_line
from agent_pty.core.transcript import Transcript
from agent_pty.store.ring import Ring, RingLost
from agent_pty.store.tombstone import Tombstone
from agent_pty.words.tools.pty_client import Info

_LAST_BYTES = 4096
_LAST_LINES = 3


def lost_session(layout: Layout, info: Info) -> Tombstone:
    """Return what is known of it."""
    text, gap_end = _text(layout, info)
    return Tombstone(
        id=info["id"],
        argv=info["argv"],
        exit_code=None,
        signal=None,
        cursor=gap_end + len(text.encode()),
        gap_end=gap_end,
        text=text,
        stopped=False,
        lost=info["diagnosis"] or "the process that had its terminal ended",
    )


def crash_note(layout: Layout, stone: Tombstone) -> str:
    """Say why it ended, and what our processes wrote last."""
    said = f"[host-crash: {one_line(stone.lost)}]\n"
    return said + "".join(f"[log: {line}]\n" for line in _last_lines(layout.log))


def _text(layout: Layout, info: Info) -> tuple[str, int]:
    """Return the text, and the cursor at which it begins."""
    try:
        ring = Ring(f"{layout.sessions}/{info['instance']}/raw", create=False)
    except (OSError, RingLost):  # there are no files: nothing was written, or the disk is another
        return "", info["cursor"] or 0
    with contextlib.closing(ring):
        transcript = Transcript(cols=info["cols"])
        text = transcript.feed(ring.read(ring.oldest, ring.written)) + transcript.pending
        # Of older text only the size is known, and only if a host has told it.
        older = max(0, (info["cursor"] or 0) - len(text)) if ring.oldest else 0
    return text.decode(errors="replace"), older


def _last_lines(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _LAST_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [one_line(line) for line in text.splitlines() if line.strip()][-_LAST_LINES:]
