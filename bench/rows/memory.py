"""Memory with 1, 20, 200 and 1,000 idle sessions: proportional, without the shells."""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Iterator

from bench.ground import Ground, say, try_peer
from bench.ours import await_text, make, ours
from bench.peers import agent_tty, tmux
from bench.place import PROMPT
from bench.process import children, pss
from bench.series import Result, Series

_SHELL = ["sh"]
# `k new` takes a second each; more than this would be the longest row of all.
_MOST_AGENT_TTY = 20


def run(ground: Ground) -> list[Result]:
    """Add sessions step by step and look after each."""
    steps = ground.pick([1, 20, 200, 1000], [1, 20])
    figures = {"ours": dict(_ours(ground, steps))}
    if ground.wants("tmux"):
        figures["tmux"] = try_peer("tmux", lambda: dict(_tmux(ground, steps))) or {}
    if ground.wants("agent-tty") and not ground.quick:
        few = [step for step in steps if step <= _MOST_AGENT_TTY]
        figures["agent-tty"] = try_peer("agent-tty", lambda: dict(_agent_tty(ground, few))) or {}
    return [_row(figures, step) for step in steps] + _growth(figures, steps)


def _row(figures: dict[str, dict[int, float]], step: int) -> Result:
    series = [
        Series(name=name, values=[found[step]]) for name, found in figures.items() if step in found
    ]
    return Result(row=f"memory with {step:,}", unit="MB", ours=series[0], peers=series[1:])


def _growth(figures: dict[str, dict[int, float]], steps: list[int]) -> list[Result]:
    series = []
    for name, found in figures.items():
        most = max(found, default=1)
        if most > steps[0]:
            values = [(found[most] - found[1]) / (most - 1)]
            series.append(Series(name=name, values=values, note=f"up to {most:,}"))
    return [Result(row="memory per further session", unit="MB", ours=series[0], peers=series[1:])]


def _ours(ground: Ground, steps: list[int]) -> Iterator[tuple[int, float]]:
    with ours(ground.place) as us, us.connect() as connection:
        made = 0
        for step in steps:
            say(f"{step} sessions of ours")
            while made < step:
                name, made = ground.place.name(), made + 1
                make(connection, name, _SHELL)
                await_text(connection, name, PROMPT)
            yield step, pss(us.pids())


def _tmux(ground: Ground, steps: list[int]) -> Iterator[tuple[int, float]]:
    with tmux.server(ground.place) as server:
        made = 0
        for step in steps:
            say(f"{step} sessions of tmux")
            while made < step:
                server.make(ground.place.name(), _SHELL)
                made += 1
            yield step, pss([server.pid()])


def _agent_tty(ground: Ground, steps: list[int]) -> Iterator[tuple[int, float]]:
    """Count the tmux server and what it starts to record each session, not the shells."""
    peer = agent_tty.AgentTty(ground.place)
    made = 0
    try:
        for step in steps:
            names = [ground.place.name() for _ in range(step - made)]
            made = step
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(peer.make, names))
            shells = {int(pid) for pid in peer.tmux("list-panes", "-aF", "#{pane_pid}").split()}
            yield step, pss(_offspring(peer.pid(), without=shells))
    finally:
        with contextlib.suppress(OSError):
            peer.end()


def _offspring(root: int, *, without: set[int]) -> list[int]:
    found = [root]
    for pid in found:
        found += [child for child in children(pid) if child not in without]
    return found
