"""How patterns of this package are compiled: over bytes, in linear time.

Terminal output need not be UTF-8; a byte is a character here, so nothing in it can end a match.
"""

from __future__ import annotations

from typing import Any

import re2


def compiled(pattern: str, *, case: bool = True) -> Any:
    """Return an RE2 pattern; without *case* it does not matter how letters are written."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = case
    options.log_errors = False
    return re2.compile(pattern.encode(), options)
