"""Regular expressions from users: RE2, linear in time whatever they write.

They are per line: `^` and `$` match at the borders of each line, unless `(?-m)` says otherwise.
"""

from __future__ import annotations

import functools

import re2

from agent_pty.core.condition import Search
from agent_pty.errors import BadRequest

_LONGEST = 4096
_PER_LINE = "(?m)"
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
        program = re2.compile(_PER_LINE + pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not accepted"
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise BadRequest(f"compile wait regex {pattern!r}: {shown}", pattern=pattern) from error

    def search(text: str, *, before: str = "", after: str = "") -> str | None:
        # RE2 looks at the characters around the part that it searches, but finds nothing in them.
        end = len(before) + len(text)
        found = program.search(before + text + after, len(before), end)
        return None if found is None else str(found.group(0))

    return search
