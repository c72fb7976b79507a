"""10,000 waits that nobody answers: what they cost while nothing happens."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time

from bench.ground import Ground
from bench.ours import Ours, make, ours
from bench.process import cpu_seconds, pss
from bench.series import Result, Series

_SESSIONS = 100
_WEEK_MS = 7 * 24 * 3600 * 1000


def run(ground: Ground) -> list[Result]:
    """Open requests that wait for 100 sessions each, then watch the processor."""
    with ours(ground.place) as us, us.connect() as connection, contextlib.ExitStack() as stack:
        names = [ground.place.name() for _ in range(_SESSIONS)]
        for name in names:
            make(connection, name, ["cat"])
        before = pss(us.pids())
        requests = ground.pick(100, 20)
        for _ in range(requests):
            _begin(us, stack, names)
        # Requests reach a host in the order in which they came: when each session has
        # answered again, all waits are pending.
        for name in names * 2:
            connection.ask("screen", id=name)
        values = _silence(us, rounds=ground.pick(5, 1), seconds=ground.pick(3.0, 1.0))
        grown = pss(us.pids()) - before
    row = f"{requests * _SESSIONS:,} pending waits"
    note = f"{grown:.0f} MB more than without"
    return [Result(row=row, unit="%", ours=Series(name="ours", values=values, note=note))]


def _begin(us: Ours, stack: contextlib.ExitStack, names: list[str]) -> None:
    sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    sock.connect(us.env["AGENT_PTY_HOME"] + "/agent-pty.sock")
    request = {
        "op": "wait_many",
        "ids": names,
        "until": ["regex:never-[0-9]{9}", "nothing says this"],
        "timeout_ms": _WEEK_MS,
    }
    sock.sendall(json.dumps(request).encode() + b"\n")


def _silence(us: Ours, *, rounds: int, seconds: float) -> list[float]:
    """Return the share of a core in percent, over stretches of time in which nobody asks."""
    pids, values = us.pids(), []
    for _ in range(rounds):
        used, start = cpu_seconds(pids), time.monotonic()
        threading.Event().wait(seconds)  # the time is what is measured
        values.append(100 * (cpu_seconds(pids) - used) / (time.monotonic() - start))
    return values
