"""MCP over standard input and output: the SDK's own client, and clients that leave things out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from agent_pty import ops
from support.agent import AGENT_PTY, Agent, gateway_of, slay

SECONDS = 100
LONG = 60_000
TERMINAL = {op.tool for op in ops.TABLE.values() if op.tool}


@contextlib.asynccontextmanager
async def connected(agent: Agent, *words: str) -> AsyncIterator[Client]:
    """Connect the SDK's client."""
    server = StdioServerParameters(command=AGENT_PTY, args=["mcp-stdio", *words], env=agent.env)
    async with asyncio.timeout(SECONDS), Client(server) as client:
        yield client


def tell(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Let a story happen."""
    asyncio.run(story())


def piped(agent: Agent, *lines: str) -> list[dict[str, Any]]:
    """Pipe lines into a server in one go; return the messages that come back."""
    done = subprocess.run(
        [AGENT_PTY, "mcp-stdio"],
        env=agent.env,
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(number: int, method: str, **params: Any) -> str:
    """Return a request as a plain client writes it."""
    asked: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
    return json.dumps({**asked, "params": params} if params else asked)


def call(number: int, tool: str, **arguments: Any) -> str:
    """Return the call of a tool."""
    return request(number, "tools/call", name=tool, arguments=arguments)


def test_the_sdk_lists_and_calls_every_tool(shared: Agent) -> None:
    """
    A tool for each op that names one; its structured result is what the envelope carries.
    """

    async def story() -> None:
        async with connected(shared) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(listed) >= TERMINAL
            made = await client.call_tool("terminal.new", {"id": "sdk", "repo": "/tmp"})
            assert made.structured_content["type"] == "session_created"
            await client.call_tool("terminal.send", {"id": "sdk", "text": "echo $((40+2))"})
            seen = await client.call_tool(
                "terminal.wait", {"id": "sdk", "until": "42", "timeout_ms": LONG}
            )
            assert not seen.is_error
            screen = await client.call_tool("terminal.screen", {"id": "sdk"})
            assert "42" in screen.structured_content["data"]["text"]
            names = (await client.call_tool("terminal.list", {})).structured_content["data"]
            assert "sdk" in [one["id"] for one in names]
            await client.call_tool("terminal.kill", {"id": "sdk"})

    tell(story)


def test_an_argument_that_may_be_left_out_has_a_plain_type(shared: Agent) -> None:
    """
    A client that turns words into values by the schema makes a list of `argv`.
    """

    async def story() -> None:
        async with connected(shared, "--tools", "terminal") as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            fields = listed["terminal.new"].input_schema["properties"]
            assert fields["argv"]["type"] == "array"
            assert fields["frame"]["type"] == "string"
            until = listed["terminal.wait"].input_schema["properties"]["until"]
            assert [kind["type"] for kind in until["anyOf"]] == ["string", "array"]

    tell(story)


def test_trial_22_a_program_gets_the_environment_of_the_client_and_no_pager(agent: Agent) -> None:
    """
    What an MCP client starts finds what the client finds, and no pager waits for a key.
    """
    agent.new("first")  # starts the daemon, with another environment
    agent.env["OF_THE_CLIENT"] = "yes"

    async def story() -> None:
        async with connected(agent) as client:
            await client.call_tool("terminal.new", {"id": "mine", "repo": "/tmp"})
            await client.call_tool(
                "terminal.send", {"id": "mine", "text": "echo $OF_THE_CLIENT-$PAGER-$GIT_PAGER"}
            )
            seen = await client.call_tool(
                "terminal.wait", {"id": "mine", "until": "yes-cat-cat", "timeout_ms": LONG}
            )
            assert not seen.is_error

    tell(story)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("terminal.screen", {"id": "nobody"}, "unknown session nobody"),
        ("terminal.screen", {}, "terminal.screen needs: id"),
        ("terminal.send", {"id": 7, "text": "x"}, "invalid request"),
        ("terminal.stop", {}, "unknown MCP tool terminal.stop: one of terminal.new"),
        ("no such tool", {}, "unknown MCP tool no such tool"),
    ],
)
def test_an_error_is_a_result_that_teaches(
    shared: Agent, tool: str, arguments: dict[str, Any], said: str
) -> None:
    """
    A wrong call has a result that says what is wrong, and how a right one looks.
    """

    async def story() -> None:
        async with connected(shared) as client:
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert said in result.content[0].model_dump()["text"]

    tell(story)


def test_many_waits_at_once(shared: Agent) -> None:
    """
    Fifty waits of one client end when what they wait for comes, none before another.
    """
    shared.new("many", "/bin/cat")

    async def story() -> None:
        async with connected(shared) as client:
            wanted = {"id": "many", "until": "now", "timeout_ms": LONG}
            waits = [
                asyncio.get_running_loop().create_task(client.call_tool("terminal.wait", wanted))
                for _ in range(50)
            ]
            await client.call_tool("terminal.list", {})
            await client.call_tool("terminal.send", {"id": "many", "text": "now"})
            results = await asyncio.gather(*waits)
            assert not any(result.is_error for result in results)

    tell(story)


def test_a_client_may_leave_out_initialize_and_pipe_everything_at_once(shared: Agent) -> None:
    """
    Requests are carried out in order, and all are answered although the input has ended.
    """
    shared.new("plain")

    answers = piped(
        shared,
        request(1, "tools/list"),
        call(2, "terminal.send", id="plain", text="echo $((40+2))"),
        call(3, "terminal.wait", id="plain", until="42", timeout_ms=LONG),
        call(4, "terminal.screen", id="plain"),
    )

    assert [answer["id"] for answer in answers] == [1, 2, 3, 4]
    assert {tool["name"] for tool in answers[0]["result"]["tools"]} >= TERMINAL
    assert "42" in answers[3]["result"]["structuredContent"]["data"]["text"]


def test_initialize_without_parameters(shared: Agent) -> None:
    """
    The seed's clients say only `initialize`, and read one line for each request.
    """
    answers = piped(shared, request(1, "initialize"), request(2, "tools/list"), request(3, "ping"))

    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert answers[0]["result"]["serverInfo"]["name"] == "agent-pty"
    assert "error" not in answers[2]


def test_what_is_no_message_is_refused_and_the_next_is_answered(shared: Agent) -> None:
    """
    Only JSON-RPC is on standard output, whatever comes in.
    """
    answers = piped(
        shared, "nonsense", "[]", '{"jsonrpc": "2.0"}', request(1, "no/such"), request(2, "ping")
    )

    by_id = {answer["id"]: answer for answer in answers}
    assert by_id[None]["error"]["code"] in {-32700, -32600}
    assert by_id[1]["error"]["code"] == -32601
    assert "result" in by_id[2]
    assert len(answers) == 5


@pytest.mark.parametrize("victim", ["daemon", "gateway"])
def test_nobody_notices_a_death(agent: Agent, victim: str) -> None:
    """
    A client goes on after `kill -9`, and what it had asked for is answered, done only once.
    """
    agent.new("work")

    async def story() -> None:
        async with connected(agent) as client:
            wanted = {"id": "work", "until": "regex:^met-2$", "timeout_ms": LONG}
            waiting = asyncio.get_running_loop().create_task(
                client.call_tool("terminal.wait", wanted)
            )
            await client.call_tool("terminal.list", {})
            slay(gateway_of(agent) if victim == "gateway" else agent.pid_of("daemon"))
            sent = await client.call_tool(
                "terminal.send", {"id": "work", "text": "echo met-$((1+1))"}
            )
            assert not sent.is_error, sent
            assert not (await waiting).is_error

    tell(story)

    assert agent.transcript("work").count("met-2") == 1


def test_a_client_that_dies_leaves_no_process_and_every_session(agent: Agent) -> None:
    """
    The wire ends with its client; the session lives on.
    """
    agent.new("work", "/bin/cat")
    reads, writes = os.pipe()
    wire = subprocess.Popen(
        [AGENT_PTY, "mcp-stdio"], env=agent.env, stdin=reads, stdout=subprocess.PIPE
    )
    os.close(reads)
    os.write(writes, request(1, "ping").encode() + b"\n")
    assert wire.stdout is not None
    with wire:
        assert json.loads(wire.stdout.readline())["id"] == 1
        os.close(writes)
        assert wire.wait(SECONDS) == 0

    assert agent.info("work")["active"] is True


def test_the_sdk_speaks_over_http_too(agent: Agent) -> None:
    """
    The same tools at `/mcp`, for the same user without a token.
    """
    server = agent.start("serve-http", "--addr", "127.0.0.1:0", "--json")
    assert server.stdout is not None
    url = json.loads(server.stdout.readline())["url"]

    async def story() -> None:
        async with asyncio.timeout(SECONDS), Client(f"{url}/mcp") as client:
            assert {tool.name for tool in (await client.list_tools()).tools} >= TERMINAL
            made = await client.call_tool("terminal.new", {"id": "web", "repo": "/tmp"})
            assert not made.is_error
            seen = await client.call_tool("terminal.screen", {"id": "web"})
            assert seen.structured_content["type"] == "screen"

    try:
        tell(story)
    finally:
        server.terminate()
        with server:
            pass
    assert agent.info("web")["active"] is True
