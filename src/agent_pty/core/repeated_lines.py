"""Runs of identical lines, each shown once with its count where that is shorter. Pure.

A line cut off at the end of the text is a piece of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    r"""A line, with its end, that stands *count* times in a row.

    >>> Run(line="no answer, trying again\n", count=70).shown
    'no answer, trying again\n[the line above stands here 70 times]\n'
    """

    line: str
    count: int = 1

    @property
    def size(self) -> int:
        """How many bytes of the text it stands for."""
        return len(self.line.encode()) * self.count

    @property
    def lines(self) -> int:
        """How many lines of the text it stands for; an unfinished one is none."""
        return self.count if self.line.endswith("\n") else 0

    @property
    def shown(self) -> str:
        """What is shown of it."""
        once = f"{self.line}[the line above stands here {self.count} times]\n"
        return once if len(once) < len(self.line) * self.count else self.line * self.count


class RepeatedLines:
    """Is fed a text in pieces, and divides it into runs."""

    def __init__(self) -> None:
        self._complete: list[Run] = []
        self._last: Run | None = None
        self._rest = ""
        self._shown_size = 0
        self._shown_lines = 0

    def feed(self, text: str) -> None:
        """Take the next piece."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line, same in itertools.groupby(lines):
            run = Run(line=line + "\n", count=sum(1 for _ in same))
            if self._last is not None and self._last.line == run.line:
                self._last = Run(line=run.line, count=self._last.count + run.count)
                continue
            self._complete_last()
            self._last = run

    def _complete_last(self) -> None:
        if self._last is not None:
            self._complete.append(self._last)
            self._shown_size += len(self._last.shown.encode())
            self._shown_lines += self._last.shown.count("\n")

    @property
    def runs(self) -> list[Run]:
        """All of the text so far."""
        return [*self._complete, *self._unfinished()]

    def _unfinished(self) -> Iterator[Run]:
        if self._last is not None:
            yield self._last
        if self._rest:
            yield Run(line=self._rest)

    @property
    def shown_size(self) -> int:
        """How many bytes are shown of it."""
        return self._shown_size + sum(len(run.shown.encode()) for run in self._unfinished())

    @property
    def shown_lines(self) -> int:
        """How many lines are shown of it."""
        return self._shown_lines + sum(run.shown.count("\n") for run in self._unfinished())
