"""The import of the MCP SDK: what every server that uses it must pay before its first answer."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from bench.clock import timed
from bench.contestant import Contestant
from bench.place import Place

NAME = "mcp import"


@contextlib.contextmanager
def enter(place: Place) -> Iterator[Contestant]:
    """Give the SDK of our environment."""

    def load() -> None:
        argv = [sys.executable, "-c", "import mcp.server.lowlevel.server"]
        subprocess.run(argv, env=place.env, check=True)

    yield Contestant(name=NAME, timed={"mcp_cold": lambda: timed(load)})
