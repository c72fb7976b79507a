"""A tool in the hands of a scripted agent: what each call costs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_PATIENCE = 300


class Failed(AssertionError):
    """A tool did not show what the agent needs in order to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a task cost: calls, bytes of the arguments, bytes of the answers, seconds."""

    calls: int
    bytes_in: int
    bytes_out: int
    seconds: float
    # What the agent typed, word by word.
    commands: Sequence[Sequence[str]] = ()


def total(tallies: Sequence[Tally]) -> Tally:
    """Return what several tasks cost together."""
    return Tally(
        calls=sum(one.calls for one in tallies),
        bytes_in=sum(one.bytes_in for one in tallies),
        bytes_out=sum(one.bytes_out for one in tallies),
        seconds=sum(one.seconds for one in tallies),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one call printed on both streams, and its exit status."""

    text: str
    status: int

    def need(self, *words: str) -> str:
        """Return the text, in which the agent must find all of these."""
        for word in words:
            if word not in self.text:
                raise Failed(f"{word!r} is not in the answer: {self.text[-2000:]!r}")
        return self.text


class Tool:
    """Acts in the directory of a task and counts."""

    def __init__(self, folder: str, env: dict[str, str]) -> None:
        self.folder = folder
        self.env = env
        self._in = self._out = 0
        self._commands: list[Sequence[str]] = []
        self._start: float | None = None

    def call(self, argv: Sequence[str], *, hidden: int = 0) -> Answer:
        """Run one command line; *hidden* bytes of it are not the agent's but the bench's."""
        # An agent writes `k`, not where it is installed.
        typed = [os.path.basename(argv[0]), *argv[1:]]
        return self.count(typed, lambda: self._run(argv), hidden=hidden)

    def _run(self, argv: Sequence[str]) -> tuple[bytes, int]:
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE,
            check=False,
        )
        return done.stdout, done.returncode

    def count(
        self, typed: Sequence[str], act: Callable[[], tuple[bytes, int]], *, hidden: int = 0
    ) -> Answer:
        """Do what the agent typed, and count it: *act* returns the answer and a status."""
        if self._start is None:
            self._start = time.perf_counter()
        answer, status = act()
        self._commands.append(typed)
        self._in += sum(len(os.fsencode(word)) + 1 for word in typed) - hidden
        self._out += len(answer)
        return Answer(text=answer.decode(errors="replace"), status=status)

    def tally(self) -> Tally:
        """Return the cost up to now."""
        return Tally(
            calls=len(self._commands),
            bytes_in=self._in,
            bytes_out=self._out,
            seconds=0.0 if self._start is None else time.perf_counter() - self._start,
            commands=tuple(self._commands),
        )
