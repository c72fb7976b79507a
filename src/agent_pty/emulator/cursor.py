"""The cursor: where it is and how it looks."""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import Struct

from agent_pty.emulator.binding import check, ffi, lib, owned

CursorStyle = Literal["bar", "block", "underline", "hollow"]

_STYLES: Final[tuple[CursorStyle, ...]] = ("bar", "block", "underline", "hollow")


class Cursor(Struct, frozen=True, kw_only=True):
    """Where the next character goes, counted from 0.

    With *pending_wrap* the last column is written and the next character goes to the
    following line, although the cursor is still on this one.
    """

    row: int
    col: int
    visible: bool
    pending_wrap: bool
    style: CursorStyle
    blinking: bool


def read_cursor(terminal: Any) -> Cursor:
    """Return the cursor of *terminal*."""
    style, blinking = _look(terminal)
    return Cursor(
        row=_get(terminal, lib.GHOSTTY_TERMINAL_DATA_CURSOR_Y, "uint16_t *"),
        col=_get(terminal, lib.GHOSTTY_TERMINAL_DATA_CURSOR_X, "uint16_t *"),
        visible=_get(terminal, lib.GHOSTTY_TERMINAL_DATA_CURSOR_VISIBLE, "bool *"),
        pending_wrap=_get(terminal, lib.GHOSTTY_TERMINAL_DATA_CURSOR_PENDING_WRAP, "bool *"),
        style=style,
        blinking=blinking,
    )


def _get(terminal: Any, data: int, ctype: str) -> Any:
    out = ffi.new(ctype)
    check(lib.ghostty_terminal_get(terminal, data, out), "cursor")
    return out[0]


def _look(terminal: Any) -> tuple[CursorStyle, bool]:
    """Return shape and blinking, which only the render state has; it takes 20 us."""
    state = owned(lib.ghostty_render_state_new, lib.ghostty_render_state_free)
    style, blinking = ffi.new("int *"), ffi.new("bool *")
    get = lib.ghostty_render_state_get
    try:
        check(lib.ghostty_render_state_update(state, terminal), "render")
        check(get(state, lib.GHOSTTY_RENDER_STATE_DATA_CURSOR_VISUAL_STYLE, style), "cursor")
        check(get(state, lib.GHOSTTY_RENDER_STATE_DATA_CURSOR_BLINKING, blinking), "cursor")
    finally:
        ffi.release(state)
    return _STYLES[style[0]], bool(blinking[0])
