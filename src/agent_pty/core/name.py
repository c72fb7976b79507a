"""Session names: what people type, never used as the names of files."""

from __future__ import annotations

import re
from collections.abc import Container

from agent_pty.errors import BadRequest

LONGEST = 64
# The journal of a session is named after it, and these would be the files of traces.
_RESERVED = frozenset({"traces", "traces.1"})
_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,{LONGEST - 1}}}", re.ASCII)


def checked(name: str) -> str:
    """Return *name* if it is a valid session name."""
    if _NAME.fullmatch(name) and ".." not in name:
        return name
    shown = ascii(name if len(name) <= LONGEST else name[:LONGEST] + "...")
    raise BadRequest(
        f"bad session name {shown}: use 1 to {LONGEST} letters, digits, '.', '_' or '-', "
        "beginning with a letter, digit or '_' and without '..'",
        field="id",
    )


def usable(name: str) -> str:
    """Return *name* if a new session may be called so."""
    if checked(name).lower() in _RESERVED:
        raise BadRequest(
            f"bad session name {name!r}: the files of traces have it, choose another", field="id"
        )
    return name


def generated(taken: Container[str], prefix: str = "s") -> str:
    """Return the shortest free name: names are typed, and agents pay for every token.

    >>> generated({"s1", "s3"})
    's2'
    """
    number = 1
    while f"{prefix}{number}" in taken:
        number += 1
    return f"{prefix}{number}"
