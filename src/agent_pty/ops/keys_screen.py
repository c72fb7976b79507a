"""What keys do to the screen: `keys --screen` returns and prints the rows that changed."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from msgspec import Struct

from agent_pty.core.command import Call
from agent_pty.ops.context import Session
from agent_pty.ops.model import ChangedRow, Changes, ScreenCursor

# No screen has this hash, so all rows are returned.
_NONE = ""


class ScreenAfter(Struct, frozen=True, kw_only=True):
    """The rows whose text differs from before the keys, and the screen they belong to.

    Without *settled* it was still being drawn when the time was over. *whole*: no row with text
    has stayed as it was, so these are all rows. Colours do not count.
    """

    settled: bool
    whole: bool
    rows: list[ChangedRow]
    cursor: ScreenCursor
    # The cursor before the keys: a choice in a menu may show by nothing else.
    cursor_before: ScreenCursor
    hash: str


async def pressed_on_screen(
    session: Session, pressing: Awaitable[int], patience: float
) -> tuple[int, ScreenAfter]:
    """Press, wait until the screen has settled, compare; also return the transcript's cursor."""
    before, settling = session.screen.changes(_NONE), session.waits.settling()
    cursor = await pressing
    settled = await settling.settle(patience)
    return cursor, _compared(before, session.screen.changes(_NONE), settled=settled)


def _compared(before: Changes, after: Changes, *, settled: bool) -> ScreenAfter:
    known = {row.row: row.text for row in before.rows}
    changed = [row for row in after.rows if known.get(row.row) != row.text]
    stayed = [row for row in after.rows if known.get(row.row) == row.text]
    return ScreenAfter(
        settled=settled,
        whole=bool(changed) and not any(row.text.strip() for row in stayed),
        rows=changed,
        cursor=after.cursor,
        cursor_before=before.cursor,
        hash=after.hash,
    )


async def print_pressed(call: Call, pressed: dict[str, Any]) -> int:
    """Print the rows that changed, or how many keys were pressed."""
    after = pressed.get("screen")
    if call.json or after is None:
        await call.show(pressed, f"pressed {pressed['keys']} key(s)")
        return 0
    await call.print(rows_text(after))
    for remark in screen_remarks(after):
        await call.warn(remark)
    return 0


def rows_text(after: dict[str, Any]) -> str:
    """Return the rows as lines; blank ones at the end say nothing."""
    text = "\n".join(row["text"].rstrip() for row in after["rows"]).rstrip("\n")
    return f"{text}\n" if text else ""


def screen_remarks(after: dict[str, Any]) -> list[str]:
    """Return what the rows alone do not show."""
    rows, remarks = after["rows"], []
    blank = sum(1 for row in rows if not row["text"].strip())
    if not rows:
        remarks.append(f"no row of the screen changed{_moved(after)}")
    elif after["whole"]:
        remarks.append("every row of the screen changed: this is all of it")
    elif blank:
        remarks.append(f"{blank} row(s) became blank")
    if not after["settled"]:
        remarks.append("the screen has not settled: it was still being drawn when time was up")
    return remarks


def _moved(after: dict[str, Any]) -> str:
    now, before = after["cursor"], after["cursor_before"]
    if (now["row"], now["col"]) == (before["row"], before["col"]):
        return ""
    return f", but the cursor moved to row {now['row']}, column {now['col']}"
