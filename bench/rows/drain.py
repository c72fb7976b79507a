"""How fast a terminal is emptied: our host, which understands and keeps it, and a bare loop."""

from __future__ import annotations

import os
import pty
import time
from typing import Any

from agent_pty.client.connection import Connection
from bench import pouring
from bench.ground import Ground
from bench.ours import await_text, make, ours
from bench.place import Place
from bench.series import Result, Series

_CHUNK = 1 << 16


def run(ground: Ground) -> list[Result]:
    """Let both empty the same file, in turns; plain text and coloured text."""
    return [_row(ground, colours=False), _row(ground, colours=True)]


def _row(ground: Ground, *, colours: bool) -> Result:
    path = os.path.join(ground.place.path, "drain.txt")
    pouring.write(path, ground.pick(50, 10), colours=colours)
    size = pouring.size(path)
    we: list[float] = []
    bare: list[float] = []
    with ours(ground.place) as us, us.connect() as connection:
        for _ in range(ground.pick(4, 2)):
            we.append(size / emptied(connection, ground.place, path))
            bare.append(size / _bare(path))
    os.unlink(path)
    return Result(
        row="PTY drain, " + ("colours" if colours else "plain"),
        unit="MB/s",
        ours=Series(name="ours", values=we),
        peers=[Series(name="bare loop", values=bare)],
    )


def _argv(path: str) -> list[str]:
    """Wait for Enter, so that starting is not measured."""
    return ["sh", "-c", f"read _; {pouring.show(path)}"]


def emptied(
    connection: Connection,
    place: Place,
    path: str,
    *,
    repo: str = "/tmp",  # noqa: S108
    **wait: Any,
) -> float:
    """Return how long our host takes for a file; *wait* are further fields of the wait."""
    name = place.name()
    make(connection, name, _argv(path), repo=repo)
    start = time.perf_counter()
    connection.ask("send", id=name, text="")
    await_text(connection, name, pouring.END, seconds=120, **wait)
    taken = time.perf_counter() - start
    connection.ask("kill", id=name)
    return taken


def _bare(path: str) -> float:
    argv = _argv(path)
    pid, master = pty.fork()
    if pid == 0:
        os.execvp(argv[0], argv)
    start = time.perf_counter()
    os.write(master, b"\n")
    end, seen = pouring.END.encode(), b""
    while end not in seen:
        seen = seen[-len(end) :] + os.read(master, _CHUNK)
    taken = time.perf_counter() - start
    os.close(master)
    os.waitpid(pid, 0)
    return taken
