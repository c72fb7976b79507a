"""Bare tmux: `send-keys`, and `capture-pane` in a loop, each a process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator

from bench import wakeup
from bench.clock import poll, timed
from bench.contestant import Contestant, Measure, Poured
from bench.place import PROMPT, SHELL, Place
from bench.pouring import END, show


class Tmux:
    """A server of our own; the user's is never touched."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._label = place.name()
        self._shell, self._clock = place.name(), place.name()

    def start(self) -> None:
        """Start the server with its two sessions."""
        self.make(self._shell, SHELL)
        self.make(self._clock, wakeup.ARGV)
        poll(lambda: self.look(self._shell), PROMPT.rstrip())
        poll(lambda: self.look(self._clock), "up-2")

    def call(self, *words: str) -> str:
        """Run one tmux command."""
        done = subprocess.run(
            ["tmux", "-L", self._label, "-f", os.devnull, *words],
            env=self._place.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def make(self, name: str, argv: list[str]) -> None:
        """Start a session."""
        self.call("new-session", "-d", "-s", name, "-x", "80", "-y", "24", "--", *argv)

    def look(self, name: str) -> str:
        """Return the screen."""
        return self.call("capture-pane", "-p", "-t", f"={name}:")

    def type(self, name: str, line: str) -> None:
        """Type a line."""
        self.call("send-keys", "-t", f"={name}:", "-l", line + "\r")

    def pid(self) -> int:
        """Return the server."""
        return int(self.call("display-message", "-p", "#{pid}"))

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(name="tmux", timed=self._timed(), pour=self._pour, fell=self._fell)

    def _timed(self) -> dict[str, Measure]:
        return {
            "cold": lambda: timed(lambda: self.call("ls")),
            "new_cli": self._new,
            "trip_cli": self._trip,
            "screen_cli": lambda: timed(lambda: self.look(self._shell)),
            "wake_cli": self._wake,
        }

    def _new(self) -> float:
        name = self._place.name()
        start = time.perf_counter()
        self.make(name, SHELL)
        poll(lambda: self.look(name), PROMPT.rstrip())
        taken = time.perf_counter() - start
        self.call("kill-session", "-t", f"={name}")
        return taken

    def _trip(self) -> float:
        number = self._place.number()
        start = time.perf_counter()
        self.type(self._shell, f"echo t-$(({number}+1))")
        poll(lambda: self.look(self._shell), f"t-{number + 1}")
        return time.perf_counter() - start

    def _wake(self) -> float:
        number = self._place.number()
        self.type(self._clock, str(number))
        seen = poll(lambda: self.look(self._clock), f"W{number} ")
        return wakeup.since(seen[seen.index(f"W{number} ") :])

    def _pour(self, path: str) -> Poured:
        """Nothing keeps what has left the scrollback: there is no whole."""
        name = self._place.name()
        self.make(name, SHELL)
        poll(lambda: self.look(name), PROMPT.rstrip())
        start = time.perf_counter()
        self.type(name, show(path))
        poll(lambda: self.look(name), END, patience=300)
        taken = time.perf_counter() - start
        self.call("kill-session", "-t", f"={name}")
        return Poured(seen=taken, whole=None, exact=False)

    def _fell(self, command: str) -> float:
        name = self._place.name()
        self.make(name, ["bash", "-c", command])
        poll(lambda: self.look(name), "up-2")
        return timed(lambda: self.call("kill-session", "-t", f"={name}"))


@contextlib.contextmanager
def server(place: Place) -> Iterator[Tmux]:
    """Give a server and end it by its own command; without sessions it ends by itself."""
    tmux = Tmux(place)
    try:
        yield tmux
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            tmux.call("kill-server")


@contextlib.contextmanager
def enter(place: Place) -> Iterator[Contestant]:
    """Start a server and stop it at the end."""
    with server(place) as tmux:
        tmux.start()
        yield tmux.contestant()
