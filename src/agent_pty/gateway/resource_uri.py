"""Addresses of what MCP clients may read of a session.

    agent-pty://sessions/NAME/screen        what a person would see
    agent-pty://sessions/NAME/transcript    what the program wrote
    agent-pty://sessions/NAME/proof         what its record proves, as JSON
    agent-pty://sessions/NAME/proof.md      the same as Markdown
    agent-pty://sessions/NAME/proof.html    the same as a page

Pure.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

View = Literal["screen", "transcript", "proof", "proof.md", "proof.html"]
# What changes whenever the program writes; a proof is made when it is read.
_LIVING: tuple[View, ...] = ("screen", "transcript")
_BASE = "agent-pty://sessions/"
_VIEWS = "|".join(map(re.escape, get_args(View)))
_URI = re.compile(rf"{re.escape(_BASE)}([A-Za-z0-9_.-]+)/({_VIEWS})", re.ASCII)
TEMPLATES: dict[View, str] = {view: f"{_BASE}{{name}}/{view}" for view in get_args(View)}


def uri_of(name: str, view: View) -> str:
    """Return an address.

    >>> uri_of("work", "screen")
    'agent-pty://sessions/work/screen'
    """
    return f"{_BASE}{name}/{view}"


def uris_of(name: str) -> list[str]:
    """Return every address of one session whose content changes by itself."""
    return [uri_of(name, view) for view in _LIVING]


def session_of(uri: str) -> tuple[str, View] | None:
    """Return the session and the view of an address; None if it is none of ours.

    >>> session_of("agent-pty://sessions/work/screen")
    ('work', 'screen')
    >>> session_of("file:///etc/passwd")
    """
    found = _URI.fullmatch(uri)
    return (found[1], found[2]) if found else None  # type: ignore[return-value]
