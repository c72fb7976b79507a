"""agent-tty 0.1.0, the original `k`: a process per call, over tmux."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator

from bench import install
from bench.clock import timed
from bench.contestant import Contestant, Measure, Poured
from bench.place import SHELL_COMMAND, Place
from bench.pouring import exact

_PATIENCE = 300


class AgentTty:
    """It uses the default tmux server, so it gets a directory in which that is private."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._env = {**place.env, "TMUX_TMPDIR": place.folder()}
        self._shell = place.name()
        self._made: set[str] = set()
        self._busy = ""

    def k(self, *words: str) -> str:
        """Run `k`."""
        return self._run([install.program("k"), *words])

    def tmux(self, *words: str) -> str:
        """Run tmux on the server that `k` uses."""
        return self._run(["tmux", *words])

    def _run(self, argv: list[str]) -> str:
        done = subprocess.run(
            argv,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=True,
        )
        return done.stdout

    def make(self, name: str) -> None:
        """Start a session; it returns after a second, whatever happens."""
        self._made.add(name)
        self.k("new", name, SHELL_COMMAND)

    def end(self) -> None:
        """End every session, which also removes its files, and the server."""
        for name in self._made:
            self.k("kill", name)
        with contextlib.suppress(subprocess.CalledProcessError):
            self.tmux("kill-server")

    def pid(self) -> int:
        """Return the tmux server."""
        return int(self.tmux("display-message", "-p", "#{pid}"))

    def start(self) -> None:
        """Start the session that most rows use."""
        self.make(self._shell)

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(name="agent-tty", timed=self._timed(), pour=self._pour, k_pour=self._pour)

    def _timed(self) -> dict[str, Measure]:
        return {
            "cold": lambda: timed(lambda: self.k("ls")),
            "new_cli": self._new,
            "trip_cli": self._trip,
            "screen_cli": lambda: timed(lambda: self.k("history", self._shell)),
            "wake_cli": self._wake,
            "k_new": self._new,
            "k_run": lambda: timed(lambda: self.k("run", "-j", self._shell, "echo hello")),
            "k_poll": self._poll,
            "k_fire": self._fire,
        }

    def _new(self) -> float:
        name = self._place.name()
        taken = timed(lambda: self.make(name))
        self.k("kill", name)
        return taken

    def _poll(self) -> float:
        """A cell that never ends, in a session of its own."""
        if not self._busy:
            self._busy = self._place.name()
            self.make(self._busy)
            self.k("fire", "-t", "100000", self._busy, "sleep 100000")
        return timed(lambda: self.k("poll", self._busy))

    def _fire(self) -> float:
        taken = timed(lambda: self.k("fire", self._shell, "true"))
        while "running" in self.k("poll", self._shell):
            pass
        return taken

    def _trip(self) -> float:
        number = self._place.number()
        start = time.perf_counter()
        seen = self.k("run", self._shell, f"echo t-$(({number}+1))")
        taken = time.perf_counter() - start
        assert f"t-{number + 1}" in seen, seen
        return taken

    def _wake(self) -> float:
        """It cannot wait for text, only for the prompt behind it: of the shell, which is fast."""
        seen = self.k("run", self._shell, "sleep 0.03; date +%s%N")
        found = re.search(r"\b(\d{19})\b", seen)
        assert found, seen
        return (time.time_ns() - int(found[1])) / 1e9

    def _pour(self, path: str) -> Poured:
        start = time.perf_counter()
        seen = self.k("run", "-t", str(_PATIENCE), self._shell, f"cat {path}")
        taken = time.perf_counter() - start
        return Poured(seen=taken, whole=taken, exact=exact(seen, path))


@contextlib.contextmanager
def enter(place: Place) -> Iterator[Contestant]:
    """Start its session and clear everything away at the end."""
    if not os.path.exists(install.program("k")):
        raise install.Missing("agent-tty is not installed")
    peer = AgentTty(place)
    try:
        peer.start()
        yield peer.contestant()
    finally:
        peer.end()
