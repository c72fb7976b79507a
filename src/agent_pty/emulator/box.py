"""Box drawing, block and braille characters as exact shapes of a cell.

We draw them without a font, so that lines meet those of the next cell whatever fonts are
installed. Coordinates are whole pixels of one cell, from its upper left corner.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from math import cos, pi, sin
from typing import Final, NamedTuple


class Rect(NamedTuple):
    """A filled rectangle; the right and lower edges lie outside."""

    left: int
    top: int
    right: int
    bottom: int


Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """What a character looks like: *rects* filled by *share*, *strokes* drawn *thick*."""

    rects: tuple[Rect, ...] = ()
    strokes: tuple[tuple[Point, ...], ...] = ()
    thick: int = 1
    share: float = 1.0


class _Weight(IntEnum):
    NONE = 0
    LIGHT = 1
    DOUBLE = 2
    HEAVY = 3


# Where the strips of a line lie across it: a start and an end each.
_Strips = list[tuple[int, int]]

_BOXES: Final = range(0x2500, 0x2580)
_BLOCKS: Final = range(0x2580, 0x25A0)
_BRAILLE: Final = range(0x2800, 0x2900)

_WEIGHTS: Final = {
    "LIGHT": _Weight.LIGHT,
    "SINGLE": _Weight.LIGHT,
    "DOUBLE": _Weight.DOUBLE,
    "HEAVY": _Weight.HEAVY,
}
_ARMS: Final = {
    "UP": ("up",),
    "DOWN": ("down",),
    "LEFT": ("left",),
    "RIGHT": ("right",),
    "VERTICAL": ("up", "down"),
    "HORIZONTAL": ("left", "right"),
}
_ARC_STEPS: Final = 8
_DASHES: Final = {"DOUBLE DASH": 2, "TRIPLE DASH": 3, "QUADRUPLE DASH": 4}


@lru_cache(maxsize=1024)
def shape(char: str, width: int, height: int) -> Shape | None:
    """Return how *char* fills a cell of that size; None if a font must draw it."""
    point = ord(char) if len(char) == 1 else 0
    if point in _BOXES:
        return _box(unicodedata.name(char).removeprefix("BOX DRAWINGS "), width, height)
    if point in _BLOCKS:
        return _block(point, width, height)
    if point in _BRAILLE:
        return Shape(rects=tuple(_dots(point - _BRAILLE.start, width, height)))
    return None


def _thickness(width: int) -> int:
    return max(1, round(width / 8))


def _box(name: str, width: int, height: int) -> Shape:
    thick = _thickness(width)
    if "DIAGONAL" in name:
        return Shape(strokes=_diagonals(name, width, height), thick=thick)
    if "ARC" in name:
        return _arc(name, width, height, thick)
    for words, count in _DASHES.items():
        if words in name:
            return Shape(rects=_dashed(name.replace(words, ""), count, width, height))
    return Shape(rects=_lines(_arms(name), width, height))


def _arms(name: str) -> dict[str, _Weight]:
    """Read the arms from a name: `DOWN HEAVY AND RIGHT UP LIGHT`, `LIGHT DOWN AND RIGHT`."""
    arms = dict.fromkeys(("up", "down", "left", "right"), _Weight.NONE)
    weight = _Weight.LIGHT
    for part in name.split(" AND "):
        words = part.split()
        weight = next((_WEIGHTS[word] for word in words if word in _WEIGHTS), weight)
        for word in words:
            arms.update(dict.fromkeys(_ARMS.get(word, ()), weight))
    return arms


def _strips(weight: _Weight, size: int, thick: int) -> _Strips:
    """Return where a line of *weight* through the middle of *size* lies."""
    start = (size - thick) // 2
    if weight is _Weight.DOUBLE:
        return [(start - thick, start), (start + thick, start + 2 * thick)]
    if weight is _Weight.HEAVY:
        return [(start - thick, start + 2 * thick)]
    return [(start, start + thick)]


def _lines(arms: dict[str, _Weight], width: int, height: int) -> tuple[Rect, ...]:
    across = _axis(arms, ("left", "right"), ("up", "down"), (width, height))
    down = _axis(arms, ("up", "down"), ("left", "right"), (height, width))
    return (
        *(Rect(start, low, end, high) for start, end, low, high in across),
        *(Rect(low, start, high, end) for start, end, low, high in down),
    )


def _axis(
    arms: dict[str, _Weight], ends: tuple[str, str], sides: tuple[str, str], size: tuple[int, int]
) -> list[tuple[int, int, int, int]]:
    """Return the strips of the two arms along one axis: start, end, and extent across."""
    length, breadth = size
    thick = _thickness(min(size))
    beside = arms[sides[0]], arms[sides[1]]
    found = []
    for end, opposite in (ends, ends[::-1]):
        strips = _strips(arms[end], breadth, thick) if arms[end] else []
        for at, (low, high) in enumerate(strips):
            near, weight = _join(arms[end], arms[opposite], beside if at == 0 else beside[::-1])
            crossed = _strips(weight, length, thick)
            if end == ends[0]:
                found.append((0, crossed[0 if near else -1][1], low, high))
            else:
                found.append((crossed[-1 if near else 0][0], length, low, high))
    return found


def _join(own: _Weight, opposite: _Weight, beside: tuple[_Weight, _Weight]) -> tuple[bool, _Weight]:
    """Say how far a strip reaches: to the near or far edge of which crossing line.

    *beside* holds the arm on the strip's own side first. A strip of a double line turns
    into the double line on its side; else it runs straight or makes the outer corner. A
    single line stops at a double one that passes by, but crosses it to its other half.
    """
    same, other = beside
    if own is not _Weight.DOUBLE:
        passes_by = same is other is _Weight.DOUBLE and not opposite
        return passes_by, max(same, other, _Weight.LIGHT)
    if same is _Weight.DOUBLE:
        return True, same
    if same or opposite:
        return False, max(same, _Weight.LIGHT)
    return False, max(other, _Weight.LIGHT)


def _dashed(name: str, count: int, width: int, height: int) -> tuple[Rect, ...]:
    (solid,) = {_whole(rect, width, height) for rect in _lines(_arms(name), width, height)}
    level = "HORIZONTAL" in name
    length = width if level else height
    gap = max(1, length // (count * 3))
    rects = []
    for at in range(count):
        start, end = length * at // count, length * (at + 1) // count - gap
        rects.append(
            solid._replace(left=start, right=end)
            if level
            else solid._replace(top=start, bottom=end)
        )
    return tuple(rects)


def _whole(rect: Rect, width: int, height: int) -> Rect:
    """Stretch half a line to the whole cell."""
    if rect.right - rect.left > rect.bottom - rect.top:
        return rect._replace(left=0, right=width)
    return rect._replace(top=0, bottom=height)


def _diagonals(name: str, width: int, height: int) -> tuple[tuple[Point, ...], ...]:
    rising, falling = ((0.0, height), (width, 0.0)), ((0.0, 0.0), (width, height))
    if "CROSS" in name:
        return rising, falling
    return (rising,) if "UPPER RIGHT" in name else (falling,)


def _arc(name: str, width: int, height: int, thick: int) -> Shape:
    """Return a rounded corner: a quarter circle, and a straight piece where the cell is longer."""
    left, top = (width - thick) // 2, (height - thick) // 2
    middle = left + thick / 2, top + thick / 2
    right, down = "RIGHT" in name, "DOWN" in name
    radius = width - middle[0] if right else middle[0]
    side, fall = 1 if right else -1, 1 if down else -1
    center = middle[0] + side * radius, middle[1] + fall * radius
    turn = (
        (center[0] - side * radius * cos(angle), center[1] - fall * radius * sin(angle))
        for angle in (pi / 2 * step / _ARC_STEPS for step in range(_ARC_STEPS + 1))
    )
    edge = round(center[1])
    straight = Rect(left, edge if down else 0, left + thick, height if down else edge)
    curve = tuple((round(x, 2), round(y, 2)) for x, y in turn)
    return Shape(rects=(straight,), strokes=(curve,), thick=thick)


# Left, top, right and bottom, in eighths of the cell.
_BARS: Final = {
    **{0x2580 + count: (0, 8 - count, 8, 8) for count in range(1, 9)},
    **{0x2590 - count: (0, 0, count, 8) for count in range(1, 8)},
    0x2580: (0, 0, 8, 4),
    0x2590: (4, 0, 8, 8),
    0x2594: (0, 0, 8, 1),
    0x2595: (7, 0, 8, 8),
}
# Upper left, upper right, lower left, lower right.
_QUADRANTS: Final = dict(
    zip(
        range(0x2596, 0x25A0),
        ("0010", "0001", "1000", "1011", "1001", "1110", "1101", "0100", "0110", "0111"),
        strict=True,
    )
)
_SHADES: Final = {0x2591: 0.25, 0x2592: 0.5, 0x2593: 0.75}


def _block(point: int, width: int, height: int) -> Shape:
    if point in _SHADES:
        return Shape(rects=(Rect(0, 0, width, height),), share=_SHADES[point])
    if point in _QUADRANTS:
        return Shape(rects=tuple(_quadrants(_QUADRANTS[point], width, height)))
    return Shape(rects=(_bar(point, width, height),))


def _bar(point: int, width: int, height: int) -> Rect:
    sizes = (width, height, width, height)
    return Rect(*(round(size * n / 8) for size, n in zip(sizes, _BARS[point], strict=True)))


def _quadrants(which: str, width: int, height: int) -> list[Rect]:
    x, y = width // 2, height // 2
    corners = (
        Rect(0, 0, x, y),
        Rect(x, 0, width, y),
        Rect(0, y, x, height),
        Rect(x, y, width, height),
    )
    return [corner for corner, there in zip(corners, which, strict=True) if there == "1"]


# Bit of the character -> column and row of the dot.
_DOTS: Final = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))


def _dots(bits: int, width: int, height: int) -> list[Rect]:
    size = max(1, min(width // 4, height // 6))
    found = []
    for at, (column, row) in enumerate(_DOTS):
        if bits >> at & 1:
            left = (2 * column + 1) * width // 4 - size // 2
            top = (2 * row + 1) * height // 8 - size // 2
            found.append(Rect(left, top, left + size, top + size))
    return found
