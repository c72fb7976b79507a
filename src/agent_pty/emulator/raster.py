"""A picture as pixels. Needs Pillow, as `glyph` does."""

from __future__ import annotations

from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw

from agent_pty.emulator.box import Rect, Shape, shape
from agent_pty.emulator.cluster import Cluster
from agent_pty.emulator.contrast import Rgb, mix
from agent_pty.emulator.glyph import Fonts, Glyphs
from agent_pty.emulator.picture import (
    CELL_HEIGHT,
    CELL_WIDTH,
    Appearance,
    Screen,
    Span,
    cursor_rects,
    decorations,
    spans,
)

# Slanted lines are drawn this many times larger and shrunk, which smooths them.
_OVERSAMPLING: Final = 4
# On text it takes half the time of zlib's default 6, and the file is smaller.
_COMPRESSION: Final = 3


def rasterise(screen: Screen, *, scale: int, fonts: Fonts) -> bytes:
    """Return *screen* as a PNG; one cell has 9 by 18 pixels, times *scale*."""
    buffer = BytesIO()
    image = painted(screen, Glyphs(fonts, scale=scale), scale=scale)
    image.save(buffer, "PNG", compress_level=_COMPRESSION)
    return buffer.getvalue()


def painted(screen: Screen, glyphs: Glyphs, *, scale: int) -> Image.Image:
    """Return *screen* as an image; *glyphs* of that scale may be used for many."""
    canvas = _Canvas(screen, scale=scale, glyphs=glyphs)
    # Backgrounds first: a glyph may reach into the next cell, a background must not cover it.
    found = list(spans(screen))
    for span in found:
        canvas.fill(span)
    for span in found:
        canvas.write(span)
    for rect in cursor_rects(screen.cursor, scale=scale):
        canvas.rect(rect, screen.palette.foreground)
    return canvas.image


class _Canvas:
    def __init__(self, screen: Screen, *, scale: int, glyphs: Glyphs) -> None:
        self._cell = CELL_WIDTH * scale, CELL_HEIGHT * scale
        self._scale = scale
        size = screen.width * self._cell[0], screen.height * self._cell[1]
        self._ground = screen.palette.background
        self.image = Image.new("RGB", size, self._ground)
        self._draw = ImageDraw.Draw(self.image)
        self._glyphs = glyphs

    def rect(self, rect: Rect, color: Rgb) -> None:
        left, top, right, bottom = rect
        self._draw.rectangle((left, top, right - 1, bottom - 1), fill=color)

    def fill(self, span: Span) -> None:
        if span.look.bg == self._ground:
            return
        left, top = self._corner(span, span.col)
        size = span.width * self._cell[0], self._cell[1]
        self.rect(Rect(left, top, left + size[0], top + size[1]), span.look.bg)

    def write(self, span: Span) -> None:
        for col, cluster in span.placed():
            corner = self._corner(span, col)
            drawn = shape(cluster.text, *self._cell)
            if drawn is None:
                self._letter(cluster, span.look, corner)
            else:
                self._shape(drawn, span.look, corner)
        for rect in decorations(span, scale=self._scale):
            self.rect(rect, span.look.ink)

    def _corner(self, span: Span, col: int) -> tuple[int, int]:
        return col * self._cell[0], span.row * self._cell[1]

    def _letter(self, cluster: Cluster, look: Appearance, corner: tuple[int, int]) -> None:
        text, width = cluster
        image = self._glyphs.image(text, width=width, bold=look.bold, italic=look.italic)
        self.image.paste(look.ink if image.mode == "L" else image, corner, image)

    def _shape(self, drawn: Shape, look: Appearance, corner: tuple[int, int]) -> None:
        left, top = corner
        color = mix(look.bg, look.fg, drawn.share)
        for box in drawn.rects:
            moved = Rect(box.left + left, box.top + top, box.right + left, box.bottom + top)
            self.rect(moved, color)
        if drawn.strokes:
            self.image.paste(color, corner, _strokes(drawn, self._cell))


def _strokes(drawn: Shape, size: tuple[int, int]) -> Image.Image:
    large = Image.new("L", (size[0] * _OVERSAMPLING, size[1] * _OVERSAMPLING))
    draw = ImageDraw.Draw(large)
    for points in drawn.strokes:
        # Pillow counts from the middle of a pixel, we from its corner.
        path = [(x * _OVERSAMPLING - 0.5, y * _OVERSAMPLING - 0.5) for x, y in points]
        draw.line(path, fill=255, width=drawn.thick * _OVERSAMPLING, joint="curve")
    return large.resize(size, Image.Resampling.BOX)
