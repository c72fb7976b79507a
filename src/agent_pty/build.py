"""Which build this is: a digest of the installed sources.

Two builds of one version differ in it, so a process can say whether it runs the code that is
installed now. Call `digest` early: it reads the files as they are at that moment.
"""

from __future__ import annotations

import functools
import hashlib
import os

_DIGITS = 16
_SOURCES = (
    ".py",
    ".sh",
    ".js",
    ".fish",
    ".zsh",
    ".gdb",
    ".css",
    ".md",
    "script",
    "psqlrc",
    ".zshenv",
)


@functools.cache
def digest() -> str:
    """Return the digest of every source file of the package."""
    root = os.path.dirname(os.path.abspath(__file__))
    summary = hashlib.sha256()
    for path in _sources(root):
        with open(path, "rb") as file:
            content = file.read()
        summary.update(f"{os.path.relpath(path, root)}\0{len(content)}\0".encode())
        summary.update(content)
    return summary.hexdigest()[:_DIGITS]


def _sources(root: str) -> list[str]:
    found = []
    for directory, _, names in os.walk(root):
        found += [os.path.join(directory, name) for name in names if name.endswith(_SOURCES)]
    return sorted(found)
