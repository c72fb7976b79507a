"""Calls to Linux and its C library that Python has no function for; elsewhere they do nothing."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_LARGEST_BUFFER = 1024 * 1024
_MOST_SPARE = 2 * 1024 * 1024


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent has ended."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def name_process(role: str) -> None:
    """Set the name that `ps -o comm` and `top` show; the kernel keeps 15 characters."""
    _prctl(_PR_SET_NAME, ctypes.c_char_p(f"agent-pty-{role}".encode()))


def keep_buffers() -> None:
    """Use the memory of a buffer again instead of asking the kernel for new pages each time.

    asyncio receives into a new buffer of 256 KiB, which is more than malloc keeps.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:  # musl has no mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_BUFFER)
        mallopt(_M_TRIM_THRESHOLD, _MOST_SPARE)


def _prctl(option: int, value: object) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
