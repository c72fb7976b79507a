"""What the rules of `[permission]` say about a command line. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_pty.core.config import Rules, Verdict


def verdict(rules: Rules, line: str) -> Verdict:
    """Return the verdict on a command line: that of the last pattern that matches all of it.

    `*` is any text, `?` one character. What no pattern matches is allowed.

    >>> verdict({"*": "ask", "git *": "allow", "git push*": "deny"}, "git push -f")
    'deny'
    """
    if isinstance(rules, str):
        return rules
    found = [decided for pattern, decided in rules.items() if _matches(pattern, line)]
    return found[-1] if found else "allow"


def _matches(pattern: str, line: str) -> bool:
    wild = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(wild, line, re.DOTALL) is not None
