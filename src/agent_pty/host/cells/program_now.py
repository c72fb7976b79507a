"""Which program a cell has left at the keyboard, if it is another one than that which ran it."""

from __future__ import annotations

import msgspec

from agent_pty.core.leave import now_hint
from agent_pty.core.prompt import debugger_name
from agent_pty.host.cells.cell import CellStart, Result
from agent_pty.host.cells.foreground import Foreground
from agent_pty.ops.cell_model import Status
from agent_pty.process.program_name import program_name


def with_program_now(
    result: Result, start: CellStart | None, seen: Foreground | None, *, root: int
) -> Result:
    """Add to a result which other program reads the keyboard now, if one does.

    *root* is the session's own program, which reads when its marks have ended the cell: then
    nothing was *seen*.
    """
    if start is None or start.reader is None or result.status is not Status.DONE:
        return result
    if seen is None:
        now = _own_again(start, root)
        hint = f"{now} reads the keyboard again"
    else:
        now = _other(start, seen)
        replaced = seen.reader is not None and seen.reader.pid == root
        hint = now_hint(now or "", last=replaced and debugger_name(seen.tty.line) is None)
    return msgspec.structs.replace(result, now=now, hint=hint) if now else result


def _own_again(start: CellStart, root: int) -> str | None:
    """Name the session's own program, if it did not read the code."""
    debugger = debugger_name(start.prompt)
    if start.reader == root and debugger is None:
        return None
    name = program_name(root)
    return name if start.reader != root or debugger != name else None


def _other(start: CellStart, seen: Foreground) -> str | None:
    """Name the program that reads, if another one read the code or it has become another."""
    if seen.reader is None:
        return None
    debugger = debugger_name(seen.tty.line)
    same = seen.reader.pid == start.reader and start.image in (0, seen.image)
    if same and debugger == debugger_name(start.prompt):
        return None
    return debugger or seen.name or None
