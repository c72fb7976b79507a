"""Characters as small images of their cells, from the first font that has them.

Needs Pillow, the extra `png`: import this file only where its absence is handled.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from math import ceil
from typing import Final

from PIL import Image, ImageChops, ImageDraw, ImageFont, features

from agent_pty.emulator.font_file import FontFile
from agent_pty.emulator.picture import BASELINE, CELL_HEIGHT, CELL_WIDTH, FONT_SIZE

# Returns the fonts to try, bold or not.
Fonts = Callable[..., Sequence[FontFile]]

# Emoji fonts of bitmaps open only in the sizes that they contain: Noto's one, then Apple's.
_STRIKES: Final = (109, 160, 96, 64, 48, 40, 32, 20)
# No font has this character, so it shows what a font draws for a missing one.
_IN_NO_FONT: Final = "\U0010fffe"
_EMOJI_SELECTOR: Final = "\ufe0f"
_SLANT: Final = 0.2
# Letters of a monospace font may be slightly wider than the cell; they are not squeezed.
_TOLERANCE: Final = 1.1


class _Face:
    """One open font."""

    def __init__(self, file: FontFile, size: int) -> None:
        self.color = file.color
        sizes = (size, *_STRIKES) if file.color else (size,)
        self._basic = _open(file, sizes, ImageFont.Layout.BASIC)
        self._shaping = _open(file, (round(self._basic.size),), ImageFont.Layout.RAQM)
        self.bold = "bold" in (self._basic.getname()[1] or "").lower()
        self._missing = bytes(self._basic.getmask(_IN_NO_FONT))

    def has(self, char: str) -> bool:
        """Say whether the font has a glyph of its own for *char*."""
        mask = self._basic.getmask(char)
        return mask.getbbox() is not None and bytes(mask) != self._missing

    def font_for(self, text: str) -> ImageFont.FreeTypeFont:
        """Return the font that joins characters only if there are any to join."""
        return self._basic if len(text) == 1 else self._shaping


def _open(file: FontFile, sizes: Sequence[int], layout: ImageFont.Layout) -> ImageFont.FreeTypeFont:
    for size in sizes[:-1]:
        try:
            return ImageFont.truetype(file.source(), size, file.index, layout_engine=layout)
        except OSError:
            continue
    return ImageFont.truetype(file.source(), sizes[-1], file.index, layout_engine=layout)


class Glyphs:
    """The images of one picture, each made once. For use in one thread."""

    def __init__(self, fonts: Fonts, *, scale: int) -> None:
        self._fonts = fonts
        self._scale = scale
        self._faces: dict[FontFile, _Face | None] = {}
        self._images: dict[tuple[str, int, bool, bool], Image.Image] = {}

    def image(self, text: str, *, width: int, bold: bool, italic: bool) -> Image.Image:
        """Return *text* in *width* cells: a mask of mode L, or a coloured image of mode RGBA."""
        key = (text, width, bold, italic)
        image = self._images.get(key)
        if image is None:
            image = self._images[key] = self._draw(*key)
        return image

    def _draw(self, text: str, width: int, bold: bool, italic: bool) -> Image.Image:  # noqa: FBT001 - the key of the cache
        size = width * CELL_WIDTH * self._scale, CELL_HEIGHT * self._scale
        text = _composed(text)
        face = self._face(text, width, bold=bold)
        if face is None:
            return _replacement(size, self._scale)
        if face.color:
            return _colored(text, face.font_for(text), size)
        mask = _mask(text, face.font_for(text), size, BASELINE * self._scale)
        if bold and not face.bold:
            mask = _thickened(mask, self._scale)
        return _slanted(mask) if italic else mask

    def _face(self, text: str, width: int, *, bold: bool) -> _Face | None:
        files = list(self._fonts(bold=bold))
        if _wants_color(text, width):
            files.sort(key=lambda file: not file.color)
        faces = (self._open(file) for file in files)
        return next((face for face in faces if face and face.has(text[0])), None)

    def _open(self, file: FontFile) -> _Face | None:
        if file not in self._faces:
            try:
                self._faces[file] = _Face(file, FONT_SIZE * self._scale)
            except OSError:  # removed since, or of a kind that FreeType cannot read
                self._faces[file] = None
        return self._faces[file]


def _composed(text: str) -> str:
    """Compose what has a character of its own; without a shaping library keep only the base."""
    text = unicodedata.normalize("NFC", text)
    return text if features.check("raqm") else text[0]


def _wants_color(text: str, width: int) -> bool:
    if _EMOJI_SELECTOR in text:
        return True
    return width > 1 and unicodedata.category(text[0]) in ("So", "Sk", "Cn")


def _mask(
    text: str, font: ImageFont.FreeTypeFont, size: tuple[int, int], baseline: int
) -> Image.Image:
    """Draw *text* in the middle of its cells, narrower if it would not fit."""
    length = font.getlength(text)
    fits = length <= size[0] * _TOLERANCE
    canvas = Image.new("L", size if fits else (ceil(length), size[1]))
    left = round((size[0] - length) / 2) if fits else 0
    ImageDraw.Draw(canvas).text((left, baseline), text, fill=255, font=font, anchor="ls")
    return canvas if fits else canvas.resize(size, Image.Resampling.BOX)


def _colored(text: str, font: ImageFont.FreeTypeFont, size: tuple[int, int]) -> Image.Image:
    """Draw a bitmap in its own size, then shrink it into the cells."""
    left, top, right, bottom = font.getbbox(text)
    drawn = Image.new("RGBA", (max(1, ceil(right - left)), max(1, ceil(bottom - top))))
    ImageDraw.Draw(drawn).text((-left, -top), text, font=font, embedded_color=True)
    drawn.thumbnail(size, Image.Resampling.LANCZOS)
    canvas = Image.new("RGBA", size)
    canvas.paste(drawn, ((size[0] - drawn.width) // 2, (size[1] - drawn.height) // 2))
    return canvas


def _thickened(mask: Image.Image, by: int) -> Image.Image:
    """Make letters bold that come from a font without a bold face, such as CJK fonts."""
    moved = Image.new("L", mask.size)
    moved.paste(mask, (by, 0))
    return ImageChops.lighter(mask, moved)


def _slanted(mask: Image.Image) -> Image.Image:
    """Slant upright letters: few systems have an italic monospace font."""
    lean = (1, _SLANT, -_SLANT * mask.height / 2, 0, 1, 0)
    return mask.transform(
        mask.size, Image.Transform.AFFINE, lean, resample=Image.Resampling.BICUBIC
    )


def _replacement(size: tuple[int, int], scale: int) -> Image.Image:
    mask = Image.new("L", size)
    frame = (scale, 3 * scale, size[0] - 1 - scale, size[1] - 1 - 3 * scale)
    ImageDraw.Draw(mask).rectangle(frame, outline=255, width=scale)
    return mask
