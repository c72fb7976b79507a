"""Two calls to Linux that Python has no function for; elsewhere they do nothing."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of whatever the programs leave behind."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def name_process(role: str) -> None:
    """Say in `ps -o comm` and `top` what this process is; the kernel keeps 15 characters."""
    _prctl(_PR_SET_NAME, ctypes.c_char_p(f"agent-pty-{role}".encode()))


def _prctl(option: int, value: object) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
