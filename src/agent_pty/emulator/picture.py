"""What a picture of a screen shows, before it is drawn: colours resolved, cursor in place.

Both drawings, SVG and PNG, are made from this and from nothing else, so they agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent_pty.emulator.box import Rect
from agent_pty.emulator.cluster import Cluster, clusters
from agent_pty.emulator.contrast import Rgb, legible, mix
from agent_pty.emulator.cursor import Cursor
from agent_pty.emulator.emulator import Emulator
from agent_pty.emulator.palette import DEFAULT, Palette, brightened
from agent_pty.emulator.style import Run, Style

# At 15 pixels the common monospace fonts advance by 9.
CELL_WIDTH: Final = 9
CELL_HEIGHT: Final = 18
FONT_SIZE: Final = 15
BASELINE: Final = 14
FAMILIES: Final = 'ui-monospace, "DejaVu Sans Mono", "Noto Sans Mono CJK", monospace'

_FAINT: Final = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """A screen that no longer changes: take it in the emulator's thread, draw it in any."""

    rows: Sequence[Sequence[Run]]
    height: int
    width: int
    cursor: Cursor
    palette: Palette = DEFAULT


@dataclass(frozen=True, kw_only=True, slots=True)
class Appearance:
    """How a span is painted; *hidden* text keeps its background.

    Letters have the colour *ink*. Lines and blocks have *fg* itself: they often continue a
    background of that colour.
    """

    ink: Rgb
    fg: Rgb
    bg: Rgb
    bold: bool
    italic: bool
    underline: bool
    strikethrough: bool
    hidden: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Neighbouring clusters that look the same, placed by cell."""

    row: int
    col: int
    clusters: tuple[Cluster, ...]
    look: Appearance

    @property
    def width(self) -> int:
        """The cells it takes."""
        return sum(cluster.width for cluster in self.clusters)

    def placed(self) -> Iterator[tuple[int, Cluster]]:
        """Yield each cluster that shows anything, with its column."""
        col = self.col
        for cluster in self.clusters:
            if not (self.look.hidden or cluster.text.isspace()):
                yield col, cluster
            col += cluster.width


def screen_of(emulator: Emulator, palette: Palette = DEFAULT) -> Screen:
    """Return what *emulator* shows now, in the colours of *palette*."""
    return Screen(
        rows=emulator.styled(),
        height=emulator.rows,
        width=emulator.cols,
        cursor=emulator.cursor,
        palette=palette,
    )


def spans(screen: Screen) -> Iterator[Span]:
    """Yield what to paint, from left to right and from top to bottom."""
    cursor = screen.cursor
    for row, runs in enumerate(screen.rows[: screen.height]):
        found = _row_spans(row, runs, screen.palette)
        if cursor.visible and cursor.style == "block" and cursor.row == row:
            found = _with_block(found, row=row, col=cursor.col, palette=screen.palette)
        yield from found


def _row_spans(row: int, runs: Sequence[Run], palette: Palette) -> list[Span]:
    return [
        Span(
            row=row,
            col=run.col,
            clusters=clusters(run.text, run.width),
            look=look(run.style, palette),
        )
        for run in runs
    ]


def look(style: Style, palette: Palette = DEFAULT) -> Appearance:
    """Resolve the colours of *style*."""
    fg, bg, ink = _colors(style, palette)
    return Appearance(
        ink=mix(ink, bg, _FAINT) if style.faint else ink,
        fg=mix(fg, bg, _FAINT) if style.faint else fg,
        bg=bg,
        bold=style.bold,
        italic=style.italic,
        underline=style.underline,
        strikethrough=style.strikethrough,
        hidden=style.invisible,
    )


def _colors(style: Style, palette: Palette) -> tuple[Rgb, Rgb, Rgb]:
    """Return the colours of lines, of the background and of letters."""
    front = palette.rgb(style.fg, palette.foreground)
    back = palette.rgb(style.bg, palette.background)
    chosen = style.fg
    if style.inverse:
        front, back, chosen = back, front, style.bg
    if style.bold:
        front = palette.rgb(brightened(chosen, back, palette), front)
    # A colour out of more than sixteen was chosen for this background; it stays as it is.
    corrected = chosen is None or palette.is_basic(chosen)
    return front, back, legible(front, back, palette.contrast) if corrected else front


def _with_block(row_spans: list[Span], *, row: int, col: int, palette: Palette) -> list[Span]:
    """Show the cell at *col* in exchanged colours; a wide character as a whole."""
    found: list[Span] = []
    for span in row_spans:
        found += _split(span, col, palette) if span.col <= col < span.col + span.width else [span]
    if not any(span.col <= col < span.col + span.width for span in row_spans):
        blank = Span(row=row, col=col, clusters=(Cluster(" ", 1),), look=look(Style(), palette))
        found.append(_exchanged(blank, palette))
    return found


def _split(span: Span, col: int, palette: Palette) -> list[Span]:
    start, at = span.col, 0
    while start + span.clusters[at].width <= col:
        start += span.clusters[at].width
        at += 1
    after = start + span.clusters[at].width
    parts = (
        replace(span, clusters=span.clusters[:at]),
        _exchanged(replace(span, col=start, clusters=span.clusters[at : at + 1]), palette),
        replace(span, col=after, clusters=span.clusters[at + 1 :]),
    )
    return [part for part in parts if part.clusters]


def _exchanged(span: Span, palette: Palette) -> Span:
    old = span.look
    # Text in the colour of its background would make an invisible cursor.
    block = old.ink if old.ink != old.bg else palette.foreground
    return replace(span, look=replace(old, fg=old.bg, ink=old.bg, bg=block))


def decorations(span: Span, *, scale: int = 1) -> list[Rect]:
    """Return the lines under and through a span, in pixels of the picture."""
    if span.look.hidden:
        return []
    left, top = span.col * CELL_WIDTH * scale, span.row * CELL_HEIGHT * scale
    right = left + span.width * CELL_WIDTH * scale
    heights = []
    if span.look.underline:
        heights.append(BASELINE + 2)
    if span.look.strikethrough:
        heights.append(BASELINE - 5)
    return [Rect(left, top + y * scale, right, top + (y + 1) * scale) for y in heights]


def cursor_rects(cursor: Cursor, *, scale: int = 1) -> list[Rect]:
    """Return a cursor that is not a block, in pixels of the picture; empty if there is none."""
    if not cursor.visible or cursor.style == "block":
        return []
    left, top = cursor.col * CELL_WIDTH * scale, cursor.row * CELL_HEIGHT * scale
    right, bottom = left + CELL_WIDTH * scale, top + CELL_HEIGHT * scale
    thick = 2 * scale
    if cursor.style == "bar":
        return [Rect(left, top, left + thick, bottom)]
    underline = Rect(left, bottom - thick, right, bottom)
    if cursor.style == "underline":
        return [underline]
    return [
        Rect(left, top, right, top + scale),
        Rect(left, bottom - scale, right, bottom),
        Rect(left, top, left + scale, bottom),
        Rect(right - scale, top, right, bottom),
    ]
