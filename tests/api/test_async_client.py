"""The client in an event loop, with a real daemon and real shells."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent_pty import AsyncClient, Client
from agent_pty.errors import DaemonUnreachable, UnknownSession, WaitTimeout
from support.agent import Agent, eventually, slay

Story = Callable[[AsyncClient], Awaitable[Any]]


def told(client: Client, story: Story) -> Any:
    """Run a story with a client of the same daemon; return what it returns."""

    async def tell() -> Any:
        async with AsyncClient(socket=client.socket, start=False) as found:
            return await story(found)

    return asyncio.run(tell())


def test_a_session_is_used_as_with_the_other_client(client: Client) -> None:
    """
    The same methods, awaited; the end of a block kills what it made.
    """

    async def story(found: AsyncClient) -> None:
        async with await found.new("bash --norc", id="tour") as shell:
            assert (await shell.run("(exit 3)")).exit_code == 3
            await shell.send("echo ready-$((1 + 1)); cat")
            await shell.wait("ready-2")
            assert "ready-2" in (await shell.screen()).text
            await shell.keys("ctrl-c")
            await shell.rename("other")
            assert (await shell.wait("prompt")).id == shell.id == "other"
        with pytest.raises(UnknownSession):
            await found.session("other").screen()

    told(client, story)


def test_many_requests_wait_at_the_same_time(client: Client) -> None:
    """
    Each gets its own answer, in any order.
    """

    async def story(found: AsyncClient) -> list[str]:
        shells = [await found.new("bash", id=f"many-{number}") for number in range(5)]
        waits = [asyncio.create_task(one.wait(f"done-{one.id}")) for one in shells]  # noqa: TID251
        for one in reversed(shells):
            await one.send(f"echo do''ne-{one.id}")
        seen = [(await one).matched for one in waits]
        await asyncio.gather(*(one.kill() for one in shells))
        return seen

    assert told(client, story) == [f"done-many-{number}" for number in range(5)]


def test_a_cancelled_request_leaves_a_client_that_can_be_used(client: Client) -> None:
    """
    Its answer is not taken for that of the next one, and the daemon cancels what it waited for.
    """

    async def story(found: AsyncClient) -> None:
        async with await found.new("bash", id="cancelled") as shell:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await shell.wait("never")
            assert (await shell.run("echo right")).output == "right"
            with pytest.raises(WaitTimeout):
                await shell.wait("never", timeout_ms=0)

    told(client, story)


def test_a_daemon_is_started_on_demand(agent: Agent) -> None:
    """
    Unless the client must not do that.
    """

    async def story() -> None:
        async with AsyncClient(home=agent.home, start=False) as none:
            with pytest.raises(DaemonUnreachable):
                await none.list()
        async with AsyncClient(home=agent.home) as client:
            assert (await client.status())["session_count"] == 0
            await client.shutdown()

    asyncio.run(story())


def test_clients_wait_for_a_daemon_that_accepts_late() -> None:
    """
    Also more of them than the kernel lets wait: those it refuses come again.
    """
    answer = b'{"ok":true,"data":{"type":"status","data":{"pid":7}},"error":null}\n'
    with (
        tempfile.TemporaryDirectory(prefix="ap-") as place,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
    ):
        listener.bind(f"{place}/s")
        listener.listen(0)
        listener.settimeout(60)

        def serve() -> None:
            for _ in range(6):
                wire, _ = listener.accept()
                with wire, wire.makefile("rb") as lines:
                    lines.readline()
                    wire.sendall(answer)

        async def story() -> list[dict[str, Any]]:
            async with AsyncClient(socket=f"{place}/s", start=False) as client:
                asked = asyncio.gather(*(client.status() for _ in range(6)))
                await asyncio.to_thread(serve)
                return await asked

        assert asyncio.run(story()) == [{"pid": 7}] * 6


def test_a_daemon_that_dies_is_not_noticed(agent: Agent, tmp_path: Path) -> None:
    """
    Neither during a request nor between two of them.
    """
    agent.new("work")
    done, gate = tmp_path / "done", tmp_path / "gate"
    os.mkfifo(gate)

    def kill_daemon() -> None:
        eventually(done.exists)
        slay(agent.pid_of("daemon"))
        gate.write_text("over\n")

    async def story() -> list[str]:
        async with AsyncClient(home=agent.home, start=False) as client:
            shell = client.session("work")
            running = shell.run(f"echo once >> {done}; read x < {gate}; echo $x")
            first, _ = await asyncio.gather(running, asyncio.to_thread(kill_daemon))
            await asyncio.to_thread(slay, agent.pid_of("daemon"))
            return [first.output, (await shell.run("echo again")).output]

    assert asyncio.run(story()) == ["over", "again"]
    assert done.read_text() == "once\n"
