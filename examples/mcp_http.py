"""An MCP client over HTTP: the `terminal.*` tools of a server that others may use, too."""

import asyncio
import json
import os
import subprocess

from mcp import Client


async def main(url: str) -> None:
    """Make a session, type, wait for the answer and look at the screen."""
    async with Client(f"{url}/mcp") as client:
        made = await client.call_tool("terminal.new", {"repo": os.getcwd(), "argv": ["bash"]})
        session = made.structured_content["data"]["id"]

        await client.call_tool("terminal.send", {"id": session, "text": "echo $((6 * 7))"})
        await client.call_tool("terminal.wait", {"id": session, "until": "42"})
        screen = await client.call_tool("terminal.screen", {"id": session})
        print(screen.structured_content["data"]["text"])
        assert "42" in screen.structured_content["data"]["text"]

        # What was done, for a reviewer: a page with a player, signed.
        proof = await client.call_tool("terminal.proof", {"id": session})
        print("proof_html_path", proof.structured_content["data"]["html_path"])
        await client.call_tool("terminal.kill", {"id": session})


# Somebody serves; the same user on this machine needs no token. Port 0 is any free one.
SERVE = ["agent-pty", "serve-http", "--addr", "127.0.0.1:0", "--json"]
with subprocess.Popen(SERVE, stdout=subprocess.PIPE, text=True) as server:
    assert server.stdout is not None
    try:
        asyncio.run(main(json.loads(server.stdout.readline())["url"]))
    finally:
        server.terminate()
