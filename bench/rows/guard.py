"""What an exec costs in a guarded session: until the program runs, beside one without a guard."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from agent_pty.client.connection import Connection
from agent_pty.errors import GuardUnavailable
from bench.ground import Ground, say
from bench.ours import await_text, make, ours
from bench.place import Place
from bench.series import Result, Series

_FLOOD = ["sh", "-c", "echo up-2; read _; exec yes"]
# posix_spawn returns when the exec has happened, so the time is that of fork and exec alone.
_EXECUTE = """
import os, sys, time
print("up-" + str(1 + 1), flush=True)
for line in sys.stdin:
    taken = []
    for _ in range(int(line)):
        begin = time.perf_counter()
        child = os.posix_spawn("/bin/true", ["true"], {})
        taken.append(time.perf_counter() - begin)
        os.waitpid(child, 0)
    print("took-" + "-".join(f"{one:.7f}" for one in taken) + "-end", flush=True)
"""
_AT_ONCE = 20


def run(ground: Ground) -> list[Result]:
    """Measure with guard and without, in turns: first beside nothing, then beside a flood."""
    with ours(ground.place) as us, us.connect() as connection:
        flooder = ground.place.name()
        make(connection, flooder, _FLOOD)
        await_text(connection, flooder, "up-2")
        try:
            pair = [_near(connection, ground.place, flooder, guard) for guard in ("strict", None)]
        except GuardUnavailable as error:
            say(f"without the guard: {error}")
            return []
        rounds = ground.pick(40, 4)
        quiet = _measured(connection, "exec, guarded", pair, rounds)
        connection.ask("send", id=flooder, text="")
        await_text(connection, flooder, "y\ny\n")
        flooded = _measured(connection, "exec, guarded, flood", pair, rounds)
    return [quiet, flooded]


def _near(connection: Connection, place: Place, flooder: str, guard: str | None) -> str:
    """Start a program that executes others, on the host of the flooder."""
    while True:
        name = place.name()
        make(connection, name, [sys.executable, "-I", "-c", _EXECUTE], guard=guard, cols=500)
        await_text(connection, name, "up-2")
        hosts = {one["id"]: one["host"] for one in connection.ask("list")}
        if hosts[name] == hosts[flooder]:
            return name


def _measured(connection: Connection, row: str, pair: Sequence[str], rounds: int) -> Result:
    figures: list[list[float]] = [[], []]
    for number in range(1 + rounds):
        for name, taken in zip(pair, figures, strict=True):
            found = _executed(connection, name)
            if number:  # the first round warms everybody up
                taken.extend(found)
    guarded, plain = figures
    peer = Series(name="no guard", values=plain)
    return Result(row=row, unit="s", ours=Series(name="ours", values=guarded), peers=[peer])


def _executed(connection: Connection, name: str) -> list[float]:
    """Have some programs executed; return how long each took."""
    since = connection.ask("send", id=name, text=str(_AT_ONCE))["cursor"]
    connection.ask("wait", id=name, until="regex:took-[-.0-9]*-end", timeout_ms=60_000)
    text = connection.ask("read", id=name, since=since)["text"].replace("\n", "")
    _, _, figures = text.partition("took-")
    return [float(one) for one in figures.partition("-end")[0].split("-")]
