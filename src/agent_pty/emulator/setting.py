"""How every terminal of ours is set up: what it answers, and what it must never do.

Rule of this file: the program's bytes are hostile. It may cost us no memory beyond these
limits, read no file and no clipboard, and get none of its own text back as input.
"""

from __future__ import annotations

from typing import Any, Final

from agent_pty.emulator.binding import check, ffi, lib
from agent_pty.emulator.callback import CALLBACKS
from agent_pty.emulator.event import MAX_CLIPBOARD
from agent_pty.emulator.palette import DEFAULT
from agent_pty.emulator.snapshot import MAX_CONTINUATION

_APC_MAX_BYTES: Final = 4096

_TERMINFO: Final = ffi.new("char[]", b"xterm-256color")

# (option, C type of its value, value)
_OPTIONS: Final[tuple[tuple[int, str, Any], ...]] = (
    # Without defaults a program that asks for the colours (OSC 10, 11) waits for ever.
    (lib.GHOSTTY_TERMINAL_OPT_COLOR_FOREGROUND, "GhosttyColorRgb *", DEFAULT.foreground),
    (lib.GHOSTTY_TERMINAL_OPT_COLOR_BACKGROUND, "GhosttyColorRgb *", DEFAULT.background),
    (lib.GHOSTTY_TERMINAL_OPT_COLOR_CURSOR, "GhosttyColorRgb *", DEFAULT.foreground),
    # What a program is told about the colours (OSC 4) is what a picture shows.
    (lib.GHOSTTY_TERMINAL_OPT_COLOR_PALETTE, "GhosttyColorRgb[256]", DEFAULT.colors),
    # A title that comes back as input is a command the user never typed (CVE-2003-0063).
    (lib.GHOSTTY_TERMINAL_OPT_TITLE_REPORT, "bool *", False),
    # Images would be kept at 10 MB and more a screen, and nothing here shows them.
    (lib.GHOSTTY_TERMINAL_OPT_KITTY_IMAGE_STORAGE_LIMIT, "uint64_t *", 0),
    (lib.GHOSTTY_TERMINAL_OPT_GLYPH_PROTOCOL, "bool *", False),
    (lib.GHOSTTY_TERMINAL_OPT_APC_MAX_BYTES, "size_t *", _APC_MAX_BYTES),
    (lib.GHOSTTY_TERMINAL_OPT_CLIPBOARD_WRITE_MAX_BYTES, "size_t *", MAX_CLIPBOARD),
    (
        lib.GHOSTTY_TERMINAL_OPT_TERMINFO_NAME,
        "GhosttyString *",
        {"ptr": ffi.cast("uint8_t *", _TERMINFO), "len": len(_TERMINFO) - 1},
    ),
)


def configure(terminal: Any, *, userdata: Any) -> None:
    """Apply our settings and callbacks; *userdata* must live as long as the terminal."""
    _set(terminal, lib.GHOSTTY_TERMINAL_OPT_USERDATA, userdata)
    for option, function in CALLBACKS.items():
        _set(terminal, option, function)
    for option, ctype, value in _OPTIONS:
        _set(terminal, option, ffi.new(ctype, value))


def track_continuation(terminal: Any) -> None:
    """Keep a half-received sequence for snapshots; only before the terminal is first fed."""
    limit = ffi.new("size_t *", MAX_CONTINUATION)
    _set(terminal, lib.GHOSTTY_TERMINAL_OPT_CONTINUATION_MAX_BYTES, limit)


def _set(terminal: Any, option: int, value: Any) -> None:
    check(lib.ghostty_terminal_set(terminal, option, value), f"terminal option {option}")
