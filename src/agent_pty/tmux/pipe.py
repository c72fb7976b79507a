"""A pane's bytes as a descriptor of ours: what its program writes, and what is typed into it.

`pipe-pane -IO` connects a pane with a program by a pair of sockets. That program sends us its end
and exits. So tmux writes the pane's output straight to us and types what we write, byte by byte and
literally, and the descriptor can be held and handed on like the master of a PTY.

Why not control mode: measured with tmux 3.3a, it needs 2.8 times as long for the same output,
because it encodes each byte.
"""

from __future__ import annotations

import array
import asyncio
import shlex
import socket

from agent_pty.errors import TmuxFailed
from agent_pty.tmux.meeting import command, guest, meeting
from agent_pty.tmux.screen import capture, drawn
from agent_pty.tmux.server import TargetGone, TmuxServer

_ONE_DESCRIPTOR = socket.CMSG_SPACE(array.array("i").itemsize)


async def open_pipe(server: TmuxServer, pane: str, path: str) -> tuple[int, bytes]:
    """Connect a pane with us, by way of a socket; the caller owns the descriptor.

    *path* is what the name of that socket begins with.

    Also return what draws the screen on which the first byte from the pipe was written: tmux does
    both before it reads the pane again.
    """
    async with meeting(f"{path}.pipe") as listener:
        words = " ".join(shlex.quote(word) for word in command("pipe_sender", f"{path}.pipe"))
        try:
            shown = await server.run(
                *("pipe-pane", "-IO", "-t", pane, f"exec {_literal(words)}"), ";", *capture(pane)
            )
        except TargetGone as error:
            raise TmuxFailed(f"tmux pipe-pane failed: {error}", pane=pane) from error
        with await guest(listener, "pipe-pane") as sock:
            return await _descriptor(sock), drawn(shown)


async def close_pipe(server: TmuxServer, pane: str) -> None:
    """Disconnect a pane from whoever has its pipe."""
    await server.run("pipe-pane", "-t", pane)


async def _descriptor(sock: socket.socket) -> int:
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    loop.add_reader(sock, arrived.set)
    try:
        async with asyncio.timeout(1.0):
            await arrived.wait()
    except TimeoutError:
        raise TmuxFailed("tmux pipe-pane failed: no descriptor came within 1 s") from None
    finally:
        loop.remove_reader(sock)
    flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    _, ancillary, _, _ = sock.recvmsg(1, _ONE_DESCRIPTOR, flags)
    for _level, _kind, payload in ancillary:
        rights = array.array("i")
        rights.frombytes(payload)
        return rights[0]
    raise TmuxFailed("tmux pipe-pane failed: no descriptor came: is the limit of open files low?")


def _literal(words: str) -> str:
    """Return text that tmux does not expand: it knows formats and times."""
    return words.replace("#", "##").replace("%", "%%")
