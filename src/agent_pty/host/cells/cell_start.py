"""What is fixed at the moment when a cell's code is typed."""

from __future__ import annotations

import time

from agent_pty.core.exit_code import has_exit_codes
from agent_pty.core.prompt import is_debugger_prompt
from agent_pty.host.cells.cell import Cell, CellStart
from agent_pty.host.cells.completion import is_ladder
from agent_pty.host.cells.foreground import Foreground
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.cells.submit import Submission
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.integration.dialect import dialect


def cell_start(
    cell: Cell,
    submission: Submission,
    seen: Foreground,
    *,
    output: TerminalOutput,
    frame: str,
    readiness: Readiness,
) -> CellStart:
    """Return what must be known to see the end of *cell*, whose code is typed now."""
    line = seen.tty.line
    prompt = readiness.prompt.at(line)
    return CellStart(
        cell_id=cell.id,
        frame=frame,
        typed=output.log.committed + len(output.transcript.pending),
        lines=submission.lines,
        echoed=seen.tty.echo or not seen.tty.line_mode,
        line_mode=seen.tty.line_mode,
        drawn=seen.drawn,
        number=readiness.number,
        prompt=prompt,
        glued=len(line.encode()) - len(prompt.encode()) if line.endswith(prompt) else 0,
        began=time.monotonic(),
        limit=cell.limit,
        reader=seen.reader.pid if seen.reader is not None else None,
        code=cell.code,
        edits=seen.tty.edits,
        image=seen.image or readiness.image,
        exit_codes=is_ladder(frame) and _has_exit_codes(seen, readiness),
        # After lost output the token of this prompt is not known, and so not its mark C.
        begins=readiness.ready == "marks" and readiness.marks and _tells(readiness),
    )


def _tells(readiness: Readiness) -> bool:
    return dialect(readiness.program).answers


def _has_exit_codes(seen: Foreground, readiness: Readiness) -> bool:
    """Whether what reads the code has an exit code for it: a REPL that marks says so itself."""
    if readiness.ready == "marks":
        return dialect(readiness.program).exit_codes
    # What a relay leads to is most likely a shell.
    codes = seen.tty.relays or has_exit_codes(seen.name)
    return codes and not is_debugger_prompt(seen.tty.line)
