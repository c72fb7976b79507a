"""Ending a session with a tree of processes, some of which tried to get away."""

from __future__ import annotations

import time
from functools import partial

from bench.contestant import Contestant
from bench.ground import Ground, in_turn, try_peer
from bench.place import UP
from bench.process import slay, tagged
from bench.series import Result, Series

# Who was told to end by a signal alone gets this long to do so.
_GRACE = 0.3


def run(ground: Ground) -> list[Result]:
    """Everybody starts the same tree and ends it; what is left is counted and ended by us."""
    field = [ground.socket, *(peer for peer in ground.peers if peer.fell)]
    taken: dict[str, list[float]] = {one.name: [] for one in field}
    left = dict.fromkeys(taken, 0)
    for number in range(ground.pick(40, 3)):
        for one in in_turn(field, number):
            tag = f"86400.{ground.place.number()}"
            seconds = try_peer(one.name, partial(_fell, one, _tree(tag)))
            left[one.name] += _clear(tag)
            if seconds is not None:
                taken[one.name].append(seconds)
    series = [
        Series(name=name, values=values, note=f"left behind: {left[name]}")
        for name, values in taken.items()
        if values
    ]
    return [Result(row="kill of a tree", unit="s", ours=series[0], peers=series[1:])]


def _fell(one: Contestant, command: str) -> float:
    assert one.fell
    return one.fell(command)


def _tree(tag: str) -> str:
    """Return a command: children, a grandchild, one with a session of its own, a double fork."""
    return (
        f"sleep {tag} & sleep {tag} & bash -c 'sleep {tag} & sleep {tag}' & "
        f"setsid sleep {tag} & (setsid bash -c 'sleep {tag} & sleep {tag}' &) ; {UP}; wait"
    )


def _clear(tag: str) -> int:
    deadline = time.monotonic() + _GRACE
    while (left := tagged(tag)) and time.monotonic() < deadline:
        pass
    slay(left)
    return len(left)
