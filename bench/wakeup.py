"""The program that tells when it wrote: it answers each line, a little later, with the time.

The pause is long enough that the wait is pending when the answer is written.
"""

from __future__ import annotations

import re
import sys
import time

PAUSE = 0.03
PROGRAM = (
    "import sys,time\n"
    "print('up-2',flush=True)\n"
    "for line in sys.stdin:\n"
    f" time.sleep({PAUSE})\n"
    " print(f'W{line.strip()} {time.monotonic_ns()}.',flush=True)\n"
)
ARGV = [sys.executable, "-I", "-S", "-c", PROGRAM]


def pattern(number: int) -> str:
    """Return what matches the answer to line *number*."""
    return rf"W{number} (\d+)\."


def since(written: str) -> float:
    """Return the seconds from the time in an answer to now."""
    found = re.search(r"W\d+ (\d+)\.", written)
    assert found, f"no time in {written!r}"
    return (time.monotonic_ns() - int(found[1])) / 1e9
