"""A recording as a GIF. The drawing needs the extra `png`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING

from agent_pty.emulator.font_file import FontFile, font_files
from agent_pty.emulator.frames import Frame
from agent_pty.emulator.picture import Screen
from agent_pty.errors import BadRequest

if TYPE_CHECKING:
    from PIL.Image import Image

_CENTISECOND = 10
# Of one channel, or of all: pictures of terminals have few colours.
_COLORS = 128


def gif_of(
    frames: Sequence[Frame],
    *,
    drawn: Callable[[int], None] = lambda _count: None,
    fonts: Callable[..., Sequence[FontFile]] = font_files,
) -> bytes:
    """Return an animation that repeats; *drawn* is told how many pictures are done."""
    try:
        from agent_pty.emulator.glyph import Glyphs  # noqa: PLC0415 - an extra, 60 ms
        from agent_pty.emulator.raster import painted  # noqa: PLC0415 - as above
    except ImportError as error:
        if error.name != "PIL":
            raise
        raise BadRequest(
            "a GIF needs Pillow, which is not installed: pip install 'agent-pty[png]', "
            "or export svg"
        ) from None
    glyphs = Glyphs(fonts, scale=1)
    height = max(one.screen.height for one in frames)
    width = max(one.screen.width for one in frames)

    def images() -> Iterator[Image]:
        for number, one in enumerate(frames, start=1):
            screen = _widened(one.screen, height=height, width=width)
            yield painted(screen, glyphs, scale=1).quantize(_COLORS)
            drawn(number)

    rest = images()
    first, buffer = next(rest), BytesIO()
    durations = [max(2, round(one.seconds * 100)) * _CENTISECOND for one in frames]
    first.save(buffer, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)
    return buffer.getvalue()


def _widened(screen: Screen, *, height: int, width: int) -> Screen:
    """Return a screen on the ground of the largest one."""
    return replace(screen, height=height, width=width)
