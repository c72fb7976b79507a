"""What the page of a proof is made of: our style and script, and the player if it was built in.

The player is asciinema-player from npm. `scripts/player` copies it here; it is not in the sources.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass

_DIRECTORY = f"{os.path.dirname(os.path.abspath(__file__))}/page"
_VENDOR = f"{_DIRECTORY}/vendor"
HOW_TO_GET_PLAYER = (
    "the player is not part of this installation: run `sh scripts/player` in a clone (it needs "
    "npm), install from there, and make the proof again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFiles:
    """Styles and scripts, in their order."""

    styles: tuple[str, ...]
    scripts: tuple[str, ...]
    has_player: bool


@functools.cache
def page_files() -> PageFiles:
    """Read the files, once."""
    style, script = _read(f"{_DIRECTORY}/proof.css"), _read(f"{_DIRECTORY}/proof.js")
    try:
        player = _read(f"{_VENDOR}/asciinema-player.min.js")
        player_style = _read(f"{_VENDOR}/asciinema-player.css")
    except FileNotFoundError:
        return PageFiles(styles=(style,), scripts=(script,), has_player=False)
    return PageFiles(styles=(player_style, style), scripts=(player, script), has_player=True)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
