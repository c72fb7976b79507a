"""Colours as numbers: the palettes of pictures and of HTML, and how text becomes legible in them.

What a program changes by OSC 4, 10 or 11 is not followed: a picture shows the colours of its
palette. The default one is what the emulator itself tells programs that ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agent_pty.emulator.contrast import Rgb, contrast
from agent_pty.emulator.style import Color
from agent_pty.errors import BadRequest

# Colours 0 to 7, which bold text shows as 8 to 15; then a cube and greys, alike in all palettes.
_BRIGHT, _CUBE, _GREYS, _END = 8, 16, 232, 256
_LEVELS: Final = (0, 0x5F, 0x87, 0xAF, 0xD7, 0xFF)
# WCAG 2 asks for 4.5. With that, yellow on cyan would be white, and a menu of mc would no longer
# show its hot keys.
_LEGIBLE: Final = 4.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Palette:
    """The colours of a terminal.

    Letters get at least *contrast* to their background. With *bright_bold* the bright colours
    are those of bold text; without it they are colours of their own.
    """

    colors: tuple[Rgb, ...]
    foreground: Rgb
    background: Rgb
    contrast: float = 1.0
    bright_bold: bool = True

    def rgb(self, color: Color, default: Rgb) -> Rgb:
        """Return what *color* looks like; *default* if none is set."""
        if color is None:
            return default
        return self.colors[color] if isinstance(color, int) else color

    def is_basic(self, color: Color) -> bool:
        """Whether a colour is one of the sixteen that every terminal shows in its own way."""
        return isinstance(color, int) and color < _CUBE


def brightened(color: Color, background: Rgb, palette: Palette) -> Color:
    """Return the colour of bold text: the bright one, as in xterm, where that is seen better.

    Programs for sixteen colours count on it: dialog draws its frames in bold grey on grey.
    """
    if not (palette.bright_bold and isinstance(color, int) and color < _BRIGHT):
        return color
    plain, bright = palette.colors[color], palette.colors[color + _BRIGHT]
    better = contrast(bright, background) > contrast(plain, background)
    return color + _BRIGHT if better else color


def hex_code(color: Rgb) -> str:
    """Return a colour as SVG and CSS write it."""
    return "#{:02x}{:02x}{:02x}".format(*color)


# -- the palettes


def _standard(index: int) -> Rgb:
    if index < _GREYS:
        place = index - _CUBE
        return _LEVELS[place // 36], _LEVELS[place // 6 % 6], _LEVELS[place % 6]
    grey = 8 + 10 * (index - _GREYS)
    return grey, grey, grey


_STANDARD: Final = tuple(_standard(index) for index in range(_CUBE, _END))


def _palette(
    sixteen: str, *, text: str, ground: str, least: float = 1.0, bright_bold: bool = True
) -> Palette:
    base = [_parsed(code) for code in sixteen.split()]
    return Palette(
        colors=(*base, *_STANDARD),
        foreground=_parsed(text),
        background=_parsed(ground),
        contrast=least,
        bright_bold=bright_bold,
    )


def _parsed(code: str) -> Rgb:
    red, green, blue = bytes.fromhex(code)
    return red, green, blue


# Ours, where white text is legible on each of the colours 1 to 6, and black text on all but blue.
DEFAULT: Final = _palette(
    "000000 d62c2c 1a8440 a07400 1d4ea8 a64bb8 107d89 d0d0d0"
    " 808080 ff7b72 4fd36a fff07a 7fb2ff e08cf0 5fdbe6 ffffff",
    text="d0d0d0",
    ground="000000",
    least=_LEGIBLE,
)
_SOLARIZED: Final = (
    "073642 dc322f 859900 b58900 268bd2 d33682 2aa198 eee8d5"
    " 002b36 cb4b16 586e75 657b83 839496 6c71c4 93a1a1 fdf6e3"
)
# The others are shown exactly as they are known.
PALETTES: Final[dict[str, Palette]] = {
    "legible": DEFAULT,
    "xterm": _palette(
        "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5"
        " 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff",
        text="e5e5e5",
        ground="000000",
    ),
    "vga": _palette(
        "000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa"
        " 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff",
        text="aaaaaa",
        ground="000000",
    ),
    "tango": _palette(
        "2e3436 cc0000 4e9a06 c4a000 3465a4 75507b 06989a d3d7cf"
        " 555753 ef2929 8ae234 fce94f 729fcf ad7fa8 34e2e2 eeeeec",
        text="d3d7cf",
        ground="2e3436",
    ),
    "solarized-dark": _palette(
        _SOLARIZED,
        text="839496",
        ground="002b36",
        bright_bold=False,
    ),
    "solarized-light": _palette(
        _SOLARIZED,
        text="657b83",
        ground="fdf6e3",
        bright_bold=False,
    ),
    "tomorrow-night": _palette(
        "1d1f21 cc6666 b5bd68 f0c674 81a2be b294bb 8abeb7 c5c8c6"
        " 666666 d54e53 b9ca4a e7c547 7aa6da c397d8 70c0b1 eaeaea",
        text="d0d0d0",
        ground="000000",
    ),
}


def palette_named(name: str) -> Palette:
    """Return a palette by its name."""
    found = PALETTES.get(name)
    if found is None:
        raise BadRequest(
            f"there is no palette {name!r}: choose one of {', '.join(PALETTES)}", field="palette"
        )
    return found
