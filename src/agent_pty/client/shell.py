"""Which shell a session gets when nobody says."""

from __future__ import annotations

import os

_BASH = ("/bin/bash", "/usr/bin/bash")


def default_shell() -> str:
    """Return bash where it exists, else the shell that every system has."""
    return next((path for path in _BASH if os.path.exists(path)), "/bin/sh")
