"""The screen as runs of equally styled text.

Rows are read whole from the library's render state. A cell is an opaque 64-bit number, so
each distinct number is decoded once and the result reused: a screen has 1,920 cells but
only some dozens of different ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any, Final, NamedTuple

from msgspec import Struct

from agent_pty.emulator.binding import check, ffi, lib, owned, sized
from agent_pty.emulator.control import without_delete
from agent_pty.emulator.format import grid_ref

Color = int | tuple[int, int, int] | None

_GRAPHEME, _BG_PALETTE, _BG_RGB = 1, 2, 3
_SPACERS: Final = (2, 3)
_MAX_LINK: Final = 4096


class Style(Struct, frozen=True, kw_only=True):
    """How text looks; a colour is None for the default, a palette index, or (r, g, b)."""

    fg: Color = None
    bg: Color = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underline: bool = False
    blink: bool = False
    inverse: bool = False
    invisible: bool = False
    strikethrough: bool = False


class Run(Struct, frozen=True, kw_only=True):
    """A stretch of one row in one style; *width* counts cells, not characters."""

    col: int
    width: int
    text: str
    style: Style
    link: str | None = None


class _Cell(NamedTuple):
    text: str
    kind: int
    linked: bool
    # Style id and own background: what the look of the cell depends on.
    look: tuple[int, Color]


_Look = tuple[Style, str | None]
_PLAIN: Final[_Look] = (Style(), None)


def styled_rows(terminal: Any) -> list[list[Run]]:
    """Return the runs of every visible row; blank default cells at a row's end are left out."""
    with _reader(terminal) as reader:
        return [reader.runs(row) for row in reader.rows()]


@contextmanager
def _reader(terminal: Any) -> Iterator[_Reader]:
    state = owned(lib.ghostty_render_state_new, lib.ghostty_render_state_free)
    new_rows, free_rows = (
        lib.ghostty_render_state_row_iterator_new,
        lib.ghostty_render_state_row_iterator_free,
    )
    rows = owned(new_rows, free_rows)
    cells = owned(lib.ghostty_render_state_row_cells_new, lib.ghostty_render_state_row_cells_free)
    try:
        check(lib.ghostty_render_state_update(state, terminal), "render")
        yield _Reader(terminal, state, rows, cells)
    finally:
        for helper in (cells, rows, state):
            ffi.release(helper)


class _Reader:
    """One pass over the rows of one terminal."""

    def __init__(self, terminal: Any, state: Any, rows: Any, cells: Any) -> None:
        self._terminal, self._state, self._rows, self._cells = terminal, state, rows, cells
        self._known: dict[int, _Cell] = {}
        self._style = sized("GhosttyStyle")

    def rows(self) -> Iterator[int]:
        """Step through the rows; `runs` reads the one last yielded."""
        pointer = ffi.new("void **", self._rows)
        wanted = lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR
        check(lib.ghostty_render_state_get(self._state, wanted, pointer), "rows")
        row = 0
        while lib.ghostty_render_state_row_iterator_next(self._rows):
            yield row
            row += 1

    def runs(self, row: int) -> list[Run]:
        """Return the runs of the current row, whose number is *row*."""
        cells = self._row_cells()
        looks = self._looks(row, cells)
        runs, col = [], 0
        for (style, link), group in groupby(looks):
            width = sum(1 for _ in group)
            text = "".join(self._text(col + at, cells[col + at]) for at in range(width))
            runs.append(Run(col=col, width=width, text=text, style=style, link=link))
            col += width
        return runs

    def _row_cells(self) -> list[_Cell]:
        view, pointer = ffi.new("GhosttyCellsView *"), ffi.new("void **", self._cells)
        get = lib.ghostty_render_state_row_get
        check(get(self._rows, lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS_RAW, view), "cells")
        check(get(self._rows, lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS, pointer), "cells")
        numbers = ffi.unpack(view.ptr, view.len)
        while numbers and not numbers[-1]:
            numbers.pop()
        known = self._known
        known.update((number, _decode(number)) for number in set(numbers) - known.keys())
        return [known[number] for number in numbers]

    def _looks(self, row: int, cells: list[_Cell]) -> list[_Look]:
        # Style ids belong to a page of the library's memory, so they hold for one row only.
        styles: dict[tuple[int, Color], _Look] = {(0, None): _PLAIN}
        looks = []
        for col, cell in enumerate(cells):
            look = styles.get(cell.look)
            if look is None:
                look = styles[cell.look] = (self._read_style(col, cell.look[1]), None)
            looks.append((look[0], self._link(row, col)) if cell.linked else look)
        return looks

    def _read_style(self, col: int, background: Color) -> Style:
        read = self._style
        self._get(col, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE, read)
        return Style(
            fg=_color(read.fg_color),
            bg=_color(read.bg_color) if background is None else background,
            bold=read.bold,
            faint=read.faint,
            italic=read.italic,
            underline=bool(read.underline),
            blink=read.blink,
            inverse=read.inverse,
            invisible=read.invisible,
            strikethrough=read.strikethrough,
        )

    def _get(self, col: int, data: int, out: Any) -> None:
        check(lib.ghostty_render_state_row_cells_select(self._cells, col), "select")
        check(lib.ghostty_render_state_row_cells_get(self._cells, data, out), "cell")

    def _text(self, col: int, cell: _Cell) -> str:
        if cell.kind != _GRAPHEME:
            return cell.text
        length = ffi.new("uint32_t *")
        self._get(col, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_LEN, length)
        points = ffi.new("uint32_t[]", length[0])
        self._get(col, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_BUF, points)
        return "".join(map(chr, points))

    def _link(self, row: int, col: int) -> str | None:
        buffer, length = ffi.new("uint8_t[]", _MAX_LINK), ffi.new("size_t *")
        ref = grid_ref(self._terminal, row=row, col=col)
        if lib.ghostty_grid_ref_hyperlink_uri(ref, buffer, _MAX_LINK, length):
            return None
        return bytes(ffi.buffer(buffer, length[0])).decode("utf-8", "replace")


def _color(color: Any) -> Color:
    if color.tag == 0:
        return None
    if color.tag == 1:
        return int(color.value.palette)
    return color.value.rgb.r, color.value.rgb.g, color.value.rgb.b


def _field(number: int, data: int, ctype: str) -> Any:
    out = ffi.new(ctype)
    check(lib.ghostty_cell_get(number, data, out), "cell")
    return out[0]


def _decode(number: int) -> _Cell:
    kind = _field(number, lib.GHOSTTY_CELL_DATA_CONTENT_TAG, "int *")
    style_id = _field(number, lib.GHOSTTY_CELL_DATA_STYLE_ID, "uint16_t *")
    return _Cell(
        text=_plain_text(number, kind),
        kind=kind,
        linked=_field(number, lib.GHOSTTY_CELL_DATA_HAS_HYPERLINK, "bool *"),
        look=(style_id, _background(number, kind)),
    )


def _plain_text(number: int, kind: int) -> str:
    """Return the text of a cell of one code point; the right half of a wide one has none."""
    if kind in (_BG_PALETTE, _BG_RGB):
        return " "
    if _field(number, lib.GHOSTTY_CELL_DATA_WIDE, "int *") in _SPACERS:
        return ""
    point = _field(number, lib.GHOSTTY_CELL_DATA_CODEPOINT, "uint32_t *")
    return without_delete(chr(point or 0x20))


def _background(number: int, kind: int) -> Color:
    """Return the colour of a cell that is nothing but background, as erasing leaves it."""
    if kind == _BG_PALETTE:
        return int(_field(number, lib.GHOSTTY_CELL_DATA_COLOR_PALETTE, "uint8_t *"))
    if kind == _BG_RGB:
        color = _field(number, lib.GHOSTTY_CELL_DATA_COLOR_RGB, "GhosttyColorRgb *")
        return color.r, color.g, color.b
    return None
