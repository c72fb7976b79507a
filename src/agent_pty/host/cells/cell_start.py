"""What is fixed at the moment when a cell's code is typed."""

from __future__ import annotations

import time

from agent_pty.host.cells.cell import Cell, CellStart
from agent_pty.host.cells.foreground import Foreground
from agent_pty.host.cells.submit import Submission
from agent_pty.host.terminal.output import TerminalOutput


def cell_start(
    cell: Cell,
    submission: Submission,
    seen: Foreground,
    *,
    output: TerminalOutput,
    frame: str,
    number: int | None,
) -> CellStart:
    """Return what must be known to see the end of *cell*, whose code is typed now."""
    return CellStart(
        cell_id=cell.id,
        frame=frame,
        typed=output.log.committed + len(output.transcript.pending),
        lines=submission.lines,
        echoed=seen.tty.echo or not seen.tty.line_mode,
        line_mode=seen.tty.line_mode,
        drawn=seen.drawn,
        number=number,
        prompt=seen.tty.line,
        began=time.monotonic(),
        limit=cell.limit,
        reader=seen.reader.pid if seen.reader is not None else None,
        code=cell.code,
    )
