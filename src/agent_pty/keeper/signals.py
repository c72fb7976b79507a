"""Signals that nobody sends to our processes for a reason: their default would end the process.

SIGTERM, SIGQUIT and the signals of a fault (SIGSEGV, SIGABRT ...) keep their meaning. What SIGINT
and SIGHUP mean is decided by each kind of process.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable

_NAMES = ("USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "POLL", "PWR", "STKFLT", "EMT")


def ignore_foreign() -> None:
    """Ignore them in this process and in every one that is forked from it or takes its place."""
    for number in _foreign():
        signal.signal(number, signal.SIG_IGN)


def pass_over_foreign() -> None:
    """Do nothing when one comes; a program that this process starts gets the default of each.

    An ignored signal would stay ignored in that program.
    """
    for number in _foreign():
        signal.signal(number, lambda _number, _frame: None)


def _foreign() -> Iterable[int]:
    named = [getattr(signal, f"SIG{name}", None) for name in _NAMES]
    # Real-time signals have no meaning of their own, and end a process that does not expect them.
    first = getattr(signal, "SIGRTMIN", signal.NSIG)
    real_time = range(first, getattr(signal, "SIGRTMAX", signal.NSIG - 1) + 1)
    return {number for number in (*named, *real_time) if number in signal.valid_signals()}
