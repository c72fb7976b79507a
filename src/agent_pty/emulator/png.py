"""A screen as a PNG, drawn without a browser. The drawing needs the extra `png`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from agent_pty.emulator.emulator import Emulator
from agent_pty.emulator.font_file import FontFile, font_files
from agent_pty.emulator.picture import CELL_HEIGHT, CELL_WIDTH, Screen, screen_of
from agent_pty.errors import BadRequest

MAX_SCALE: Final = 4
# 96 MB while it is drawn. A screen may have two million cells, which would need 1 GB.
MAX_PIXELS: Final = 32_000_000


def png(emulator: Emulator, *, scale: int = 1) -> bytes:
    """Return a picture of what *emulator* shows now.

    Drawing takes 60 ms and more. To keep an event loop free, call `screen_of` in it and
    `png_of` in a thread.
    """
    return png_of(screen_of(emulator), scale=scale)


def png_of(
    screen: Screen, *, scale: int = 1, fonts: Callable[..., Sequence[FontFile]] = font_files
) -> bytes:
    """Return a picture of *screen*; the same screen and fonts always give the same bytes."""
    _check_size(screen, scale)
    try:
        from agent_pty.emulator.raster import rasterise  # noqa: PLC0415 - an extra, 60 ms
    except ImportError as error:
        if error.name != "PIL":
            raise
        raise BadRequest(
            "a PNG needs Pillow, which is not installed: pip install 'agent-pty[png]'"
        ) from None
    return rasterise(screen, scale=scale, fonts=fonts)


def _check_size(screen: Screen, scale: int) -> None:
    if not 1 <= scale <= MAX_SCALE:
        raise BadRequest(f"scale {scale} is not within 1 and {MAX_SCALE}")
    pixels = screen.width * CELL_WIDTH * screen.height * CELL_HEIGHT * scale**2
    if pixels > MAX_PIXELS:
        raise BadRequest(
            f"a picture of {screen.height}x{screen.width} at scale {scale} has {pixels} pixels, "
            f"the limit is {MAX_PIXELS}: use a smaller scale, or svg"
        )
