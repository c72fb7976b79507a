"""Wake-ups while 200 sessions are active: each gets a line of output ten times a second."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

from agent_pty.client.connection import Connection
from bench import wakeup
from bench.ground import Ground
from bench.our_socket import wake
from bench.ours import await_text, make, ours
from bench.place import Place
from bench.series import Result, Series

_CLOCKS = 10
_IDLE = ["sh", "-c", "echo up-$((1+1)); exec cat"]
# One writer for all: 200 programs that wake ten times a second would be what is measured.
_WRITER = """
import os, sys, time
ttys = [os.open(path, os.O_WRONLY | os.O_NOCTTY) for path in sys.argv[1:]]
due, number = time.monotonic(), 0
while True:
    number += 1
    for tty in ttys:
        os.write(tty, b"line %d of a program that is at work\\n" % number)
        due += 0.1 / len(ttys)
        time.sleep(max(0.0, due - time.monotonic()))
    if number == 1:
        print("up", flush=True)
"""


def run(ground: Ground) -> list[Result]:
    """Start them, keep them busy, and measure in some others."""
    with ours(ground.place) as us, us.connect() as connection:
        count = ground.pick(200, 20)
        busy = [_started(connection, ground.place, _IDLE) for _ in range(count)]
        clocks = [_started(connection, ground.place, wakeup.ARGV) for _ in range(_CLOCKS)]
        with _written(_terminals(connection, busy)):
            values = [
                wake(connection, clocks[i % _CLOCKS], ground.place.number())
                for i in range(ground.pick(400, 20))
            ]
    row = f"wake-up, {count} active"
    return [Result(row=row, unit="s", ours=Series(name="ours", values=values))]


def _started(connection: Connection, place: Place, argv: list[str]) -> str:
    name = place.name()
    make(connection, name, argv)
    await_text(connection, name, "up-2")
    return name


def _terminals(connection: Connection, names: Sequence[str]) -> list[str]:
    pids = {one["id"]: one["pid"] for one in connection.ask("list")}
    return [os.readlink(f"/proc/{pids[name]}/fd/0") for name in names]


@contextlib.contextmanager
def _written(terminals: Sequence[str]) -> Iterator[None]:
    argv = [sys.executable, "-I", "-S", "-c", _WRITER, *terminals]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        writer.stdout.readline()
        try:
            yield
        finally:
            writer.terminate()
