"""A recording as pictures in a row: the screens that were shown, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agent_pty.core.evidence.cast import parsed_size
from agent_pty.core.evidence.playback import Moment
from agent_pty.emulator.emulator import Emulator
from agent_pty.emulator.palette import DEFAULT, Palette
from agent_pty.emulator.picture import Screen, screen_of

# More pictures in a second nobody sees.
INTERVAL: Final = 0.1
# The last screen stays so long.
LAST_SECONDS: Final = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """A screen, shown from *at* on for so many *seconds*."""

    at: float
    seconds: float
    screen: Screen


def frames(
    moments: Iterator[Moment], *, rows: int, cols: int, palette: Palette = DEFAULT
) -> Iterator[Frame]:
    """Yield the screens of a recording; two that are the same follow each other nowhere."""
    emulator = Emulator(rows=rows, cols=cols)
    tick: int | None = None
    shown: Screen | None = None
    since = 0.0
    try:
        for one in moments:
            now = int(one.at / INTERVAL)
            if tick is not None and now != tick:
                screen, start = screen_of(emulator, palette), tick * INTERVAL
                if shown is not None and screen != shown:
                    yield Frame(at=since, seconds=start - since, screen=shown)
                    since = start
                shown = screen
            _apply(emulator, one)
            tick = now
        last, end = screen_of(emulator, palette), (tick or 0) * INTERVAL
        if shown is not None and last != shown:
            yield Frame(at=since, seconds=end - since, screen=shown)
            since = end
        yield Frame(at=since, seconds=end - since + LAST_SECONDS, screen=last)
    finally:
        emulator.close()


def _apply(emulator: Emulator, one: Moment) -> None:
    if one.code == "o":
        emulator.feed(one.text.encode())
        emulator.take_replies()
        emulator.take_events()
    elif one.code == "r":
        rows, cols = parsed_size(one.text)
        emulator.resize(rows=rows, cols=cols)
