"""The bench's MCP client, and how its rows are judged and shown."""

from __future__ import annotations

import os
import sys

import pytest
from bench.budget import verdicts
from bench.mcp_client import McpServer, ready, schema_bytes
from bench.report import table
from bench.series import Result, Series

# A server that announces something before each answer, and knows one tool.
SERVER = r"""
import json, sys
ANSWERS = {
    "initialize": {"protocolVersion": "2025-06-18"},
    "tools/list": {"tools": [{"name": "say", "inputSchema": {}, "outputSchema": {"long": 1}}]},
    "tools/call": {"content": [{"type": "text", "text": "hello"}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message"}))
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": ANSWERS[asked["method"]]}
    if asked.get("params", {}).get("name") == "shout":
        del answer["result"]
        answer["error"] = {"code": -32602, "message": "no tool shout"}
    print(json.dumps(answer), flush=True)
"""
ARGV = [sys.executable, "-c", SERVER]


def test_a_server_is_greeted_and_asked_for_its_tools() -> None:
    """
    A conversation begins as that of every client; announcements in between are no answers.
    """
    with McpServer(ARGV, env=os.environ) as server:
        assert [tool["name"] for tool in server.tools] == ["say"]
        assert server.call("say", word="hello") == "hello"
        with pytest.raises(ValueError, match="no tool shout"):
            server.call("shout")


def test_ready_is_the_time_until_the_tools_are_known() -> None:
    """
    It is measured, so it is more than nothing; a server that ends at once was never ready.
    """
    assert ready(ARGV, env=os.environ) > 0
    with pytest.raises((EOFError, BrokenPipeError)):
        ready([sys.executable, "-c", "pass"], env=os.environ)


def test_the_size_of_tools_is_what_a_model_is_sent() -> None:
    """
    Name, description and arguments count; what a client keeps to itself does not.
    """
    tools = [{"name": "say", "inputSchema": {}, "annotations": {"readOnlyHint": True}}]

    assert schema_bytes(tools) == len('[{"name":"say","inputSchema":{}}]')


def row(title: str, *, ours: float, sdk: float | None = None) -> Result:
    """Return what was measured in one row, in seconds."""
    peers = [] if sdk is None else [Series(name="mcp import", values=[sdk])]
    return Result(row=title, unit="s", ours=Series(name="ours", values=[ours]), peers=peers)


@pytest.mark.parametrize(
    ("measured", "met"),
    [
        (row("MCP ready, warm", ours=0.15), True),
        (row("MCP ready, warm", ours=0.16), False),
        (row("MCP ready, cold", ours=1.25, sdk=1.0), True),
        (row("MCP ready, cold", ours=1.3, sdk=1.0), False),
        (row("MCP ready, cold", ours=1.0), False),
    ],
)
def test_ready_has_a_budget(measured: Result, met: bool) -> None:  # noqa: FBT001  a parameter
    """
    Warm in 150 ms; cold in little more than the SDK takes to import, which must be measured.
    """
    (judged,) = verdicts([measured])

    assert judged.met is met


def test_a_peer_that_cannot_is_shown_with_a_dash() -> None:
    """
    An ability that is missing is unknown time, never 0.
    """
    ours = Series(name="ours", values=[0.001])
    result = Result(row="screen, HTTP", unit="s", ours=ours, without=["terminal-mcp"])

    *_, last = table([result])

    assert last.split() == ["terminal-mcp", "-", "-", "-"]
    assert result.to_json()["without"] == ["terminal-mcp"]
