"""CPU and memory of whole process trees; CPU since the previous measurement.

Memory is what each process has in RAM; memory that several share is counted for each.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

# Start times are known to a hundredth of a second: a rate over less than this means nothing.
_SHORTEST = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """CPU and memory of one process tree."""

    cpu_percent: float
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One process: its start time, the CPU seconds spent so far, its memory in bytes."""

    pid: int
    birth: float
    spent: float
    memory: int


class Meter:
    """Remembers the last measurement. A process that is new since is measured from its start."""

    def __init__(self) -> None:
        self._spent: dict[tuple[int, float], float] = {}
        self._at: float | None = None

    def measure(self, pids: Iterable[int]) -> dict[int, Usage]:
        """Measure the trees of these processes; one that is gone is left out."""
        trees = {pid: _samples(pid) for pid in pids}
        return self.take({pid: tree for pid, tree in trees.items() if tree}, at=time.time())

    def take(self, trees: dict[int, list[Sample]], *, at: float) -> dict[int, Usage]:
        """Compare with the previous measurement."""
        usage = {
            pid: Usage(
                cpu_percent=round(sum(self._percent(one, at) for one in tree), 1),
                memory_bytes=sum(one.memory for one in tree),
            )
            for pid, tree in trees.items()
        }
        self._spent = {(one.pid, one.birth): one.spent for tree in trees.values() for one in tree}
        self._at = at
        return usage

    def _percent(self, one: Sample, at: float) -> float:
        before = self._spent.get((one.pid, one.birth))
        since = one.birth if self._at is None else min(one.birth, self._at)
        if before is not None and self._at is not None:
            since = self._at
        return 100 * max(0.0, one.spent - (before or 0.0)) / max(_SHORTEST, at - since)


def _samples(pid: int) -> list[Sample]:
    # Imports psutil and msgspec, which most commands do not need.
    from agent_pty.process.table import family  # noqa: PLC0415

    samples = (_sample(found.pid) for found in family(pid))
    return [sample for sample in samples if sample is not None]


def _sample(pid: int) -> Sample | None:
    import psutil  # noqa: PLC0415  as above

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times = process.cpu_times()
            return Sample(
                pid=pid,
                birth=process.create_time(),
                spent=times.user + times.system,
                memory=process.memory_info().rss,
            )
    except psutil.Error:
        return None
