"""Ours by `k`: what an agent calls at every step, beside the original of that name."""

from __future__ import annotations

import os
import subprocess
import time

from bench.clock import timed
from bench.contestant import Measure, Poured
from bench.ours import Ours
from bench.pouring import exact

_PATIENCE = 300


class OurK:
    """Two sessions: one to run cells in, one whose cell never ends; they start in *directory*."""

    def __init__(self, us: Ours, directory: str | None = None) -> None:
        self._us = us
        self._directory = directory
        self._shell, self._busy = us.place.name(), us.place.name()
        self.k("new", self._shell, "bash")
        self.k("new", self._busy, "bash")
        self.k("fire", "-t", "0", self._busy, "sleep 100000")

    def k(self, *words: str) -> str:
        """Run `k`."""
        done = subprocess.run(
            [os.path.join(self._us.programs, "k"), *words],
            cwd=self._directory,
            env=self._us.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=True,
        )
        return done.stdout

    def timed(self) -> dict[str, Measure]:
        """Return what it can do."""
        return {
            "k_new": self._new,
            "k_run": lambda: timed(lambda: self.k("run", "-j", self._shell, "echo hello")),
            "k_poll": lambda: timed(lambda: self.k("poll", self._busy)),
            "k_fire": self._fire,
        }

    def _new(self) -> float:
        name = self._us.place.name()
        taken = timed(lambda: self.k("new", name, "bash"))
        self.k("kill", name)
        return taken

    def _fire(self) -> float:
        taken = timed(lambda: self.k("fire", self._shell, "true"))
        while "running" in self.k("poll", self._shell):
            pass
        return taken

    def pour(self, path: str) -> Poured:
        """Let a cell show a file."""
        start = time.perf_counter()
        seen = self.k("run", "-t", str(_PATIENCE), self._shell, f"cat {path}")
        taken = time.perf_counter() - start
        return Poured(seen=taken, whole=taken, exact=exact(seen, path))
