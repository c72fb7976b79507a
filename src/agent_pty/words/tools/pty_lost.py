"""A session whose terminal is gone with processes of ours: what can still be read of it.

The files with its text outlive every process. They have all lines up to a moment before.
"""

from __future__ import annotations

import contextlib

from agent_pty.core.layout import Layout
from agent_pty.core.safe import one_line
from agent_pty.core.transcript import Transcript
from agent_pty.store.ring import Ring, RingLost
from agent_pty.store.textlog import last_text
from agent_pty.store.tombstone import Tombstone
from agent_pty.words.tools.pty_client import Info

_LAST_BYTES = 4096
_LAST_LINES = 3
_MOST_TEXT = 1024 * 1024


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
    directory = layout.session(info["instance"])
    with contextlib.suppress(RingLost):
        return _of_previous_build(f"{directory}/raw", info)
    with contextlib.suppress(FileNotFoundError):  # the directory is gone
        found = last_text(directory, most=_MOST_TEXT)
        if found.text:
            return found.text.decode(errors="replace"), found.place
    return "", info["cursor"] or 0


def _of_previous_build(path: str, info: Info) -> tuple[str, int]:
    """Make the text again from the file that the previous build had instead of a spool."""
    with contextlib.closing(Ring.of_file(path)) as ring:
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
