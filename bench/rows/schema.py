"""What a model is sent of the tools at every turn, before it has done anything."""

from __future__ import annotations

from bench.ground import Ground, try_peer
from bench.series import Result, Series


def run(ground: Ground) -> list[Result]:
    """Ask each server for its tools."""
    assert ground.surfaces.schema
    ours = Series(name="ours", values=[ground.surfaces.schema()], note="the six pty_* tools")
    sizes = {peer.name: try_peer(peer.name, peer.schema) for peer in ground.peers if peer.schema}
    peers = [Series(name=name, values=[size]) for name, size in sizes.items() if size is not None]
    return [Result(row="schema of the tools", unit="bytes", ours=ours, peers=peers)]
