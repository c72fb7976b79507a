"""The bytes a terminal sends for the mouse, in the encoding the program asked for."""

from __future__ import annotations

from typing import Any, Final, Literal

from agent_pty.emulator.binding import check, ffi, lib, owned, sized
from agent_pty.emulator.callback import CELL_HEIGHT, CELL_WIDTH
from agent_pty.emulator.keyboard import Modifiers, bits
from agent_pty.errors import BadRequest

Action = Literal["press", "release", "motion"]
Tracking = Literal["none", "x10", "normal", "button", "any"]
Button = Literal[
    "none", "left", "middle", "right", "wheel-up", "wheel-down", "wheel-left", "wheel-right"
]

_ACTIONS: Final[dict[str, int]] = {"press": 0, "release": 1, "motion": 2}
_BUTTONS: Final[dict[str, int]] = {
    "left": 1,
    "right": 2,
    "middle": 3,
    "wheel-up": 4,
    "wheel-down": 5,
    "wheel-left": 6,
    "wheel-right": 7,
}
_ROOM: Final = 64

# The mode bits do not show what is on: setting any tracking mode replaces the one before,
# resetting any ends it, and the bits of the others stay. So ask the encoder itself, from
# the kind of tracking that reports most to the one that reports least.
_PROBES: Final[tuple[tuple[Tracking, Action, Button], ...]] = (
    ("any", "motion", "none"),
    ("button", "motion", "left"),
    ("normal", "release", "left"),
    ("x10", "press", "left"),
)


def tracking(terminal: Any) -> Tracking:
    """Return which mouse events the program wants."""
    for kind, action, button in _PROBES:
        if _encode(terminal, action=action, button=button, row=0, col=0, mods=0, rows=1, cols=1):
            return kind
    return "none"


def encode_mouse(
    terminal: Any,
    *,
    action: Action,
    button: Button,
    row: int,
    col: int,
    mods: Modifiers,
    rows: int,
    cols: int,
) -> bytes:
    """Return what the program expects to read, or nothing if it did not ask for this event."""
    if not (0 <= row < rows and 0 <= col < cols):
        raise BadRequest(f"row {row}, col {col} is off the {rows}x{cols} screen")
    where = {"row": row, "col": col, "rows": rows, "cols": cols}
    return _encode(terminal, action=action, button=button, mods=bits(mods), **where)


def _encode(
    terminal: Any,
    *,
    action: Action,
    button: Button,
    mods: int,
    row: int,
    col: int,
    rows: int,
    cols: int,
) -> bytes:
    encoder = owned(lib.ghostty_mouse_encoder_new, lib.ghostty_mouse_encoder_free)
    event = owned(lib.ghostty_mouse_event_new, lib.ghostty_mouse_event_free)
    try:
        lib.ghostty_mouse_encoder_setopt_from_terminal(encoder, terminal)
        _set_geometry(encoder, rows=rows, cols=cols, held=button != "none")
        lib.ghostty_mouse_event_set_action(event, _number(_ACTIONS, action))
        if button != "none":
            lib.ghostty_mouse_event_set_button(event, _number(_BUTTONS, button))
        lib.ghostty_mouse_event_set_mods(event, mods)
        lib.ghostty_mouse_event_set_position(event, _center(row, col))
        return _encoded(encoder, event)
    finally:
        ffi.release(event)
        ffi.release(encoder)


def _number(table: dict[str, int], name: str) -> int:
    if name not in table:
        raise BadRequest(f"{name!r} is none of {', '.join(table)}")
    return table[name]


def _center(row: int, col: int) -> Any:
    middle = (col + 0.5) * CELL_WIDTH, (row + 0.5) * CELL_HEIGHT
    return ffi.new("GhosttyMousePosition *", middle)[0]


def _set_geometry(encoder: Any, *, rows: int, cols: int, held: bool) -> None:
    size = sized("GhosttyMouseEncoderSize")
    size.cell_width, size.cell_height = CELL_WIDTH, CELL_HEIGHT
    size.screen_width, size.screen_height = cols * CELL_WIDTH, rows * CELL_HEIGHT
    pressed = ffi.new("bool *", held)
    lib.ghostty_mouse_encoder_setopt(encoder, lib.GHOSTTY_MOUSE_ENCODER_OPT_SIZE, size)
    wanted = lib.GHOSTTY_MOUSE_ENCODER_OPT_ANY_BUTTON_PRESSED
    lib.ghostty_mouse_encoder_setopt(encoder, wanted, pressed)


def _encoded(encoder: Any, event: Any) -> bytes:
    buffer, length = ffi.new("char[]", _ROOM), ffi.new("size_t *")
    check(lib.ghostty_mouse_encoder_encode(encoder, event, buffer, _ROOM, length), "encode mouse")
    return bytes(ffi.buffer(buffer, length[0]))
