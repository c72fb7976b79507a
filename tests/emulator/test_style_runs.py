"""Styles as the program set them, row by row."""

from __future__ import annotations

import pytest

from agent_pty.emulator import Emulator, Run, Style


def runs(data: bytes, *, row: int = 0) -> list[Run]:
    """Return the runs of one row after *data*."""
    emulator = Emulator(rows=4, cols=20)
    emulator.feed(data)
    return emulator.styled()[row]


ATTRIBUTES = {
    b"1": Style(bold=True),
    b"2": Style(faint=True),
    b"3": Style(italic=True),
    b"4": Style(underline=True),
    b"4:3": Style(underline=True),
    b"5": Style(blink=True),
    b"7": Style(inverse=True),
    b"8": Style(invisible=True),
    b"9": Style(strikethrough=True),
    b"31": Style(fg=1),
    b"97": Style(fg=15),
    b"38;5;200": Style(fg=200),
    b"38;2;1;2;3": Style(fg=(1, 2, 3)),
    b"48:2::4:5:6": Style(bg=(4, 5, 6)),
    b"1;4;33;44": Style(bold=True, underline=True, fg=3, bg=4),
}


@pytest.mark.parametrize(("code", "style"), ATTRIBUTES.items())
def test_attributes_become_styles(code: bytes, style: Style) -> None:
    """
    Each SGR code gives the one style it stands for, and a reset ends it.
    """
    assert runs(b"\x1b[%bmab\x1b[0mc" % code) == [
        Run(col=0, width=2, text="ab", style=style),
        Run(col=2, width=1, text="c", style=Style()),
    ]


def test_runs_count_cells_and_keep_characters_whole() -> None:
    """
    A wide character is two cells and one text, combining characters add none.
    """
    assert runs("日e\u0301\x1b[1m本".encode()) == [
        Run(col=0, width=3, text="日e\u0301", style=Style()),
        Run(col=3, width=2, text="本", style=Style(bold=True)),
    ]


def test_erased_background_is_part_of_the_picture() -> None:
    """
    A line erased in a colour is a run of blanks in it, joined with text of that colour.
    """
    assert runs(b"\x1b[44mab\x1b[K") == [
        Run(col=0, width=20, text="ab".ljust(20), style=Style(bg=4))
    ]
    assert runs(b"\x1b[48;2;1;2;3m\x1b[K")[0].style == Style(bg=(1, 2, 3))


def test_neighbouring_links_are_told_apart() -> None:
    """
    Two links side by side are two runs, and text after them has none.
    """
    data = b"\x1b]8;;http://a/\x07li\x1b]8;;http://b/\x07nk\x1b]8;;\x07!"

    assert [(run.text, run.link) for run in runs(data)] == [
        ("li", "http://a/"),
        ("nk", "http://b/"),
        ("!", None),
    ]


def test_every_row_is_there_and_says_what_lines_say() -> None:
    """
    There are as many rows as on the screen, with the same text, also after scrolling.
    """
    emulator = Emulator(rows=4, cols=20)
    emulator.feed(b"".join(b"\x1b[3%dmline\x1b[0m %d\r\n" % (n % 8, n) for n in range(5000)))

    rows = emulator.styled()

    assert ["".join(run.text for run in row) for row in rows] == emulator.lines()
    assert rows[0][0].style == Style(fg=4997 % 8)
