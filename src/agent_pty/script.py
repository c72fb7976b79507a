"""The script behind `agent-pty`, `k`, `km` and `agent-tty`: where it is, and which build of it."""

from __future__ import annotations

import _imp
import functools
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli", "script")
# Any number will do, as long as the script uses the same.
_KEY = 0


@functools.cache
def digest() -> str:
    """Return the digest of the installed script; a copy in `bin` computes its own the same way."""
    with open(PATH, "rb") as file:
        return _imp.source_hash(_KEY, file.read()).hex()
