"""Colours as numbers: what the emulator's palette and its defaults look like.

What a program changes by OSC 4, 10 or 11 is not followed: a picture shows the colours
that the emulator starts with.
"""

from __future__ import annotations

from typing import Final

from agent_pty.emulator.style import Color

Rgb = tuple[int, int, int]

FOREGROUND: Final[Rgb] = (0xD0, 0xD0, 0xD0)
BACKGROUND: Final[Rgb] = (0, 0, 0)

# The library's own sixteen, so that a picture agrees with its answers to OSC 4.
_BASE: Final = bytes.fromhex(
    "1d1f21 cc6666 b5bd68 f0c674 81a2be b294bb 8abeb7 c5c8c6"
    "666666 d54e53 b9ca4a e7c547 7aa6da c397d8 70c0b1 eaeaea"
)
_LEVELS: Final = (0, 0x5F, 0x87, 0xAF, 0xD7, 0xFF)
_CUBE, _GREYS, _END = 16, 232, 256


def _indexed(index: int) -> Rgb:
    if index < _CUBE:
        red, green, blue = _BASE[index * 3 : index * 3 + 3]
        return red, green, blue
    if index < _GREYS:
        place = index - _CUBE
        return _LEVELS[place // 36], _LEVELS[place // 6 % 6], _LEVELS[place % 6]
    grey = 8 + 10 * (index - _GREYS)
    return grey, grey, grey


PALETTE: Final[tuple[Rgb, ...]] = tuple(_indexed(index) for index in range(_END))


def rgb(color: Color, default: Rgb) -> Rgb:
    """Return what *color* looks like; *default* if none is set."""
    if color is None:
        return default
    return PALETTE[color] if isinstance(color, int) else color


def hex_code(color: Rgb) -> str:
    """Return a colour as SVG and CSS write it."""
    return "#{:02x}{:02x}{:02x}".format(*color)


def mix(first: Rgb, second: Rgb, share: float) -> Rgb:
    """Return *first* with that *share* of *second* in it, from 0 to 1."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue
