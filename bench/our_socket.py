"""Ours by open socket: what a program that stays connected sees."""

from __future__ import annotations

import time
from typing import Any

from agent_pty.client.connection import Connection
from bench import wakeup
from bench.clock import timed
from bench.contestant import Contestant, Measure, Poured
from bench.ours import Ours, await_text, make, make_ready
from bench.place import PROMPT
from bench.pouring import END, exact, show

_PAGE = 256 * 1024


class OurSocket:
    """One connection; two sessions, one with a shell and one with the clock program."""

    def __init__(self, us: Ours, connection: Connection) -> None:
        self._place = us.place
        self._ask = connection.ask
        self._connection = connection
        self._shell, self._clock = us.place.name(), us.place.name()
        make_ready(connection, self._shell)
        make(connection, self._clock, wakeup.ARGV)
        await_text(connection, self._clock, "up-2")

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(name="ours", timed=self._timed(), pour=self.pour, fell=self.fell)

    def _timed(self) -> dict[str, Measure]:
        return {
            "new_open": lambda: self._new(PROMPT),
            "new_guessed": lambda: self._new("prompt"),
            "trip_open": self._trip,
            "screen_open": lambda: timed(lambda: self._ask("screen", id=self._shell)),
            "screen_burst": lambda: timed(lambda: self._ask("screen", id=self._shell)),
            "send_screen": self._send_screen,
            "wake_open": lambda: wake(self._connection, self._clock, self._place.number()),
        }

    def _new(self, until: str) -> float:
        name = self._place.name()
        start = time.perf_counter()
        make(self._connection, name)
        await_text(self._connection, name, until)
        taken = time.perf_counter() - start
        self._ask("kill", id=name)
        return taken

    def _trip(self) -> float:
        number = self._place.number()
        start = time.perf_counter()
        self._ask("send", id=self._shell, text=f"echo t-$(({number}+1))")
        await_text(self._connection, self._shell, f"t-{number + 1}")
        return time.perf_counter() - start

    def _send_screen(self) -> float:
        start = time.perf_counter()
        self._ask("send", id=self._shell, text=":")
        self._ask("screen", id=self._shell)
        taken = time.perf_counter() - start
        # The next one finds the shell at its prompt again.
        await_text(self._connection, self._shell, PROMPT)
        return taken

    def pour(self, path: str) -> Poured:
        """Let a shell show a file; then read what it wrote."""
        name = self._place.name()
        make_ready(self._connection, name)
        start = time.perf_counter()
        sent = self._ask("send", id=name, text=show(path))
        await_text(self._connection, name, END, seconds=300)
        seen = time.perf_counter() - start
        text = _everything(self._connection, name, sent["cursor"])
        whole = time.perf_counter() - start
        self._ask("kill", id=name)
        return Poured(seen=seen, whole=whole, exact=exact(text, path))

    def fell(self, command: str) -> float:
        """Start a tree and kill it."""
        name = self._place.name()
        make(self._connection, name, ["bash", "-c", command])
        await_text(self._connection, name, "up-2")
        return timed(lambda: self._ask("kill", id=name))


def wake(connection: Connection, name: str, number: int) -> float:
    """Return how long after its writing an answer of the clock program is known here."""
    connection.ask("send", id=name, text=str(number))
    seen: dict[str, Any] = await_text(connection, name, f"regex:{wakeup.pattern(number)}")
    return wakeup.since(seen["match"])


def _everything(connection: Connection, name: str, since: int) -> str:
    pages, more = [], True
    while more:
        page = connection.ask("read", id=name, since=since, max_bytes=_PAGE)
        pages.append(page["text"])
        since, more = page["cursor"], page["more"]
    return "".join(pages)
