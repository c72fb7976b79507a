"""ptyprocess in this process: a terminal and nothing on top, so the floor for the others."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

from bench import install, wakeup
from bench.contestant import Contestant, Measure
from bench.place import PROMPT, SHELL, Place


class PtyProcess:
    """A shell and the clock program, read by hand."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._module = install.library("ptyprocess")
        self._shell = self._spawn(SHELL)
        _read_until(self._shell, PROMPT)
        self._clock = self._spawn(wakeup.ARGV)
        _read_until(self._clock, "up-2")

    def _spawn(self, argv: list[str]) -> Any:
        return self._module.PtyProcess.spawn(argv, env=self._place.env)

    def close(self) -> None:
        """End both."""
        self._shell.close(force=True)
        self._clock.close(force=True)

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(name="ptyprocess", timed=self._timed())

    def _timed(self) -> dict[str, Measure]:
        return {"new_open": self._new, "trip_open": self._trip, "wake_open": self._wake}

    def _new(self) -> float:
        start = time.perf_counter()
        child = self._spawn(SHELL)
        _read_until(child, PROMPT)
        taken = time.perf_counter() - start
        child.close(force=True)
        return taken

    def _trip(self) -> float:
        number = self._place.number()
        start = time.perf_counter()
        self._shell.write(f"echo t-$(({number}+1))\r".encode())
        _read_until(self._shell, f"t-{number + 1}")
        return time.perf_counter() - start

    def _wake(self) -> float:
        number = self._place.number()
        self._clock.write(f"{number}\r".encode())
        seen = _read_until(self._clock, f"W{number} ", ".")
        return wakeup.since(seen[seen.index(f"W{number} ") :])


def _read_until(child: Any, sign: str, end: str = "") -> str:
    seen = b""
    while not (sign.encode() in seen and end.encode() in seen.partition(sign.encode())[2]):
        seen += os.read(child.fd, 65536)
    return seen.decode()


@contextlib.contextmanager
def enter(place: Place) -> Iterator[Contestant]:
    """Start two children and end them."""
    peer = PtyProcess(place)
    try:
        yield peer.contestant()
    finally:
        peer.close()
