"""Short measurements in rounds: everybody once, then everybody again, so noise hits all alike."""

from __future__ import annotations

from dataclasses import dataclass

from bench.contestant import Contestant
from bench.ground import Ground, in_turn, try_peer
from bench.series import Result, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A row of seconds; *key* is what contestants call it."""

    key: str
    title: str
    full: int
    quick: int
    # Who is in the table even without this ability, with a dash.
    beside: tuple[str, ...] = ()


_MCP = ("terminal-mcp", "libtmux-mcp")

TIMED = (
    Timed(key="cold", title="cold CLI", full=40, quick=5),
    Timed(key="list_cli", title="list, CLI", full=40, quick=5),
    Timed(key="send_cli", title="send, CLI", full=40, quick=5),
    Timed(key="new_cli", title="new to prompt, CLI", full=10, quick=2),
    Timed(key="new_open", title="new to prompt, open", full=40, quick=5),
    Timed(key="new_guessed", title="new to any prompt, open", full=40, quick=5),
    Timed(key="trip_cli", title="round trip, CLI", full=40, quick=5),
    Timed(key="trip_open", title="round trip, open", full=200, quick=10),
    Timed(key="screen_cli", title="screen, CLI", full=40, quick=5),
    Timed(key="screen_open", title="screen, open", full=400, quick=40),
    Timed(key="screen_burst", title="screen, back to back", full=400, quick=40),
    Timed(key="send_screen", title="send + screen, open", full=400, quick=40),
    Timed(key="k_run", title="k run echo hello", full=60, quick=8),
    Timed(key="k_poll", title="k poll", full=60, quick=8),
    Timed(key="k_fire", title="k fire", full=30, quick=5),
    Timed(key="k_new", title="k new", full=10, quick=2),
    Timed(key="wake_cli", title="wait wake-up, CLI", full=40, quick=5),
    Timed(key="wake_open", title="wait wake-up, open", full=150, quick=8),
    Timed(key="mcp_ready", title="MCP ready, warm", full=8, quick=3, beside=_MCP),
    Timed(key="mcp_cold", title="MCP ready, cold", full=4, quick=1, beside=_MCP),
    Timed(key="mcp_exec", title="MCP, echo as a program", full=60, quick=8, beside=_MCP),
    Timed(key="mcp_send", title="MCP, echo in a shell", full=60, quick=8, beside=_MCP),
    Timed(key="http_screen", title="screen, HTTP", full=200, quick=20, beside=_MCP),
    Timed(key="python_run", title="run, Python", full=100, quick=10, beside=_MCP),
)


def run(row: Timed, ground: Ground) -> list[Result]:
    """Measure one row."""
    ours = next(one for one in ground.ours if row.key in one.timed)
    field = [ours, *(peer for peer in ground.peers if row.key in peer.timed)]
    figures: dict[str, list[float]] = {one.name: [] for one in field}
    # The first round warms everybody up and does not count.
    for number in range(1 + ground.pick(row.full, row.quick)):
        for one in in_turn(field, number):
            if not _measure(one, row.key, figures, counts=number > 0):
                field.remove(one)
    series = [Series(name=name, values=values) for name, values in figures.items() if values]
    without = [name for name in row.beside if ground.wants(name) and not figures.get(name)]
    return [
        Result(row=row.title, unit="s", ours=series[0], peers=series[1:], without=tuple(without))
    ]


def _measure(one: Contestant, key: str, figures: dict[str, list[float]], *, counts: bool) -> bool:
    if one.name == "ours":  # a failure of ours ends the run
        taken: float | None = one.timed[key]()
    else:
        taken = try_peer(one.name, one.timed[key])
    if taken is not None and counts:
        figures[one.name].append(taken)
    return taken is not None
