"""The caller's own directory."""

from __future__ import annotations

import os


def here() -> str:
    """Return the current directory; one that was removed has no name."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"
