"""The command-line mode of MCP's reference inspector, a client that others wrote, with every tool.

`make peer` runs this: npm fetches the inspector, which takes half a minute the first time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest

from agent_pty import ops, tools
from support.agent import AGENT_PTY, Agent

# The newest one that Node 20 can run; 2.x needs Node 22.19.
INSPECTOR = os.environ.get("INSPECTOR", "@modelcontextprotocol/inspector@0.15.0")
SECONDS = 300
TERMINAL = [op.tool for op in ops.TABLE.values() if op.tool]
PTY = [one["name"] for one in tools.definitions("mcp")]
LONG = 30_000
# In an order in which each finds what the ones before it have made.
CALLS: dict[str, dict[str, Any]] = {
    "terminal.new": {"id": "looked", "repo": "/tmp", "argv": ["cat"]},
    "terminal.list": {},
    "terminal.send": {"id": "looked", "text": "hello"},
    "terminal.wait": {"id": "looked", "until": "hello", "timeout_ms": LONG},
    "terminal.screen": {"id": "looked"},
    "terminal.kill": {"id": "looked"},
    "terminal.replay": {"id": "looked"},
    "pty_exec": {"command": "echo", "args": ["hello"]},
    "pty_start": {"command": "cat"},
    "pty_list": {},
    "pty_send": {"id": "p2", "input": "hello", "submit": True, "wait_ms": LONG},
    "pty_read": {"id": "p2"},
    "pty_stop": {"id": "p2"},
}

pytestmark = [
    pytest.mark.peer,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("npx") is None, reason="npx is not installed"),
]


def inspected(agent: Agent, *words: str) -> dict[str, Any]:
    """Run the inspector against a server of ours; return what it prints."""
    npm = {"npm_config_update_notifier": "false", "npm_config_cache": str(agent.home / "npm")}
    done = subprocess.run(
        ["npx", "--yes", INSPECTOR, "--cli", AGENT_PTY, "mcp-stdio", *words],
        env={**os.environ, **agent.env, **npm},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_inspector_lists_and_calls_every_tool(agent: Agent) -> None:
    """
    It understands our definitions, and every call of a tool has a result without an error.
    """
    listed = [one["name"] for one in inspected(agent, "--method", "tools/list")["tools"]]

    assert listed == [*TERMINAL, *PTY]
    assert sorted(CALLS) == sorted(listed)
    for name, arguments in CALLS.items():
        words = [f"{key}={_written(value)}" for key, value in arguments.items()]
        given = ["--tool-arg", *words] if words else []
        result = inspected(agent, "--method", "tools/call", "--tool-name", name, *given)
        assert not result.get("isError"), (name, result)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
