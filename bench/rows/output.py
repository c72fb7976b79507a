"""10 MB and 50 MB of output: when the end is seen, when all is in hand, and whether exactly."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from bench import pouring
from bench.contestant import Contestant, Poured
from bench.ground import Ground, in_turn, say, try_peer
from bench.series import Result, Series

Pour = Callable[[str], Poured]


def run(ground: Ground) -> list[Result]:
    """Show a file in everybody's shell."""
    results: list[Result] = []
    for megabytes, rounds in ground.pick(((10, 3), (50, 3)), ((10, 1),)):
        path = os.path.join(ground.place.path, f"{megabytes}.txt")
        pouring.write(path, megabytes)
        results += _rows(ground, path, megabytes, rounds)
        os.unlink(path)
    return results


def _rows(ground: Ground, path: str, megabytes: int, rounds: int) -> list[Result]:
    """Show the file in a shell, then in a cell of `k`."""
    field = [(one, one.pour) for one in (ground.socket, *ground.peers) if one.pour]
    poured = _poured(field, path, f"{megabytes} MB", rounds)
    seen = [_seen(name, all_) for name, all_ in poured.items()]
    whole = [_whole(name, all_) for name, all_ in poured.items() if all_[0].whole]
    cells = [(one, one.k_pour) for one in (ground.cli, *ground.peers) if one.k_pour]
    by_k = [
        _whole(name, all_)
        for name, all_ in _poured(cells, path, f"{megabytes} MB by k", rounds).items()
    ]
    return [
        Result(row=f"{megabytes} MB, end seen", unit="s", ours=seen[0], peers=seen[1:]),
        Result(row=f"{megabytes} MB, all in hand", unit="s", ours=whole[0], peers=whole[1:]),
        Result(row=f"{megabytes} MB by k run", unit="s", ours=by_k[0], peers=by_k[1:]),
    ]


def _poured(
    field: Sequence[tuple[Contestant, Pour]], path: str, what: str, rounds: int
) -> dict[str, list[Poured]]:
    """Let everybody show the file, in turns; who fails is left out."""
    pours = {one.name: pour for one, pour in field}
    poured: dict[str, list[Poured]] = {name: [] for name in pours}
    for number in range(rounds):
        for one in in_turn([one for one, _ in field], number):
            say(f"{what} through {one.name}")
            brought = try_peer(one.name, partial(pours[one.name], path))
            if brought is not None:
                poured[one.name].append(brought)
    return {name: all_ for name, all_ in poured.items() if all_}


def _seen(name: str, poured: list[Poured]) -> Series:
    return Series(name=name, values=[one.seen for one in poured])


def _whole(name: str, poured: list[Poured]) -> Series:
    exact = all(one.exact for one in poured)
    values = [one.whole for one in poured if one.whole is not None]
    return Series(name=name, values=values, note="exact" if exact else "NOT exact")
