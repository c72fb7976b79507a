"""Which font files to draw with, in the order in which they are tried for a character.

fontconfig decides; without it some well-known places are tried. A machine may have no font
at all, as in containers, so a package provides one that covers what terminals show most.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Final

# A desktop has hundreds; the first ones cover what the later ones repeat.
_MAX_FILES: Final = 24
_TIMEOUT: Final = 5.0
_FIELDS: Final = "%{file}\t%{index}\t%{spacing}\t%{color}\n"
_DUAL: Final = 90  # fontconfig's number for fonts of one and two cells; 100 is monospace
_PACKAGE: Final = "pymupdf_fonts"


@dataclass(frozen=True, kw_only=True, slots=True)
class FontFile:
    """A font in a file, or in a Python module if *path* is empty."""

    path: str = ""
    module: str = ""
    index: int = 0
    monospace: bool = False
    color: bool = False

    def source(self) -> str | BytesIO:
        """Return what to open."""
        return self.path or BytesIO(import_module(self.module).fontbuffer)


_REGULAR: Final = (
    "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
    "/usr/share/fonts/dejavu-sans-mono-fonts/DejaVuSansMono.ttf",
    "/usr/share/fonts/TTF/DejaVuSansMono.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf",
    "/System/Library/Fonts/Menlo.ttc",
    "/System/Library/Fonts/Monaco.ttf",
)
_BOLD: Final = (
    "/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf",
    "/usr/share/fonts/dejavu-sans-mono-fonts/DejaVuSansMono-Bold.ttf",
    "/usr/share/fonts/TTF/DejaVuSansMono-Bold.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationMono-Bold.ttf",
)
_OTHERS: Final = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "/usr/share/fonts/opentype/unifont/unifont.otf",
    "/System/Library/Fonts/PingFang.ttc",
    "/System/Library/Fonts/Hiragino Sans GB.ttc",
    "/System/Library/Fonts/AppleSDGothicNeo.ttc",
    "/System/Library/Fonts/Apple Symbols.ttf",
)
_EMOJI: Final = (
    "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf",
    "/usr/share/fonts/google-noto-color-emoji-fonts/NotoColorEmoji.ttf",
    "/usr/share/fonts/noto/NotoColorEmoji.ttf",
    "/System/Library/Fonts/Apple Color Emoji.ttc",
)


@lru_cache(maxsize=2)
def font_files(*, bold: bool) -> tuple[FontFile, ...]:
    """Return the fonts of this machine and ours; read once, so a new font needs a restart."""
    return in_order(_from_fontconfig(bold=bold) or _well_known(bold=bold), packaged(bold=bold))


def in_order(system: list[FontFile], ours: list[FontFile]) -> tuple[FontFile, ...]:
    """Put monospace fonts first and emoji last.

    Ours come before fonts of varying width, unless the machine has a monospace one: an
    emoji font has digits too, and letters of a text font do not fit the cells.
    """
    plain = [font for font in system if not font.color]
    mono = [font for font in plain if font.monospace]
    others = [font for font in plain if not font.monospace]
    emoji = [font for font in system if font.color]
    middle = others + ours if mono else ours + others
    return tuple((mono + middle)[:_MAX_FILES] + emoji)


def packaged(*, bold: bool) -> list[FontFile]:
    """Return the fonts that the extra `png` installs."""
    if find_spec(_PACKAGE) is None:
        return []
    weight = "Bold" if bold else "Regular"
    names = (f"CascadiaMono_{weight}", "NotoSansSymbols2_Regular")
    return [FontFile(module=f"{_PACKAGE}.{name}", monospace=True) for name in names]


def _from_fontconfig(*, bold: bool) -> list[FontFile]:
    """Return fontconfig's own order for monospace text, none if it is not installed."""
    pattern = "monospace:bold" if bold else "monospace"
    command = ["fc-match", "--sort", "--format", _FIELDS, pattern]
    try:
        done = subprocess.run(
            command, capture_output=True, check=True, stdin=subprocess.DEVNULL, timeout=_TIMEOUT
        )
    except (OSError, subprocess.SubprocessError):
        return []
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return [font for font in map(_parsed, lines) if font]


def _parsed(line: str) -> FontFile | None:
    match line.split("\t"):
        case [path, index, spacing, color]:
            return FontFile(
                path=path,
                index=int(index or 0),
                monospace=int(spacing or 0) >= _DUAL,
                color=color == "True",
            )
    return None


def _well_known(*, bold: bool) -> list[FontFile]:
    mono = (*_BOLD, *_REGULAR) if bold else _REGULAR
    fonts = [
        *(FontFile(path=path, monospace=True) for path in mono),
        *(FontFile(path=path) for path in _OTHERS),
        *(FontFile(path=path, color=True) for path in _EMOJI),
    ]
    return [font for font in fonts if os.path.exists(font.path)]
