"""What work costs, told without knowing how fast the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

_ROUNDS = 3
PARTS = 8
# Work that grows with its input costs 8 times an eighth; with the square of it, 64 times.
_MOST = 24
# Too little to tell apart from noise, and cheap whatever it is.
_NOTHING = 0.005


def _least(work: Callable[[], object]) -> float:
    costs = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        work()
        costs.append(time.process_time() - started)
    return min(costs)


def is_linear(whole: Callable[[], object], eighth: Callable[[], object]) -> bool:
    """Whether *whole* costs about eight times what *eighth*, on an eighth of the input, does."""
    cost = _least(whole)
    return cost < _NOTHING or cost < _MOST * max(_least(eighth), _NOTHING / PARTS)
