"""`wait_ms`: an upper bound. A wait ends early when there is something to see.

That is: the program ended, it wrote something and then nothing for a moment, it is at a prompt,
or *until* came true.
"""

from __future__ import annotations

import time
from typing import Any

from agent_pty.errors import SessionEnded, WaitTimeout
from agent_pty.words.tools.tool import ToolOps

_QUIET = "idle:200ms"
_SETTLE_MS = 300
_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 250, 2000
_ANYTHING = r"regex:(?s)."


async def wait_for_output(
    asked: ToolOps, name: str, *, since: int | None, unread: bool, wait_ms: int, until: str | None
) -> str:
    """Wait; return a note if *until* did not come true."""
    if until is not None:
        met = await _waited(asked, name, [until], wait_ms, since)
        return "" if met else f"[until {until!r} did not come true]\n"
    if not wait_ms:
        return ""
    if unread:
        await _waited(asked, name, [_QUIET, "prompt", "exit"], min(wait_ms, _SETTLE_MS), None)
        return ""
    deadline = time.monotonic() + wait_ms / 1000
    if await _waited(asked, name, [_ANYTHING, "exit"], wait_ms, since):
        await _waited(asked, name, [_QUIET, "exit"], _left(deadline), None)
    return ""


async def waited_for_exit(asked: ToolOps, name: str, timeout_ms: int) -> bool:
    """Wait for the end of a program, but not while a person must act; return whether it ended.

    A program that asks anything else may go on by itself, so it has all of its time. It is looked
    at when it is quiet, and then again after a while: no event says that a program begins to read.
    """
    deadline, pause = time.monotonic() + timeout_ms / 1000, _FIRST_PAUSE_MS
    while True:
        await _waited(asked, name, [_QUIET, "exit"], _left(deadline), None)
        doing = await asked.ask("doing", id=name)
        if doing["what"] in {None, "secret", "approval"} or not _left(deadline):
            return doing["what"] is None
        # For the end alone: what is drawn on the whole screen would end any other wait at once.
        await _waited(asked, name, ["exit"], min(pause, _left(deadline)), None)
        pause = min(2 * pause, _LONGEST_PAUSE_MS)


def _left(deadline: float) -> int:
    """Return how many milliseconds there are until *deadline*."""
    return max(0, int((deadline - time.monotonic()) * 1000))


async def _waited(
    asked: ToolOps, name: str, until: list[str], timeout_ms: int, since: int | None
) -> bool:
    fields: dict[str, Any] = {"until": until, "timeout_ms": timeout_ms, "files": False}
    try:
        await asked.ask("wait", id=name, **fields, **({} if since is None else {"since": since}))
    except (WaitTimeout, SessionEnded):
        return False
    return True
