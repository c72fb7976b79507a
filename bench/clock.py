"""Time one thing; look again until something shows."""

from __future__ import annotations

import time
from collections.abc import Callable

_PATIENCE = 60.0


class Never(Exception):
    """Something did not show in time."""


def timed(work: Callable[[], object]) -> float:
    """Return how many seconds *work* takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def poll(look: Callable[[], str], sign: str, *, patience: float = _PATIENCE) -> str:
    """Look without a pause until *sign* shows: the fastest loop a peer without waits allows."""
    deadline = time.monotonic() + patience
    while sign not in (seen := look()):
        if time.monotonic() > deadline:
            raise Never(f"{sign!r} did not show; last seen: {seen[-300:]!r}")
    return seen
