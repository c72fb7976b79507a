"""Regular expressions from users: RE2, linear in time whatever they write.

They are per line: `^` and `$` match at the borders of each line, unless `(?-m)` says otherwise.
"""

from __future__ import annotations

import functools
from typing import Any

import re2

from agent_pty.core.condition import Search
from agent_pty.errors import BadRequest

_LONGEST = 4096
_PER_LINE = "(?m)"
# RE2 compiles to a program of bounded size; a pattern such as (a{1000}){1000} hits this.
_MEMORY = 8 * 1024 * 1024


class BadPattern(ValueError):
    """RE2 does not take a pattern; the text says why."""


def linear(pattern: str) -> Any:
    """Return a program of RE2, whose time is linear and whose memory is bounded."""
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not accepted"
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise BadPattern(shown) from error


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> Search:
    """Return a search for *pattern*, or say what is wrong with it."""
    if len(pattern) > _LONGEST:
        raise BadRequest(f"a pattern of {len(pattern)} characters; at most {_LONGEST}")
    try:
        program = linear(_PER_LINE + pattern)
    except BadPattern as error:
        raise BadRequest(f"compile wait regex {pattern!r}: {error}", pattern=pattern) from error

    def search(text: str, *, before: str = "", after: str = "") -> str | None:
        # RE2 looks at the characters around the part that it searches, but finds nothing in them.
        end = len(before) + len(text)
        found = program.search(before + text + after, len(before), end)
        return None if found is None else str(found.group(0))

    return search
