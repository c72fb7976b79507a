"""Ours by command line: a process for every call, as an agent's shell tool does it."""

from __future__ import annotations

import json
import time

from bench import wakeup
from bench.clock import timed
from bench.contestant import Contestant
from bench.our_k import OurK
from bench.ours import Ours, make, make_ready
from bench.place import PROMPT


def contestant(us: Ours) -> Contestant:
    """Prepare two sessions, one with a shell and one with the clock program."""
    place = us.place
    shell, clock = place.name(), place.name()
    with us.connect() as connection:
        make_ready(connection, shell)
        make(connection, clock, wakeup.ARGV)

    k = OurK(us)

    def new() -> float:
        name = place.name()
        start = time.perf_counter()
        us.cli("new", "--name", name, "--", "bash", "--norc", "--noprofile")
        us.cli("wait", name, "--until", PROMPT)
        taken = time.perf_counter() - start
        us.cli("kill", name)
        return taken

    def trip() -> float:
        number = place.number()
        return timed(
            lambda: _send_and_wait(us, shell, f"echo t-$(({number}+1))", f"t-{number + 1}")
        )

    def wake() -> float:
        number = place.number()
        text = _send_and_wait(us, clock, str(number), f"regex:{wakeup.pattern(number)}")
        return wakeup.since(text)

    return Contestant(
        name="ours",
        timed={
            "cold": lambda: timed(lambda: us.cli("status")),
            "list_cli": lambda: timed(lambda: us.cli("list")),
            "send_cli": lambda: timed(lambda: us.cli("send", shell, ":")),
            "new_cli": new,
            "trip_cli": trip,
            "screen_cli": lambda: timed(lambda: us.cli("screen", shell)),
            "wake_cli": wake,
            **k.timed(),
        },
        k_pour=k.pour,
    )


def _send_and_wait(us: Ours, name: str, text: str, until: str) -> str:
    steps = [{"op": "send", "text": text}, {"op": "wait", "until": until}]
    answer = json.loads(us.cli("batch", name, json.dumps(steps), "--json"))
    return str(answer["results"][1]["data"]["match"])
