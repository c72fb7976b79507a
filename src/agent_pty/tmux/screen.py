"""The screen of a pane as bytes that draw it on another terminal."""

from __future__ import annotations

_FIELDS = (
    *("cursor_y", "cursor_x", "alternate_on", "cursor_flag", "keypad_cursor_flag", "keypad_flag"),
    *("insert_flag", "wrap_flag", "mouse_standard_flag", "mouse_button_flag", "mouse_all_flag"),
    *("mouse_sgr_flag", "scroll_region_upper", "scroll_region_lower"),
    *("pane_height", "alternate_saved_y", "alternate_saved_x"),
)
_FORMAT = " ".join(f"#{{?{name},#{{{name}}},0}}" for name in _FIELDS)
# Modes by the field that says whether they are set.
_MODES = {
    "cursor_flag": "?25",
    "keypad_cursor_flag": "?1",
    "insert_flag": "4",
    "wrap_flag": "?7",
    "mouse_standard_flag": "?1000",
    "mouse_button_flag": "?1002",
    "mouse_all_flag": "?1003",
    "mouse_sgr_flag": "?1006",
}


def capture(pane: str) -> tuple[str, ...]:
    """Return the commands that print a pane's screen, and on the last line where its cursor is.

    In between is the main screen that a full-screen program has covered, if one has.
    """
    return (
        *("capture-pane", "-p", "-e", "-t", pane),
        *(";", "capture-pane", "-a", "-q", "-p", "-e", "-t", pane),
        *(";", "display-message", "-p", "-t", pane, _FORMAT),
    )


def drawn(captured: str) -> bytes:
    r"""Return what draws a captured screen.

    >>> drawn("one\ntwo\n1 3 0 1 0 0 0 1 0 0 0 0 0 23 2 0 0\n")[:40]
    b'\x1b[?1049l\x1b[m\x1b[r\x1b[H\x1b[2J\x1b[1;1Hone\x1b[2;1H'

    Bracketed paste is left as it was: no format of tmux 3.3a tells it.
    """
    *rows, last = captured.rstrip("\n").split("\n")
    state = dict(zip(_FIELDS, map(int, last.split()), strict=True))
    height = state["pane_height"]
    screen, covered = rows[:height], rows[height : 2 * height]
    if state["alternate_on"]:
        # Leaving the alternate screen brings this back, and the cursor to where it was here.
        place = _cursor(state["alternate_saved_y"], state["alternate_saved_x"])
        begin = f"\x1b[?1049l{_rows(covered)}{place}\x1b[?1049h"
    else:
        begin = "\x1b[?1049l"
    modes = "".join(f"\x1b[{mode}{'h' if state[name] else 'l'}" for name, mode in _MODES.items())
    keypad = "\x1b=" if state["keypad_flag"] else "\x1b>"
    region = f"\x1b[{state['scroll_region_upper'] + 1};{state['scroll_region_lower'] + 1}r"
    cursor = _cursor(state["cursor_y"], state["cursor_x"])
    return f"{begin}{_rows(screen)}{modes}{keypad}{region}{cursor}".encode()


def _rows(rows: list[str]) -> str:
    """Return what draws rows on an empty screen."""
    # The colours of a row may go on in the next: nothing is reset in between.
    lines = "".join(f"\x1b[{number};1H{row}" for number, row in enumerate(rows, 1))
    return f"\x1b[m\x1b[r\x1b[H\x1b[2J{lines}\x1b[m"


def _cursor(row: int, column: int) -> str:
    return f"\x1b[{row + 1};{column + 1}H"
