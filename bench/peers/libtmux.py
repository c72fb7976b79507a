"""libtmux in this process, over a tmux server of our own."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

from bench import install, wakeup
from bench.clock import poll, timed
from bench.contestant import Contestant, Measure
from bench.place import PROMPT, SHELL_COMMAND, Place


class LibTmux:
    """A server, and a pane of it for each purpose."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.server: Any = install.library("libtmux").Server(
            socket_name=place.name(), config_file=os.devnull
        )
        self._shell = self._pane(SHELL_COMMAND)
        poll(lambda: _text(self._shell), PROMPT.rstrip())

    def _pane(self, command: str) -> Any:
        name = self._place.name()
        session = self.server.new_session(name, window_command=command, x=80, y=24)
        return session.active_pane

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(name="libtmux", timed=self._timed())

    def _timed(self) -> dict[str, Measure]:
        return {
            "new_open": self._new,
            "trip_open": self._trip,
            "screen_open": lambda: timed(lambda: _text(self._shell)),
            "wake_open": self._wake,
            "python_run": self._trip,
        }

    def _new(self) -> float:
        start = time.perf_counter()
        pane = self._pane(SHELL_COMMAND)
        poll(lambda: _text(pane), PROMPT.rstrip())
        taken = time.perf_counter() - start
        pane.session.kill()
        return taken

    def _trip(self) -> float:
        number = self._place.number()
        start = time.perf_counter()
        self._shell.send_keys(f"echo t-$(({number}+1))")
        poll(lambda: _text(self._shell), f"t-{number + 1}")
        return time.perf_counter() - start

    def _wake(self) -> float:
        number = self._place.number()
        self._shell.send_keys(f"sleep {wakeup.PAUSE}; echo W{number}-$(date +%s%N).")
        seen = poll(lambda: _text(self._shell), f"\nW{number}-")
        written = seen[seen.index(f"\nW{number}-") :].partition("-")[2].partition(".")[0]
        return (time.time_ns() - int(written)) / 1e9


def _text(pane: Any) -> str:
    return "\n".join(pane.capture_pane())


@contextlib.contextmanager
def enter(place: Place) -> Iterator[Contestant]:
    """Start a server and stop it at the end."""
    # libtmux starts tmux with the environment of this process.
    names = ("PS1", "HOME", "TMUX_TMPDIR", "HISTFILE")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: place.env[name] for name in names})
    peer = None
    try:
        peer = LibTmux(place)
        yield peer.contestant()
    finally:
        if peer is not None:
            peer.server.kill()
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
