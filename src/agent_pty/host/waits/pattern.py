"""Regular expressions from users: RE2, linear in time whatever they write."""

from __future__ import annotations

import functools

import re2

from agent_pty.core.condition import Search
from agent_pty.errors import BadRequest

_LONGEST = 4096
# RE2 compiles to a program of bounded size; a pattern such as (a{1000}){1000} hits this.
_MEMORY = 8 * 1024 * 1024


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> Search:
    """Return a search for *pattern*, or say what is wrong with it."""
    if len(pattern) > _LONGEST:
        raise BadRequest(f"a pattern of {len(pattern)} characters; at most {_LONGEST}")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        program = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not accepted"
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise BadRequest(f"compile wait regex {pattern!r}: {shown}", pattern=pattern) from error

    def search(text: str) -> str | None:
        found = program.search(text)
        return None if found is None else str(found.group(0))

    return search
