"""The six tools in the Anthropic SDK; without ANTHROPIC_API_KEY a script plays the model."""

import json
import os

import httpx2
from anthropic import Anthropic

from agent_pty import Client
from agent_pty.adapters.anthropic_sdk import runnable_tools

TASK = "How many files are in /usr?"


def scripted(request: httpx2.Request) -> httpx2.Response:
    """Answer in place of the API: call one tool, then say what came of it."""
    last = json.loads(request.content)["messages"][-1]["content"]
    results = [one for one in last if isinstance(one, dict) and one["type"] == "tool_result"]
    counts = {"command": "sh", "args": ["-c", "ls /usr | wc -l"]}
    call = {"type": "tool_use", "id": "toolu_1", "name": "pty_exec", "input": counts}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [{"type": "text", "text": f"I saw {results}"}] if results else [call],
        "stop_reason": "end_turn" if results else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return httpx2.Response(200, json=message)


if "ANTHROPIC_API_KEY" in os.environ:
    client = Anthropic()
else:
    network = httpx2.Client(transport=httpx2.MockTransport(scripted))
    client = Anthropic(api_key="none", http_client=network)

with client:
    runner = client.beta.messages.tool_runner(
        model="claude-sonnet-5-5",
        max_tokens=4096,
        messages=[{"role": "user", "content": TASK}],
        tools=runnable_tools(),
    )
    for message in runner:
        print(message.content)
assert message.stop_reason == "end_turn"

# What was done, for a reviewer: a page with a player, signed.
with Client() as terminals:
    newest = max(terminals.list(all=True), key=lambda one: one.started_at)
    print("proof_html_path", terminals.session(newest.id).proof(instance=newest.instance).html_path)
