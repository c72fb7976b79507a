"""A socket at which a program that tmux has started meets us, once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator

from agent_pty.errors import TmuxFailed
from agent_pty.keeper.listen import is_ours, listen

_SECONDS = 4.0
_HERE = os.path.dirname(os.path.abspath(__file__))


@contextlib.asynccontextmanager
async def meeting(path: str) -> AsyncIterator[socket.socket]:
    """Listen at *path*, which only this user can reach, as long as the context lasts."""
    with listen(path) as listener:
        listener.setblocking(False)
        try:
            yield listener
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


async def guest(listener: socket.socket, what: str) -> socket.socket:
    """Return the connection of the program that was started; *what* it is, for the error."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_SECONDS):
            while True:
                sock, _ = await loop.sock_accept(listener)
                if is_ours(sock):
                    sock.setblocking(False)
                    return sock
                sock.close()
    except TimeoutError:
        raise TmuxFailed(
            f"tmux {what} failed: what it runs has not come within {_SECONDS:g} s"
        ) from None


def command(script: str, path: str) -> list[str]:
    """Return how one of our scripts is run by the interpreter that runs us."""
    return [sys.executable, "-I", "-S", f"{_HERE}/{script}.py", path]
