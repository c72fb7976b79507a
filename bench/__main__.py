"""`python -m bench`: measure, print, keep.

Exit status: 0, also when budgets are missed, unless --strict asks for 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from bench import budget, field, machine, our_cli, plot, report
from bench.ground import Ground, say
from bench.install import ROOT
from bench.our_socket import OurSocket
from bench.our_surfaces import OurSurfaces
from bench.ours import ours
from bench.peers import earlier
from bench.place import place
from bench.rows import ROWS
from bench.series import Result

_RESULTS = os.path.join(ROOT, ".bench", "results")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, beside peers.")
    parser.add_argument("--quick", action="store_true", help="small numbers, under a minute")
    parser.add_argument(
        "--only", action="append", choices=ROWS, metavar="ROW", help=", ".join(ROWS)
    )
    parser.add_argument(
        "--peers", metavar="NAME,...", help=f"default: all; none: ''. {', '.join(field.ENTRIES)}"
    )
    parser.add_argument(
        "--earlier", metavar="BIN", help="directory with the commands of an earlier build of ours"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 if a budget is missed")
    options = parser.parse_args()
    names = options.peers.split(",") if options.peers else []
    options.peers = field.default(quick=options.quick) if options.peers is None else names
    if unknown := [name for name in options.peers if name not in field.ENTRIES]:
        parser.error(f"unknown peers: {', '.join(unknown)}")
    return options


def _measure(options: argparse.Namespace) -> list[Result]:
    results: list[Result] = []
    with contextlib.ExitStack() as stack:
        here = stack.enter_context(place())
        peers = field.enter(options.peers, here, stack)
        if options.earlier is not None:
            peers.append(stack.enter_context(earlier.enter(here, options.earlier)))
        us = stack.enter_context(ours(here))
        connection = stack.enter_context(us.connect())
        ground = Ground(
            place=here,
            cli=our_cli.contestant(us),
            socket=OurSocket(us, connection).contestant(),
            surfaces=stack.enter_context(OurSurfaces(us)).contestant(),
            peers=peers,
            wanted=[peer.name for peer in peers],
            quick=options.quick,
            earlier=options.earlier,
        )
        for name in options.only or ROWS:
            start = time.monotonic()
            results += ROWS[name](ground)
            say(f"{name}: {time.monotonic() - start:.1f} s")
    return results


def _keep(results: Sequence[Result], facts: dict[str, Any]) -> str:
    os.makedirs(_RESULTS, exist_ok=True)
    base = os.path.join(_RESULTS, time.strftime("%Y-%m-%dT%H%M%S"))
    raw = {**facts, "results": [result.to_json() for result in results]}
    with open(f"{base}.json", "w", encoding="utf-8") as file:
        json.dump(raw, file, indent=1)
    caption = "times better than the peer (right of 1x: ours is better), load " + str(
        facts["load_before"][0]
    )
    with open(f"{base}.svg", "w", encoding="utf-8") as file:
        file.write(plot.svg(results, caption=caption))
    return os.path.relpath(base, ROOT)


def main() -> int:
    """Run, print the table and the budgets, and keep the figures."""
    options = _options()
    # Terminated is like interrupted: what was started is stopped first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    facts: dict[str, Any] = {**machine.describe(), "quick": options.quick}
    facts["load_before"] = machine.load()
    start = time.monotonic()
    for name, reason in field.ABSENT.items():
        say(f"without {name}: {reason}")
    results = _measure(options)
    facts |= {"seconds": round(time.monotonic() - start, 1), "load_after": machine.load()}
    verdicts = list(budget.verdicts(results))
    facts["budgets"] = {one.what: [one.figure, one.limit, one.met] for one in verdicts}
    base = _keep(results, facts)
    print(
        f"commit {facts['commit'][:10]}, {facts['cpus']} cores, Python {facts['python']},", end=" "
    )
    print(f"load {facts['load_before'][0]} before, {facts['load_after'][0]} after,", end=" ")
    print(f"{facts['seconds']:.0f} s\n")
    print(*report.table(results), *report.details(results), sep="\n")
    print("", *report.budgets(verdicts), sep="\n")
    print(f"\nfigures: {base}.json, plot: {base}.svg")
    return 1 if options.strict and not all(one.met for one in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
