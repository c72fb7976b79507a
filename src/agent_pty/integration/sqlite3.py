"""sqlite3: an inputrc of ours, around the user's own, makes readline mark the prompts.

If sqlite3 was built with another line editor there are no marks. No status: it reports none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

# What to type to run a file as one command.
LOAD = '.read "{path}"'

_LONGEST = 1000
# Options whose next word, or next two, are their values.
_ONE = re.compile(
    r"--?(cmd|escape|heap|init|maxsize|mmap|newline|nonce|nullvalue|separator|sorterref|vfs)$"
)
_TWO = re.compile(r"--?(lookaside|pagecache)$")
# With any of these it does its work and ends.
_NOT_OURS = re.compile(r"--?(batch|help|version|A.*)$")


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Start it from a script of ours; with SQL to run it is not interactive."""
    words = iter(argv[1:])
    operands = 0
    for word in words:
        operands += not word.startswith("-")
        if operands > 1 or _NOT_OURS.match(word):
            return None
        if _ONE.match(word) or _TWO.match(word):
            next(words, None)
        if _TWO.match(word):
            next(words, None)
    return Injected(
        argv=["sh", f"{SCRIPTS}/sqlite3.sh", *argv],
        env=dict(env),
        secret=nonce,
    )


def is_simple(code: str) -> bool:
    """Say whether *code* may be typed as it is: one line that is certainly a whole command.

    A continuation prompt has the marks of a prompt, so it should not appear.
    """
    return (
        0 < len(code) < _LONGEST
        and code.isprintable()
        and (code.startswith(".") or code.rstrip().endswith(";"))
        and all(code.count(quote) % 2 == 0 for quote in "'\"`")
        and not any(word in code.lower() for word in ("--", "/*", "[", "trigger"))
    )
