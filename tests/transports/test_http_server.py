"""The socket at which HTTP is served."""

from __future__ import annotations

import asyncio
import socket

from agent_pty.transports.http_server import bound


def test_the_body_of_an_answer_is_not_held_back() -> None:
    """
    Connections send at once. Else a body waits 40 ms until the client has acknowledged the headers.
    """

    async def story() -> int:
        accepted: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()
        listening = bound("127.0.0.1", 0)
        server = await asyncio.start_server(
            lambda _, writer: accepted.set_result(writer), sock=listening
        )
        _, client = await asyncio.open_connection(*listening.getsockname())
        writer = await accepted
        connection: socket.socket = writer.get_extra_info("socket")
        found = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        for one in (writer, client):
            one.close()
            await one.wait_closed()
        server.close()
        await server.wait_closed()
        return found

    assert asyncio.run(story())
