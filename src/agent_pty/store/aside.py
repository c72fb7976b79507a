"""Move aside files that this version cannot read: never deleted, the user may want them."""

from __future__ import annotations

import itertools
import os


def set_aside(path: str, directory: str) -> str:
    """Move *path* into *directory* under a free name; return where it is now."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    base = os.path.join(directory, os.path.basename(path))
    names = itertools.chain([base], (f"{base}.{number}" for number in itertools.count(2)))
    target = next(name for name in names if not os.path.lexists(name))
    os.rename(path, target)
    return target
