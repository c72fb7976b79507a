"""The screen as an HTML document: one file that looks like the screen wherever it is opened.

No script, nothing fetched from elsewhere, and links only to where a person may safely be led. The
library gives a fragment, in which text is escaped and colours are numbers of a palette that a page
around it would have to define, and reverse video a filter that needs a background.
"""

from __future__ import annotations

import html
import re
from typing import Final

from agent_pty.core.safe import is_safe_link
from agent_pty.emulator.palette import DEFAULT, Palette, hex_code
from agent_pty.emulator.picture import FAMILIES, look
from agent_pty.emulator.style import Color, Style

# Text cannot imitate these, for its brackets and quotes are escaped.
_STYLED: Final = re.compile(r'<div style="display: inline;([^"]*)">')
_LINK: Final = re.compile(r'<a href="([^"]*)">')
_COLOR: Final = re.compile(r"var\(--vt-palette-(\d+)\)|rgb\((\d+), (\d+), (\d+)\)")
_ENTITY: Final = re.compile(r"&(?:#(\d+)|[a-z]+);")
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def html_document(fragment: str, *, title: str, palette: Palette = DEFAULT) -> str:
    """Return a whole document around what the library made of a screen."""
    styled = _STYLED.sub(lambda found: _restyled(found, palette), fragment)
    body = _LINK.sub(_link, styled)
    ground, text = hex_code(palette.background), hex_code(palette.foreground)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{html.escape(title)}</title>
<style>
body {{ margin: 1em; background: {ground}; color: {text}; }}
body > div {{ font-family: {FAMILIES} !important; line-height: 1.2; }}
a {{ color: inherit; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def _link(found: re.Match[str]) -> str:
    """Keep a link whose scheme is allowed; without an address it is only text."""
    address = _address(found[1])
    if not is_safe_link(address):
        return "<a>"
    return f'<a href="{html.escape(address)}" rel="noopener noreferrer">'


def _address(escaped: str) -> str:
    """Return an address, of which the library escapes each byte by itself; empty if not UTF-8."""
    # `html.unescape` is for the names alone: it takes the numbers 128 to 159 for other characters.
    text = _ENTITY.sub(lambda one: chr(int(one[1])) if one[1] else html.unescape(one[0]), escaped)
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return ""


def _restyled(found: re.Match[str], palette: Palette) -> str:
    """Write colours as they look, and reverse, faint and concealed text by its colours."""
    given = dict(one.split(": ", 1) for one in found[1].split(";") if one)
    looks = look(
        Style(
            fg=_color(given.pop("color", "")),
            bg=_color(given.pop("background-color", "")),
            inverse=given.pop("filter", None) is not None,
            faint=given.pop("opacity", None) is not None,
            invisible=given.pop("visibility", None) is not None,
            bold=given.get("font-weight") == "bold",
        ),
        palette,
    )
    if looks.hidden:
        given["color"] = "transparent"
    elif looks.ink != palette.foreground:
        given["color"] = hex_code(looks.ink)
    if looks.bg != palette.background:
        given["background-color"] = hex_code(looks.bg)
    underline = _color(given.pop("text-decoration-color", ""))
    if underline is not None:
        given["text-decoration-color"] = hex_code(palette.rgb(underline, palette.foreground))
    style = "".join(f"{name}: {value};" for name, value in given.items())
    return f'<div style="display: inline;{style}">'


def _color(value: str) -> Color:
    """Read a colour as the library writes it; None if there is none."""
    found = _COLOR.fullmatch(value)
    if found is None:
        return None
    if found[1] is not None:
        return int(found[1])
    return int(found[2]), int(found[3]), int(found[4])
