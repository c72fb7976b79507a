"""10 MB and 50 MB of output: when the end is seen, when all is in hand, and whether exactly."""

from __future__ import annotations

import os
from functools import partial

from bench import pouring
from bench.contestant import Contestant, Poured
from bench.ground import Ground, in_turn, say, try_peer
from bench.series import Result, Series


def run(ground: Ground) -> list[Result]:
    """Show a file in everybody's shell."""
    results: list[Result] = []
    for megabytes, rounds in ground.pick(((10, 3), (50, 3)), ((10, 1),)):
        path = os.path.join(ground.place.path, f"{megabytes}.txt")
        pouring.write(path, megabytes)
        results += _rows(ground, path, megabytes, rounds)
        results.append(_by_k(ground, path, megabytes, rounds))
        os.unlink(path)
    return results


def _rows(ground: Ground, path: str, megabytes: int, rounds: int) -> list[Result]:
    field = [ground.socket, *(peer for peer in ground.peers if peer.pour)]
    poured: dict[str, list[Poured]] = {one.name: [] for one in field}
    for number in range(rounds):
        for one in in_turn(field, number):
            say(f"{megabytes} MB through {one.name}")
            brought = try_peer(one.name, partial(_pour, one, path))
            if brought is not None:
                poured[one.name].append(brought)
    seen = [_seen(name, all_) for name, all_ in poured.items() if all_]
    whole = [_whole(name, all_) for name, all_ in poured.items() if all_ and all_[0].whole]
    return [
        Result(row=f"{megabytes} MB, end seen", unit="s", ours=seen[0], peers=seen[1:]),
        Result(row=f"{megabytes} MB, all in hand", unit="s", ours=whole[0], peers=whole[1:]),
    ]


def _by_k(ground: Ground, path: str, megabytes: int, rounds: int) -> Result:
    """Show the file in a cell."""
    field = [ground.cli, *(peer for peer in ground.peers if peer.k_pour)]
    poured: dict[str, list[Poured]] = {one.name: [] for one in field}
    for number in range(rounds):
        for one in in_turn(field, number):
            say(f"{megabytes} MB by k through {one.name}")
            brought = try_peer(one.name, partial(_k_pour, one, path))
            if brought is not None:
                poured[one.name].append(brought)
    whole = [_whole(name, all_) for name, all_ in poured.items() if all_]
    return Result(row=f"{megabytes} MB by k run", unit="s", ours=whole[0], peers=whole[1:])


def _k_pour(one: Contestant, path: str) -> Poured:
    assert one.k_pour
    return one.k_pour(path)


def _pour(one: Contestant, path: str) -> Poured:
    assert one.pour
    return one.pour(path)


def _seen(name: str, poured: list[Poured]) -> Series:
    return Series(name=name, values=[one.seen for one in poured])


def _whole(name: str, poured: list[Poured]) -> Series:
    exact = all(one.exact for one in poured)
    values = [one.whole for one in poured if one.whole is not None]
    return Series(name=name, values=values, note="exact" if exact else "NOT exact")
