"""pexpect in this process: it dies with us, and has no screen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from bench import install, wakeup
from bench.clock import timed
from bench.contestant import Contestant, Measure, Poured
from bench.place import PROMPT, SHELL, Place
from bench.pouring import END, exact, show

# Without a window it searches everything again after each read.
_WINDOW = 200


class Pexpect:
    """Two shells, one of which is always at its prompt, and the clock program."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._pexpect = install.library("pexpect")
        self._shell, self._at_prompt = self._ready(), self._ready()
        self._clock = self._spawn(wakeup.ARGV)
        self._clock.expect_exact("up-2")

    def _spawn(self, argv: list[str]) -> Any:
        child = self._pexpect.spawn(
            argv[0],
            argv[1:],
            env=self._place.env,
            maxread=65536,
            searchwindowsize=_WINDOW,
            timeout=300,
            echo=True,
        )
        # By default it sleeps 50 ms before each line.
        child.delaybeforesend = None
        return child

    def _ready(self) -> Any:
        child = self._spawn(SHELL)
        child.expect_exact(PROMPT)
        return child

    def close(self) -> None:
        """End them."""
        for child in (self._shell, self._at_prompt, self._clock):
            child.close(force=True)

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(name="pexpect", timed=self._timed(), pour=self._pour, fell=self._fell)

    def _timed(self) -> dict[str, Measure]:
        return {
            "new_open": self._new,
            "trip_open": self._trip,
            "wake_open": self._wake,
            "python_run": self._run,
        }

    def _new(self) -> float:
        start = time.perf_counter()
        child = self._ready()
        taken = time.perf_counter() - start
        child.close(force=True)
        return taken

    def _trip(self) -> float:
        number = self._place.number()
        start = time.perf_counter()
        self._shell.send(f"echo t-$(({number}+1))\r")
        self._shell.expect_exact(f"t-{number + 1}")
        return time.perf_counter() - start

    def _run(self) -> float:
        """Wait until the prompt is back. What came before it is the echo and the output."""
        shell = self._at_prompt
        start = time.perf_counter()
        shell.send("echo hello\r")
        shell.expect_exact(PROMPT)
        taken = time.perf_counter() - start
        assert shell.before.count(b"hello\r\n") == 2, shell.before
        return taken

    def _wake(self) -> float:
        number = self._place.number()
        self._clock.send(f"{number}\r")
        self._clock.expect(wakeup.pattern(number))
        return wakeup.since(self._clock.after.decode())

    def _pour(self, path: str) -> Poured:
        child = self._ready()
        start = time.perf_counter()
        child.send(show(path) + "\r")
        child.expect_exact(END)
        taken = time.perf_counter() - start
        text = child.before.decode()
        child.close(force=True)
        return Poured(seen=taken, whole=taken, exact=exact(text, path))

    def _fell(self, command: str) -> float:
        child = self._spawn(["bash", "-c", command])
        child.expect_exact("up-2")
        return timed(lambda: child.close(force=True))


@contextlib.contextmanager
def enter(place: Place) -> Iterator[Contestant]:
    """Start the children and end them."""
    peer = Pexpect(place)
    try:
        yield peer.contestant()
    finally:
        peer.close()
