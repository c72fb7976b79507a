"""An MCP client that starts `agent-pty mcp-stdio` itself, as Claude Code or Cursor do."""

import asyncio
import json
import os

from mcp import Client, StdioServerParameters
from mcp.types import TextContent, TextResourceContents


async def main() -> None:
    """List the tools, run a program, and talk to one that stays."""
    # The programs get the environment of the client.
    server = StdioServerParameters(
        command="agent-pty", args=["mcp-stdio", "--tools", "pty"], env=dict(os.environ)
    )
    async with Client(server) as client:
        print([tool.name for tool in (await client.list_tools()).tools])

        done = await call(client, "pty_exec", command="sh", args=["-c", "echo hello; exit 3"])
        assert "[exit: 3]" in done

        started = await call(client, "pty_start", command="python3", args=["-q"])
        session = started.split()[1].removesuffix(":")  # "started p1: python3 -q ..."
        typed = {"input": "6 * 7", "submit": True, "until": "42", "wait_ms": 30000}
        assert "42" in await call(client, "pty_send", id=session, **typed)
        await call(client, "pty_stop", id=session)

        # What was done, for a reviewer: a page with a player, signed.
        (proof,) = (await client.read_resource(f"agent-pty://sessions/{session}/proof")).contents
        assert isinstance(proof, TextResourceContents)
        print("proof_html_path", json.loads(proof.text)["html_path"])


async def call(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool; return and print what a model would read."""
    result = await client.call_tool(tool, arguments)
    text = "\n".join(one.text for one in result.content if isinstance(one, TextContent))
    print(f"> {tool} {arguments}\n{text}")
    return text


asyncio.run(main())
