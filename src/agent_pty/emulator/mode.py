"""Terminal modes by number, and those that have a name here."""

from __future__ import annotations

from typing import Any, Final

from agent_pty.emulator.binding import check, ffi, lib

_ANSI_BIT: Final = 1 << 15
_MAX_NUMBER: Final = _ANSI_BIT - 1

_NAMED: Final = (
    ("application_cursor", 1, False),
    ("application_keypad", 66, False),
    ("autowrap", 7, False),
    ("origin", 6, False),
    ("insert", 4, True),
    ("newline", 20, True),
    ("bracketed_paste", 2004, False),
    ("focus_events", 1004, False),
    ("mouse_sgr", 1006, False),
    ("alternate_scroll", 1007, False),
    ("synchronized", 2026, False),
    ("cursor_visible", 25, False),
)


def mode(terminal: Any, number: int, *, ansi: bool = False) -> bool:
    """Say whether a mode is set; one that the terminal does not know is never set."""
    if not 0 <= number <= _MAX_NUMBER:
        return False
    config = ffi.new("GhosttyTerminalModeConfig *")
    config.mode = number | (_ANSI_BIT if ansi else 0)
    if lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_MODE, config):
        return False
    return bool(config.value)


def kitty_keyboard(terminal: Any) -> int:
    """Return the flags of the kitty keyboard protocol, 0 when it is off."""
    out = ffi.new("uint8_t *")
    wanted = lib.GHOSTTY_TERMINAL_DATA_KITTY_KEYBOARD_FLAGS
    check(lib.ghostty_terminal_get(terminal, wanted, out), "kitty keyboard flags")
    return int(out[0])


def named_modes(terminal: Any) -> dict[str, bool]:
    """Return the modes that have a name here, always in the same order."""
    return {name: mode(terminal, number, ansi=ansi) for name, number, ansi in _NAMED}
