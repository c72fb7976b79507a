"""An earlier build of ours, in the same rounds: what a change costs or gains."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from bench import our_cli
from bench.contestant import Contestant, Measure
from bench.our_socket import OurSocket
from bench.ours import ours
from bench.place import Place


@contextlib.contextmanager
def enter(place: Place, programs: str) -> Iterator[Contestant]:
    """Start the daemon of the build whose commands are in *programs*."""
    with ours(place, programs) as us, us.connect() as connection:
        cli, socket = our_cli.contestant(us), OurSocket(us, connection).contestant()
        timed: Mapping[str, Measure] = {**socket.timed, **cli.timed}
        yield replace(socket, name="earlier", timed=timed, k_pour=cli.k_pour)
