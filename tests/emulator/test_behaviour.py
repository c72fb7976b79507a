"""What the screen shows after what bytes: one named behaviour per case."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from agent_pty.emulator import Emulator


class Case(NamedTuple):
    """Bytes, the first rows they must leave, and where the cursor must stand."""

    data: bytes
    lines: list[str]
    cursor: tuple[int, int]


def fed(data: bytes, *, rows: int = 5, cols: int = 10) -> Emulator:
    """Return a small emulator that has read *data*."""
    emulator = Emulator(rows=rows, cols=cols)
    emulator.feed(data)
    return emulator


THREE = b"1\r\n2\r\n3"
CASES = {
    "plain text": Case(b"hello", ["hello"], (0, 5)),
    "carriage return": Case(b"50%\r99%", ["99%"], (0, 3)),
    "backspace": Case(b"ab\bc", ["ac"], (0, 2)),
    "line feed keeps the column": Case(b"a\nb", ["a", " b"], (1, 2)),
    "line feed in newline mode": Case(b"\x1b[20ha\nb", ["a", "b"], (1, 1)),
    "next line and index": Case(b"a\x1bEb\x1bDc", ["a", "b", " c"], (2, 2)),
    "nul is nothing": Case(b"a\0b", ["ab"], (0, 2)),
    # A real terminal ignores DEL; the library gives it a cell, which we show blank.
    "delete is shown blank": Case(b"a\x7fb", ["a b"], (0, 3)),
    "wide character": Case("日x".encode(), ["日x"], (0, 3)),
    "wide character does not split": Case("123456789日".encode(), ["123456789", "日"], (1, 2)),
    "half a wide character overwritten": Case("日本\x1b[1;2Hx".encode(), [" x本"], (0, 2)),
    "combining character": Case("e\u0301x".encode(), ["e\u0301x"], (0, 2)),
    "joined emoji take cells each": Case("👨‍👩‍👧x".encode(), ["👨‍👩‍👧x"], (0, 7)),
    "joined emoji cluster in mode 2027": Case("\x1b[?2027h👨‍👩‍👧x".encode(), ["👨‍👩‍👧x"], (0, 3)),
    "invalid utf-8": Case(b"a\xff\xc3(b", ["a\ufffd\ufffd(b"], (0, 5)),
    "lone c1 byte": Case(b"a\x9b1mb", ["a\ufffd1mb"], (0, 5)),
    "autowrap": Case(b"0123456789A", ["0123456789", "A"], (1, 1)),
    "autowrap off": Case(b"\x1b[?7l0123456789AB", ["012345678B"], (0, 9)),
    "scroll region": Case(
        b"1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[4;1H\nX", ["1", "3", "4", "X", "5"], (3, 1)
    ),
    "left and right margins": Case(
        b"\x1b[?69h\x1b[3;6s\x1b[1;3Habcdef", ["  abcd", "  ef"], (1, 4)
    ),
    "reverse index scrolls down": Case(THREE + b"\x1b[H\x1bMtop", ["top", "1", "2", "3"], (0, 3)),
    "scroll up": Case(THREE + b"\x1b[S", ["2", "3"], (2, 1)),
    "scroll down": Case(THREE + b"\x1b[T", ["", "1", "2", "3"], (2, 1)),
    "default tab stops": Case(b"\tx", ["        x"], (0, 9)),
    "own tab stop": Case(b"\x1b[3g\x1b[1;5H\x1bH\r\tx", ["    x"], (0, 5)),
    "back tab": Case(b"\t\x1b[Zx", ["x"], (0, 1)),
    "dec line drawing": Case(b"\x1b(0lqk\x1b(Bq", ["┌─┐q"], (0, 4)),
    "shift out and in": Case(b"\x1b)0\x0eq\x0fq", ["─q"], (0, 2)),
    "repeat": Case(b"a\x1b[4b", ["aaaaa"], (0, 5)),
    "alignment pattern": Case(b"\x1b#8", ["E" * 10] * 5, (0, 0)),
    "insert line": Case(THREE + b"\x1b[2;1H\x1b[L", ["1", "", "2", "3"], (1, 0)),
    "delete line": Case(THREE + b"\x1b[2;1H\x1b[M", ["1", "3"], (1, 0)),
    "insert character": Case(b"abc\x1b[1;2H\x1b[2@", ["a  bc"], (0, 1)),
    "delete character": Case(b"abcdef\x1b[1;2H\x1b[2P", ["adef"], (0, 1)),
    "erase character": Case(b"abcdef\x1b[1;2H\x1b[2X", ["a  def"], (0, 1)),
    "insert mode": Case(b"abc\x1b[1;2H\x1b[4hXY", ["aXYbc"], (0, 3)),
    "erase to end of line": Case(b"abcdef\x1b[1;3H\x1b[K", ["ab"], (0, 2)),
    "erase to start of line": Case(b"abcdef\x1b[1;3H\x1b[1K", ["   def"], (0, 2)),
    "erase line": Case(b"abcdef\x1b[1;3H\x1b[2K", [""], (0, 2)),
    "erase below": Case(b"aa\r\nbbbb\r\ncc\x1b[2;3H\x1b[J", ["aa", "bb"], (1, 2)),
    "erase above": Case(b"aa\r\nbbbb\r\ncc\x1b[2;3H\x1b[1J", ["", "   b", "cc"], (1, 2)),
    "erase screen": Case(b"aa\r\nbb\x1b[2J", [""], (1, 2)),
    "absolute row and column": Case(b"\x1b[3d\x1b[4Gx", ["", "", "   x"], (2, 4)),
    "far position is clamped": Case(b"\x1b[999;999Hx", [""] * 4 + [" " * 9 + "x"], (4, 9)),
    "saved cursor": Case(b"ab\x1b7\x1b[5;5H\x1b8c", ["abc"], (0, 3)),
    "saved cursor, the ansi way": Case(b"ab\x1b[s\x1b[5;5H\x1b[uc", ["abc"], (0, 3)),
    "origin mode": Case(b"\x1b[2;4r\x1b[?6h\x1b[1;1HX", ["", "X"], (1, 1)),
    "alternate screen": Case(b"main\x1b[?1049h\x1b[Halt", ["alt"], (0, 3)),
    "back from the alternate screen": Case(b"main\x1b[?1049halt\x1b[?1049l", ["main"], (0, 4)),
    "full reset": Case(b"abc\x1b[?2004h\x1b[5;5H\x1bc", [""], (0, 0)),
    # A pty keeps its size whatever the program says, so ours must too.
    "132 columns are refused": Case(b"ab\x1b[?40h\x1b[?3hz", ["z"], (0, 1)),
    "title leaves no text": Case(b"\x1b]0;t\x07ok", ["ok"], (0, 2)),
    "shell marks leave no text": Case(
        b"\x1b]133;A\x07$ \x1b]133;B\x07ls\x1b]133;C\x07\r\nf\x1b]133;D\x07", ["$ ls", "f"], (1, 1)
    ),
    "link leaves its label": Case(b"\x1b]8;;http://x\x1b\\l\x1b]8;;\x1b\\", ["l"], (0, 1)),
    "cancelled title": Case(b"\x1b]2;abc\x18ok", ["ok"], (0, 2)),
    "unknown sequences leave no text": Case(
        b"\x1b[1;2;3!z\x1bP1zq\x1b\\\x1b^x\x1b\\ok", ["ok"], (0, 2)
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_screen_shows_what_a_terminal_would(case: Case) -> None:
    """
    Each sequence changes rows and cursor as the terminals that programs are written for.
    """
    emulator = fed(case.data)

    assert emulator.lines() == case.lines + [""] * (5 - len(case.lines))
    assert (emulator.cursor.row, emulator.cursor.col) == case.cursor
    assert emulator.cols == 10


def test_text_joins_what_only_wrapped() -> None:
    """
    A line the screen was too narrow for is one line of text; rows show it as displayed.
    """
    emulator = fed(b"0123456789ABC\r\nnext  \r\n\r\n")

    assert emulator.text() == "0123456789ABC\nnext"
    assert emulator.lines() == ["0123456789", "ABC", "next", "", ""]


def test_resize_wraps_lines_anew() -> None:
    """
    A wrapped line is joined on a wider screen and split again on a narrower one.
    """
    emulator = fed(b"0123456789ABC")

    emulator.resize(rows=5, cols=20)
    wide = emulator.lines()
    emulator.resize(rows=3, cols=5)

    assert wide[0] == "0123456789ABC"
    assert emulator.lines() == ["01234", "56789", "ABC"]
    assert (emulator.rows, emulator.cols) == (3, 5)


def test_the_last_column_waits_with_its_wrap() -> None:
    """
    After the last column the cursor stays there, marked, until the next character.
    """
    emulator = fed(b"0123456789")

    assert emulator.cursor.pending_wrap
    assert emulator.cursor.col == 9


def test_cursor_looks() -> None:
    """
    Shape, blinking and visibility follow the program's wishes.
    """
    hidden_bar = fed(b"\x1b[5 q\x1b[?25l").cursor
    underline = fed(b"\x1b[4 q").cursor

    assert (hidden_bar.style, hidden_bar.blinking, hidden_bar.visible) == ("bar", True, False)
    assert (underline.style, underline.blinking, underline.visible) == ("underline", False, True)


def test_what_scrolls_off_is_kept_until_erased() -> None:
    """
    Scrolled rows can be formatted, and the program can erase them.
    """
    emulator = fed(b"".join(b"line %d\r\n" % number for number in range(20)))
    kept = emulator.format("plain", scrollback=True)
    scrolled = emulator.scrollback_rows

    emulator.feed(b"\x1b[3J")

    assert scrolled == 16
    assert kept.startswith("line 0\nline 1\n")
    assert emulator.scrollback_rows == 0


def test_the_alternate_screen_is_known() -> None:
    """
    One can tell a full-screen program from a shell.
    """
    emulator = fed(b"main\x1b[?1049halt")
    inside = emulator.alternate

    emulator.feed(b"\x1b[?1049l")

    assert inside
    assert not emulator.alternate


def test_modes_have_names_in_a_fixed_order() -> None:
    """
    Every named mode can be switched on, and switching changes no order.
    """
    plain = fed(b"").modes()
    all_on = fed(
        b"\x1b[?1;66;6;2004;1004;1006;2026;1002h\x1b[4;20h\x1b[?7;25;1007l\x1b[>5u"
    ).modes()

    assert list(plain) == list(all_on)
    assert all_on == {
        "application_cursor": True,
        "application_keypad": True,
        "autowrap": False,
        "origin": True,
        "insert": True,
        "newline": True,
        "bracketed_paste": True,
        "focus_events": True,
        "mouse_sgr": True,
        "alternate_scroll": False,
        "synchronized": True,
        "cursor_visible": False,
        "mouse": "button",
        "kitty_keyboard": 5,
    }
    assert all(all_on[name] != plain[name] for name in plain)


def test_modes_by_number() -> None:
    """
    A mode is asked for by its number, an unknown one is off.
    """
    emulator = fed(b"\x1b[?2004h\x1b[4h")

    assert emulator.mode(2004)
    assert emulator.mode(4, ansi=True)
    assert not emulator.mode(4)
    assert not emulator.mode(31337)
    assert not emulator.mode(-1)


def test_vt_form_paints_an_equal_terminal() -> None:
    """
    The escape form, fed to a fresh emulator, gives the same rows, cursor, modes and styles.
    """
    emulator = fed("main\x1b[?1049h\x1b[2;3H\x1b[1;31m日x\x1b[0m\x1b[?2004h\x1b[?1h".encode())

    copy = fed(emulator.format("vt").encode())

    assert copy.lines() == emulator.lines()
    assert copy.styled() == emulator.styled()
    assert copy.cursor == emulator.cursor
    assert copy.modes() == emulator.modes()
    assert copy.alternate


def test_html_form_escapes_what_the_program_wrote() -> None:
    """
    Markup in the program's output is text in the HTML form.
    """
    assert "<script>" not in fed(b"<script>").format("html")
