"""A screen as an SVG: one file, no script, no link, nothing fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final, NamedTuple

from agent_pty.emulator.box import Rect, Shape, shape
from agent_pty.emulator.cluster import Cluster
from agent_pty.emulator.contrast import Rgb, mix
from agent_pty.emulator.emulator import Emulator
from agent_pty.emulator.palette import hex_code
from agent_pty.emulator.picture import (
    BASELINE,
    CELL_HEIGHT,
    CELL_WIDTH,
    FAMILIES,
    FONT_SIZE,
    Screen,
    Span,
    cursor_rects,
    decorations,
    screen_of,
    spans,
)

# Without this a zoomed picture shows the seams between cells.
_CRISP: Final = 'shape-rendering="crispEdges"'
# Up to here every letter is narrow and written from left to right.
_FIRST_OTHER: Final = 0x0590


class _Word(NamedTuple):
    col: int
    width: int
    text: str


def svg(emulator: Emulator) -> str:
    """Return a picture of what *emulator* shows now."""
    return svg_of(screen_of(emulator))


def svg_of(screen: Screen) -> str:
    """Return a picture of *screen*; the same screen always gives the same text."""
    width, height = screen.width * CELL_WIDTH, screen.height * CELL_HEIGHT
    ground = svg_ground(width, height, screen.palette.background)
    return "\n".join([svg_head(width, height), ground, *svg_elements(screen), "</svg>\n"])


def svg_head(width: int, height: int) -> str:
    """Return how a picture of so many pixels begins."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{escape(FAMILIES)}" '
        f'font-size="{FONT_SIZE}">'
    )


def svg_ground(width: int, height: int, color: Rgb) -> str:
    """Return what everything else is painted on."""
    return _rect(Rect(0, 0, width, height), color)


def svg_elements(screen: Screen) -> list[str]:
    """Return what is painted on the ground."""
    painted = list(spans(screen))
    return [
        *_backgrounds(painted, screen.palette.background),
        *(element for span in painted for element in _foreground(span)),
        *(_rect(rect, screen.palette.foreground) for rect in cursor_rects(screen.cursor)),
    ]


def _backgrounds(painted: Iterable[Span], default: Rgb) -> Iterator[str]:
    """Yield one rectangle for neighbours of one colour; the default is there already."""
    merged: list[tuple[Rect, Rgb]] = []
    for span in painted:
        if span.look.bg == default:
            continue
        rect = _cells(span)
        if merged:
            last, color = merged[-1]
            if (last.right, last.top, color) == (rect.left, rect.top, span.look.bg):
                merged[-1] = last._replace(right=rect.right), color
                continue
        merged.append((rect, span.look.bg))
    return (_rect(rect, color) for rect, color in merged)


def _cells(span: Span) -> Rect:
    left, top = span.col * CELL_WIDTH, span.row * CELL_HEIGHT
    return Rect(left, top, left + span.width * CELL_WIDTH, top + CELL_HEIGHT)


def _foreground(span: Span) -> Iterator[str]:
    for word in _words(span):
        drawn = shape(word.text, word.width * CELL_WIDTH, CELL_HEIGHT)
        if drawn is None:
            yield _text(word, span)
        else:
            yield from _drawn(drawn, word.col, span)
    yield from (_rect(rect, span.look.ink) for rect in decorations(span))


def _words(span: Span) -> Iterator[_Word]:
    """Join plain letters up to a blank; all others are alone, so that no font moves them."""
    word: _Word | None = None
    for col, cluster in span.placed():
        if word and col == word.col + word.width and _plain(cluster) and _plain(word):
            word = _Word(word.col, word.width + 1, word.text + cluster.text)
            continue
        if word:
            yield word
        word = _Word(col, cluster.width, cluster.text)
    if word:
        yield word


def _plain(piece: Cluster | _Word) -> bool:
    return piece.width == len(piece.text) and ord(max(piece.text)) < _FIRST_OTHER


def _text(word: _Word, span: Span) -> str:
    look = span.look
    weight = ' font-weight="bold"' if look.bold else ""
    slant = ' font-style="italic"' if look.italic else ""
    # A CJK character is square and two cells are not: stretched to them it looks wrong.
    adjust = "spacing" if word.width > len(word.text) else "spacingAndGlyphs"
    return (
        f'<text x="{word.col * CELL_WIDTH}" y="{span.row * CELL_HEIGHT + BASELINE}" '
        f'textLength="{word.width * CELL_WIDTH}" lengthAdjust="{adjust}" '
        f'fill="{hex_code(look.ink)}"{weight}{slant}>{escape(word.text, quote=False)}</text>'
    )


def _drawn(drawn: Shape, col: int, span: Span) -> Iterator[str]:
    left, top = col * CELL_WIDTH, span.row * CELL_HEIGHT
    color = hex_code(mix(span.look.bg, span.look.fg, drawn.share))
    if drawn.rects:
        boxes = "".join(
            f"M{left + r.left} {top + r.top}H{left + r.right}V{top + r.bottom}H{left + r.left}Z"
            for r in drawn.rects
        )
        yield f'<path d="{boxes}" fill="{color}" {_CRISP}/>'
    if drawn.strokes:
        lines = "".join(
            "M" + "L".join(f"{left + x:g} {top + y:g}" for x, y in points)
            for points in drawn.strokes
        )
        yield f'<path d="{lines}" fill="none" stroke="{color}" stroke-width="{drawn.thick}"/>'


def _rect(rect: Rect, color: Rgb) -> str:
    left, top, right, bottom = rect
    place = f'x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"'
    return f'<rect {place} fill="{hex_code(color)}" {_CRISP}/>'
