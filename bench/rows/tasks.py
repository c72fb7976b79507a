"""Ten tasks of an agent through each tool: calls, bytes in and out, wall time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from bench.ground import Ground, say, try_peer
from bench.series import Result, Series, Unit
from bench.tasks import TASKS
from bench.tasks.ground import Missing, Way, by_agent_tty, by_k, by_pty, by_tmux
from bench.tasks.task import Task
from bench.tasks.tool import Tally, total

# By tool and by task; None if the tool failed it.
Costs = Mapping[str, Mapping[str, Tally | None]]

_MEASURES: tuple[tuple[str, Unit, Callable[[Tally], float]], ...] = (
    ("ten tasks, calls", "calls", lambda tally: tally.calls),
    ("ten tasks, bytes", "bytes", lambda tally: tally.bytes_in + tally.bytes_out),
    ("ten tasks, time", "s", lambda tally: tally.seconds),
)
_HEAD = f"{'task':<26} {'who':<10} {'calls':>6} {'bytes in':>9} {'bytes out':>10} {'time':>8}"


def run(ground: Ground) -> list[Result]:
    """Do each task with every tool in turn."""
    with by_k(ground.place) as k, by_pty(ground.place) as pty:
        ways = [k, pty, *_peers(ground)]
        done = {task.name: _perform(task, ways) for task in TASKS}
    return results({way.name: {task: by[way.name] for task, by in done.items()} for way in ways})


def _peers(ground: Ground) -> Iterator[Way]:
    present = {peer.name for peer in ground.peers}
    if "agent-tty" in present:
        yield by_agent_tty(ground.place)
    if "tmux" in present:
        yield by_tmux(ground.place)


def _perform(task: Task, ways: Sequence[Way]) -> dict[str, Tally | None]:
    k, pty, *peers = ways
    try:
        # A failure of ours ends the run.
        found: dict[str, Tally | None] = {us.name: us.perform(task) for us in (k, pty)}
    except Missing as missing:
        say(f"without {task.name}: {missing}")
        return dict.fromkeys((way.name for way in ways), None)
    return found | {way.name: try_peer(way.name, partial(way.perform, task)) for way in peers}


def results(costs: Costs) -> list[Result]:
    """Sum up the tasks that every tool has done; the table of all stands in the first result."""
    names = list(next(iter(costs.values())))
    common = [name for name in names if all(by[name] for by in costs.values())]
    sums = {
        who: total([tally for name in common if (tally := by[name])]) for who, by in costs.items()
    }
    note = "" if len(common) == len(names) else f"{len(common)} tasks that all have done"
    found: list[Result] = []
    for row, unit, of in _MEASURES:
        ours, *peers = (
            Series(name=who, values=[of(tally)], note=note) for who, tally in sums.items()
        )
        detail = () if found else tuple(_table(costs, sums))
        found.append(Result(row=row, unit=unit, ours=ours, peers=peers, detail=detail))
    return found


def _table(costs: Costs, sums: Mapping[str, Tally]) -> Iterator[str]:
    yield _HEAD
    yield "-" * len(_HEAD)
    for name in next(iter(costs.values())):
        yield from _lines(name, {who: by[name] for who, by in costs.items()})
    yield from _lines("sum", sums)


def _lines(name: str, tallies: Mapping[str, Tally | None]) -> Iterator[str]:
    for who, tally in tallies.items():
        figures = "   failed" if tally is None else _figures(tally)
        yield f"{name:<26} {who:<10} {figures}"
        name = ""


def _figures(tally: Tally) -> str:
    return f"{tally.calls:>6} {tally.bytes_in:>9,} {tally.bytes_out:>10,} {tally.seconds:>6.1f} s"
