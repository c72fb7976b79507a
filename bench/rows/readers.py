"""What a writer waits while 100 clients replay and prove the record that it writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from agent_pty.client.connection import Connection
from bench.ground import Ground
from bench.ours import await_text, make, ours
from bench.series import Result, Series

_CLIENTS = 50  # of each kind
_EVENTS = 500
_QUIET = ["sh", "-c", "stty -echo; echo up-2; exec cat >/dev/null"]


def run(ground: Ground) -> list[Result]:
    """Type one letter after the other, until each client has its answer."""
    with ours(ground.place) as us, us.connect() as writer:
        name = ground.place.name()
        make(writer, name, _QUIET)
        await_text(writer, name, "up-2")
        for _ in range(_EVENTS):
            _send(writer, name)
        rounds = range(ground.pick(5, 1))
        values = [max(_beside(us.connect, writer, name)) for _ in rounds]
    row = f"slowest send beside {2 * _CLIENTS} readers"
    return [Result(row=row, unit="s", ours=Series(name="ours", values=values))]


def _beside(connect: Callable[[], Connection], writer: Connection, name: str) -> list[float]:
    """Return how long each send took while the readers were there."""
    readers = [
        threading.Thread(target=_read, args=(connect, op, name))
        for op in ("replay", "proof")
        for _ in range(_CLIENTS)
    ]
    for one in readers:
        one.start()
    taken = []
    while any(one.is_alive() for one in readers):
        taken.append(_send(writer, name))
    return taken


def _read(connect: Callable[[], Connection], op: str, name: str) -> None:
    with connect() as connection:
        connection.ask(op, id=name)


def _send(writer: Connection, name: str) -> float:
    begin = time.perf_counter()
    writer.ask("send", id=name, text="x", enter=False)
    return time.perf_counter() - begin
