"""What a pane shows, as bytes that draw it."""

from __future__ import annotations

from agent_pty.emulator import Emulator
from agent_pty.tmux.screen import drawn

_STATE = "1 3 {alternate} 1 1 0 0 1 0 0 0 0 0 4 5 2 4"


def shown(captured: str, *, alternate: int = 0) -> Emulator:
    """Draw a captured screen on a terminal that shows something else."""
    emulator = Emulator(rows=5, cols=20)
    emulator.feed(b"something else\r\n\x1b[31mred\x1b[2;4r\x1b[?25l")
    emulator.feed(drawn(captured + _STATE.format(alternate=alternate) + "\n"))
    return emulator


def test_rows_and_cursor_are_where_they_were() -> None:
    """
    Nothing of the screen before is left.
    """
    emulator = shown("one\n  two\n\n\n\n")

    assert emulator.text().rstrip().splitlines() == ["one", "  two"]
    assert (emulator.cursor.row, emulator.cursor.col) == (1, 3)


def test_the_alternate_screen_is_the_alternate_screen() -> None:
    """
    A full-screen program goes on drawing where it did.
    """
    emulator = shown("full\n\n\n\n\n", alternate=1)

    assert emulator.text().startswith("full")
    emulator.feed(b"\x1b[?1049l")
    assert "full" not in emulator.text()


def test_what_a_full_screen_program_covers_comes_back_with_its_cursor() -> None:
    """
    The main screen is drawn before the alternate one.
    """
    emulator = shown("full\n\n\n\n\nmain\n\nless\n\n\n", alternate=1)

    emulator.feed(b"\x1b[?1049l")

    assert emulator.text().rstrip().splitlines() == ["main", "", "less"]
    assert (emulator.cursor.row, emulator.cursor.col) == (2, 4)
