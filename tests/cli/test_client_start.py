"""How much a command that runs in the client loads before it begins."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Request types cost a hundred milliseconds, an event loop thirty.
HEAVY = ("agent_pty.ops", "asyncio", "msgspec", "ssl")


@pytest.mark.parametrize("module", ["mcp_stdio", "serve_http", "lifecycle"])
def test_a_command_in_the_client_loads_no_op(module: str) -> None:
    """
    An MCP client waits for `mcp-stdio` at every start, so neither it nor the others load the ops.
    """
    load = f"import agent_pty.cli.main, agent_pty.cli.{module}, sys; print(*sys.modules)"

    done = subprocess.run(
        [sys.executable, "-I", "-c", load], capture_output=True, text=True, check=True
    )

    assert sorted(set(done.stdout.split()).intersection(HEAVY)) == []
