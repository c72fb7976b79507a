"""Which events of a session are evidence, and what is recorded of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_pty.core.evidence.event import (
    Action,
    AttachHuman,
    CellFinished,
    CellStarted,
    Lost,
    MarkForged,
    Notify,
)
from agent_pty.core.evidence.tmux_event import OutputGap
from agent_pty.host import events
from agent_pty.host.evidence.cleaning import BEFORE_TAIL, Cleaner

# The recording of the session has all of the output; this much is beside the exit code.
_OUTPUT_CHARACTERS = 2000
_CODE_CHARACTERS = 16_384


def _started(event: events.CellBegan, cleaner: Cleaner) -> CellStarted:
    """Return the record of a beginning."""
    code = cleaner.text(event.code)
    if len(code) > _CODE_CHARACTERS:
        left_out = len(code) - _CODE_CHARACTERS
        code = f"{code[:_CODE_CHARACTERS]}\n[... {left_out} characters left out ...]"
    return CellStarted(cell_id=event.cell_id, code=code)


def _finished(event: events.CellEnded, cleaner: Cleaner) -> CellFinished:
    """Return the record of an end."""
    tail = event.output_tail(_OUTPUT_CHARACTERS + BEFORE_TAIL)
    return CellFinished(
        cell_id=event.cell_id,
        status=event.status,
        exit_code=event.exit_code,
        duration_ms=event.duration_ms,
        output=cleaner.tail(tail, _OUTPUT_CHARACTERS),
        output_bytes=event.output_bytes,
    )


def _notify(event: events.Notify, cleaner: Cleaner) -> Notify:
    return Notify(who=cleaner.text(event.who), message=cleaner.text(event.message))


# Outcomes and the end need more than the event, so the recorder makes them itself.
RECORDED: dict[type, Callable[[Any, Cleaner], Action]] = {
    events.Attached: lambda one, _cleaner: AttachHuman(read_only=one.read_only),
    events.CellBegan: _started,
    events.CellEnded: _finished,
    events.Notify: _notify,
    events.MarkForged: lambda one, _cleaner: MarkForged(count=one.count),
    events.OutputGap: lambda one, cleaner: OutputGap(reason=cleaner.text(one.reason)),
    events.Lost: lambda one, cleaner: Lost(diagnosis=cleaner.text(one.diagnosis)),
}
