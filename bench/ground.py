"""What every row is given: the contestants, a place, and how much to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.clock import Never
from bench.contestant import Contestant
from bench.place import Place

T = TypeVar("T")
# What a peer may fail with; it then leaves the row, and the run goes on.
FAILURES = (Never, subprocess.SubprocessError, AssertionError, OSError, EOFError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One run."""

    place: Place
    cli: Contestant
    socket: Contestant
    surfaces: Contestant
    peers: Sequence[Contestant]
    wanted: Sequence[str]
    quick: bool
    # Where the commands of an earlier build of ours are, for rows with daemons of their own.
    earlier: str | None = None

    @property
    def ours(self) -> tuple[Contestant, ...]:
        """Every way to us; for a measurement the first one that can do it counts."""
        return (self.cli, self.socket, self.surfaces)

    def pick(self, full: T, quick: T) -> T:
        """Return how much to do."""
        return quick if self.quick else full

    def wants(self, peer: str) -> bool:
        """Whether rows with servers of their own shall start one of this peer."""
        return peer in self.wanted


def in_turn(field: Sequence[Contestant], number: int) -> list[Contestant]:
    """Return everybody, with another one first in each round: nobody always follows the same."""
    first = number % len(field) if field else 0
    return [*field[first:], *field[:first]]


def say(text: str) -> None:
    """Tell how the run goes; the results are on standard output."""
    sys.stderr.write(f"bench: {text}\n")


def try_peer(name: str, work: Callable[[], T]) -> T | None:
    """Return what a peer brings, or None, with the reason told, if it fails."""
    try:
        return work()
    except FAILURES as error:
        say(f"{name} leaves this row: {type(error).__name__}: {str(error)[:200]}")
        return None
