"""How fast secrets are taken out of text, in this process: as the host does it while it records."""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Iterator
from functools import partial

from agent_pty.core.redaction.redactor import Redactor
from bench import pouring
from bench.clock import timed
from bench.ground import Ground
from bench.series import Result, Series

# A host reads up to so much of a terminal at once.
_PIECE = 65_536
_LEVELS = ("INFO", "DEBUG", "WARNING")
_PATHS = ("/api/v1/orders", "/health", "/static/app.js?v=3f9a", "/users/42/token/refresh")
_WEIGHTS = (40, 30, 29, 1)
# One of so many lines has a secret.
_SECRET_EVERY = 1000


def run(ground: Ground) -> list[Result]:
    """Redact texts that are the same in every run, all of them in each round."""
    megabytes = ground.pick(20, 4)
    texts = {
        "build log": _build_log(ground, megabytes, colours=False),
        "server log": b"".join(_server_log(megabytes)),
        "colours": _build_log(ground, megabytes, colours=True),
    }
    speeds: dict[str, list[float]] = {name: [] for name in texts}
    found: dict[str, int] = {}
    for _ in range(ground.pick(5, 2)):
        for name, text in texts.items():
            redactor = Redactor(in_place=True)
            speeds[name].append(len(text) / 1e6 / timed(partial(_feed, redactor, text)))
            found[name] = sum(redactor.counts.values())
    return [
        Result(
            row=f"redaction, {name}",
            unit="MB/s",
            ours=Series(name="ours", values=values, note=f"{found[name]:,} secrets"),
        )
        for name, values in speeds.items()
    ]


def _feed(redactor: Redactor, text: bytes) -> None:
    for position in range(0, len(text), _PIECE):
        redactor.feed(text[position : position + _PIECE])
    redactor.close()


def _build_log(ground: Ground, megabytes: int, *, colours: bool) -> bytes:
    """Return what the rows with large outputs show, with the line ends of a terminal."""
    path = pouring.write(
        os.path.join(ground.place.path, "redaction.txt"), megabytes, colours=colours
    )
    with open(path, "rb") as file:
        text = file.read()
    os.unlink(path)
    return text.replace(b"\n", b"\r\n")


def _server_log(megabytes: int) -> Iterator[bytes]:
    """Yield lines with identifiers and addresses; some mention a token, few have a secret."""
    some = random.Random(1)  # noqa: S311  the same text in every run
    left, number = megabytes * 1_000_000, 0
    while left > 0:
        number += 1
        identifier, path = uuid.UUID(int=some.getrandbits(128)), some.choices(_PATHS, _WEIGHTS)[0]
        line = (
            f"2026-11-17T10:{number // 60 % 60:02}:{number % 60:02}.{some.randrange(1000):03}Z "
            f"{some.choice(_LEVELS)} http.server request_id={identifier} "
            f"10.0.{some.randrange(256)}.{some.randrange(256)} GET {path} "
            f"200 {some.randrange(90_000)} {some.randrange(900)}ms"
        )
        if number % _SECRET_EVERY == 0:
            line += f" password={some.getrandbits(64):016x}"
        data = f"{line}\r\n".encode()
        left -= len(data)
        yield data
