"""How well one colour is seen on another, and what makes text legible.

Luminance and contrast are those of WCAG 2 (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
"""

from __future__ import annotations

import functools
from typing import Final

Rgb = tuple[int, int, int]

_WHITE: Final[Rgb] = (0xFF, 0xFF, 0xFF)
_BLACK: Final[Rgb] = (0, 0, 0)
# Text is moved towards white or black in so many steps, until it is legible.
_STEPS: Final = 32


def luminance(color: Rgb) -> float:
    """Return the relative luminance of WCAG 2, from 0 to 1."""
    red, green, blue = map(_linear, color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@functools.cache
def _linear(level: int) -> float:
    share = level / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4  # noqa: PLR2004 - the definition of sRGB


def contrast(first: Rgb, second: Rgb) -> float:
    """Return the contrast ratio of WCAG 2, from 1 to 21."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


@functools.lru_cache(maxsize=1024)
def legible(text: Rgb, background: Rgb, ratio: float) -> Rgb:
    """Return *text*, moved as little as possible towards white or black to reach the ratio.

    Text in the colour of its background stays hidden: that is what the program asked for.
    """
    if text == background or contrast(text, background) >= ratio:
        return text
    own, other = _poles(text, background)
    pole = own if contrast(own, background) >= ratio else other
    steps = (mix(text, pole, step / _STEPS) for step in range(1, _STEPS))
    return next((one for one in steps if contrast(one, background) >= ratio), pole)


def _poles(text: Rgb, background: Rgb) -> tuple[Rgb, Rgb]:
    """Return white and black, first the one that lies on the same side as the text."""
    lighter = luminance(text) >= luminance(background)
    return (_WHITE, _BLACK) if lighter else (_BLACK, _WHITE)


def mix(first: Rgb, second: Rgb, share: float) -> Rgb:
    """Return *first* with that *share* of *second* in it, from 0 to 1."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue
