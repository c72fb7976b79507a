"""Bare Python of our environment: the floor below which no Python command line can go."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from bench.clock import timed
from bench.contestant import Contestant
from bench.place import Place

# Rows in which a command answers at once.
_ROWS = ("cold", "list_cli", "send_cli", "screen_cli", "k_poll")


@contextlib.contextmanager
def enter(place: Place) -> Iterator[Contestant]:
    """Give the interpreter that runs us."""

    def cold() -> None:
        subprocess.run([sys.executable, "-c", "pass"], env=place.env, check=True)

    yield Contestant(name="python", timed=dict.fromkeys(_ROWS, lambda: timed(cold)))
