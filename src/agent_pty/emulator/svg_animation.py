"""A recording as an SVG that plays by itself: no script, nothing fetched from elsewhere.

A row that is shown in many pictures is in the file once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from agent_pty.emulator.frames import Frame
from agent_pty.emulator.picture import CELL_HEIGHT, CELL_WIDTH, Screen
from agent_pty.emulator.svg import svg_elements, svg_ground, svg_head


class _Rows:
    """Every row that was ever shown, drawn once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name(self, screen: Screen, number: int) -> str | None:
        """Return the name of a row; None if there is nothing in it."""
        cursor = screen.cursor
        here = msgspec.structs.replace(
            cursor, row=0, visible=cursor.visible and cursor.row == number
        )
        alone = replace(screen, rows=screen.rows[number : number + 1], height=1, cursor=here)
        drawn = "".join(svg_elements(alone))
        if not drawn:
            return None
        return self._names.setdefault(drawn, f"r{len(self._names)}")

    @property
    def definitions(self) -> list[str]:
        """What comes before the pictures."""
        drawn = (f'<g id="{name}">{text}</g>' for text, name in self._names.items())
        return ["<defs>", *drawn, "</defs>"]


def svg_animation(
    frames: Sequence[Frame], *, drawn: Callable[[int], None] = lambda _count: None
) -> str:
    """Return pictures that follow each other, once; *drawn* is told how many are done."""
    width = max(one.screen.width for one in frames) * CELL_WIDTH
    height = max(one.screen.height for one in frames) * CELL_HEIGHT
    rows, pictures = _Rows(), list[str]()
    for number, one in enumerate(frames, start=1):
        pictures.append(_picture(one, rows, last=number == len(frames)))
        drawn(number)
    ground = svg_ground(width, height, frames[0].screen.palette.background)
    return "\n".join([svg_head(width, height), *rows.definitions, ground, *pictures, "</svg>\n"])


def _picture(frame: Frame, rows: _Rows, *, last: bool) -> str:
    screen = frame.screen
    names = ((number, rows.name(screen, number)) for number in range(screen.height))
    used = "".join(
        f'<use href="#{name}" y="{number * CELL_HEIGHT}"/>' for number, name in names if name
    )
    length = 'fill="freeze"' if last else f'dur="{frame.seconds:.2f}s"'
    shown = f'<set attributeName="visibility" to="visible" begin="{frame.at:.2f}s" {length}/>'
    return f'<g visibility="hidden">{shown}{used}</g>'
