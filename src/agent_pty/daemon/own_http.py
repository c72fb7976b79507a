"""`serve --http`: HTTP as long as the daemon lives."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from agent_pty.daemon.daemon import Daemon
from agent_pty.errors import AgentPtyError


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnHttp:
    """Where to listen, and *say*, which is called with the address once it is served."""

    address: str
    port: int
    remote: bool
    say: Callable[[str], None]


@contextlib.asynccontextmanager
async def served(daemon: Daemon, wanted: OwnHttp | None) -> AsyncIterator[None]:
    """Serve during the block. If that is impossible the daemon stops, and the reason is raised."""
    failures: list[AgentPtyError] = []
    if wanted is None:
        yield
        return

    async def serve() -> None:
        told = ""
        try:
            lines = await daemon.serve_http(wanted.address, wanted.port, remote=wanted.remote)
            async for line in lines:
                url = json.loads(line)["url"]
                if url != told:
                    wanted.say(url)
                told = url
        except AgentPtyError as error:
            failures.append(error)
            daemon.shut_down(keep=True)  # sessions that were here before are not to blame

    serving = asyncio.get_running_loop().create_task(serve())
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait([serving])
    if failures:
        raise failures[0]
