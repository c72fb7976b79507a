"""Wake-ups of 20 sessions while a 21st on the same host floods it with `yes`."""

from __future__ import annotations

from collections.abc import Sequence

from agent_pty.client.connection import Connection
from bench import wakeup
from bench.ground import Ground, try_peer
from bench.our_socket import wake
from bench.ours import await_text, make, ours
from bench.peers import tmux
from bench.place import Place
from bench.series import Result, Series

_NEIGHBOURS = 20
_FLOOD = ["sh", "-c", "echo up-2; read _; exec yes"]


def run(ground: Ground) -> list[Result]:
    """Measure before and during the flood."""
    with ours(ground.place) as us, us.connect() as connection:
        flooder = ground.place.name()
        make(connection, flooder, _FLOOD)
        await_text(connection, flooder, "up-2")
        names = _neighbours(connection, ground.place, flooder)
        count = ground.pick(400, 20)
        quiet = _wakes(connection, ground.place, names, count)
        connection.ask("send", id=flooder, text="")
        await_text(connection, flooder, "y\ny\n")
        flooded = _wakes(connection, ground.place, names, count)
    peers = _tmux(ground) if ground.wants("tmux") else []
    before = Series(name="ours, no flood", values=quiet)
    during = Series(name="ours", values=flooded)
    return [Result(row="wake-up under flood", unit="s", ours=during, peers=[before, *peers])]


def _neighbours(connection: Connection, place: Place, flooder: str) -> list[str]:
    """Start sessions until so many share the flooder's host; new ones go where there are fewest."""
    while True:
        sessions = connection.ask("list")
        host = next(one["host"] for one in sessions if one["id"] == flooder)
        near = [one["id"] for one in sessions if one["host"] == host and one["id"] != flooder]
        if len(near) >= _NEIGHBOURS:
            return near
        name = place.name()
        make(connection, name, wakeup.ARGV)
        await_text(connection, name, "up-2")


def _wakes(connection: Connection, place: Place, names: Sequence[str], count: int) -> list[float]:
    return [wake(connection, names[i % len(names)], place.number()) for i in range(count)]


def _tmux(ground: Ground) -> list[Series]:
    """Let one tmux server have the same neighbourhood."""

    def measured() -> list[float]:
        with tmux.server(ground.place) as server:
            server.start()
            name = ground.place.name()
            server.make(name, ["yes"])
            one = server.contestant().timed["wake_cli"]
            return [one() for _ in range(ground.pick(50, 5))]

    values = try_peer("tmux", measured)
    return [Series(name="tmux", values=values)] if values else []
