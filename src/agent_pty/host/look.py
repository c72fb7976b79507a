"""Make the contract's screen object from an emulator."""

from __future__ import annotations

from agent_pty.core import semantic
from agent_pty.host import proc
from agent_pty.host.stream import Stream
from agent_pty.ops.model import Screen, ScreenCursor, ScreenSemantic, ScreenSpan, State


def look(stream: Stream, *, state: State, active: proc.Entry | None) -> Screen:
    """Render the screen and say what it means."""
    emulator = stream.emulator
    text = emulator.text()
    cursor = emulator.cursor
    return Screen(
        rows=emulator.rows,
        cols=emulator.cols,
        text=text,
        spans=[_span(span) for span in semantic.spans(text)],
        semantic=_summary(text, active),
        cursor=ScreenCursor(row=cursor.row, col=cursor.col, visible=cursor.visible),
        title=emulator.title,
        cwd=emulator.cwd,
        alternate_screen=emulator.alternate,
        modes=dict(emulator.modes()),
        state=state,
    )


def _span(span: semantic.Span) -> ScreenSpan:
    return ScreenSpan(
        line=span.line,
        start_col=span.start_col,
        end_col=span.end_col,
        kind=span.kind,
        text=span.text,
    )


def _summary(text: str, active: proc.Entry | None) -> ScreenSemantic:
    found = semantic.summarise(text)
    return ScreenSemantic(
        prompt=found.prompt,
        command=found.command,
        error_lines=list(found.error_lines),
        urls=list(found.urls),
        file_paths=list(found.file_paths),
        spinner_lines=list(found.spinner_lines),
        active_process=proc.described(active) if active is not None else None,
    )
