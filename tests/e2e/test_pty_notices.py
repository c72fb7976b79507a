"""How the six `pty_*` tools tell that a program has ended: once, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client

from support.agent import Agent, slay
from support.http import gateway_pid, serving
from support.model import LONG, SECONDS, Model


@pytest.fixture(scope="module")
def model(shared: Agent) -> Iterator[Model]:
    """A model that the tests of this file share."""
    made = Model(shared)
    yield made
    made.leave()


def end(agent: Agent, name: str) -> None:
    """End a program that waits for a line, without a word to the model."""
    agent.ask("send", id=name, text="go")
    agent.ask("wait", id=name, until="exit", timeout_ms=LONG)


def test_trial_04_an_exit_is_told_once_by_whichever_gateway_there_is(model: Model) -> None:
    """
    A gateway that dies takes no notice with it, and the next one repeats none.
    """
    name = model.start("sh", "-c", "read x; exit 6")
    slay(gateway_pid(model.agent))
    end(model.agent, name)

    first = model.call("pty_exec", command="true")
    slay(gateway_pid(model.agent))
    second = model.call("pty_exec", command="true")
    third = model.call("pty_exec", command="true")

    assert f"[{name} exited 6" in first
    assert name not in second + third
    model.call("pty_stop", id=name)


def test_trial_04_each_client_over_http_is_told(shared: Agent) -> None:
    """
    A notice for one client is not taken from another; one without a session shares its own.
    """

    async def texts(url: str) -> tuple[list[str], list[str], list[str]]:
        async with (
            asyncio.timeout(SECONDS),
            Client(url, mode="legacy") as one,
            Client(url, mode="legacy") as other,
            Client(url) as newest,
        ):
            name = await call(one, "pty_start", command="sh", args=["-c", "read x; exit 7"])
            name = name.partition("[id: ")[2].partition("]")[0]
            for client in (other, newest):
                await call(client, "pty_read", id=name)
            await asyncio.to_thread(end, shared, name)
            told = [
                [await call(client, "pty_exec", command="true") for _ in range(2)]
                for client in (one, other, newest)
            ]
            await call(one, "pty_stop", id=name)
            return told[0], told[1], told[2]

    async def call(client: Client, tool: str, **arguments: Any) -> str:
        result = await client.call_tool(tool, arguments)
        return str(result.content[0].model_dump()["text"])

    with serving(shared) as http:
        for first, second in asyncio.run(texts(f"{http.url}/mcp")):
            assert " exited 7" in first
            assert " exited 7" not in second
