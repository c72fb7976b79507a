"""The screen as text, as escape sequences that paint it again, or as HTML."""

from __future__ import annotations

from typing import Any, Final, Literal

from agent_pty.emulator.binding import NULL, check, ffi, lib, owned, sized, take_allocated
from agent_pty.emulator.control import without_delete

Kind = Literal["plain", "vt", "html"]

_EMIT: Final[dict[Kind, int]] = {"plain": 0, "vt": 1, "html": 2}
_POINT_ACTIVE: Final = 0

# What a new terminal needs to behave like ours. The palette and the tab stops
# are left out: they would be written in full, some 5 kB, and programs rarely touch them.
_EXTRA: Final = ("modes", "scrolling_region", "pwd", "keyboard")
_SCREEN_EXTRA: Final = ("cursor", "style", "hyperlink", "protection", "kitty_keyboard", "charsets")


def grid_ref(terminal: Any, *, row: int, col: int) -> Any:
    """Return a reference to a visible cell, valid until the terminal changes."""
    point = ffi.new("GhosttyPoint *", {"tag": _POINT_ACTIVE, "x": col, "y": row})
    ref = sized("GhosttyGridRef")
    check(lib.ghostty_terminal_grid_ref(terminal, point[0], ref), f"cell {row},{col}")
    return ref


def _visible(terminal: Any, *, rows: int, cols: int) -> Any:
    selection = sized("GhosttySelection")
    selection.start = grid_ref(terminal, row=0, col=0)[0]
    selection.end = grid_ref(terminal, row=rows - 1, col=cols - 1)[0]
    return selection


def _options(kind: Kind, *, unwrap: bool, selection: Any) -> Any:
    options = sized("GhosttyFormatterTerminalOptions")
    options.emit, options.unwrap, options.trim = _EMIT[kind], unwrap, True
    options.selection = selection
    options.extra.size = ffi.sizeof("GhosttyFormatterTerminalExtra")
    options.extra.screen.size = ffi.sizeof("GhosttyFormatterScreenExtra")
    if kind == "vt":
        for name in _EXTRA:
            setattr(options.extra, name, True)
        for name in _SCREEN_EXTRA:
            setattr(options.extra.screen, name, True)
    return options


def format_visible(terminal: Any, kind: Kind, *, rows: int, cols: int, unwrap: bool) -> str:
    """Format what a person would see; with *unwrap* a soft-wrapped line is one line."""
    selection = _visible(terminal, rows=rows, cols=cols)
    return _format(terminal, _options(kind, unwrap=unwrap, selection=selection))


def format_all(terminal: Any, kind: Kind, *, unwrap: bool) -> str:
    """Format scrollback and screen together."""
    return _format(terminal, _options(kind, unwrap=unwrap, selection=NULL))


def _format(terminal: Any, options: Any) -> str:
    create, free = lib.ghostty_formatter_terminal_new, lib.ghostty_formatter_free
    formatter = owned(create, free, terminal, options[0])
    try:
        data = take_allocated(lib.ghostty_formatter_format_alloc, "format", formatter)
    finally:
        ffi.release(formatter)
    return without_delete(data.decode("utf-8", "replace"))
