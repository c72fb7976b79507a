"""The six tools in the OpenAI Agents SDK; without OPENAI_API_KEY a script plays the model."""

import asyncio
import os

from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message, function_call

from agent_pty import Client
from agent_pty.adapters.openai_agents import function_tools

TASK = "How many files are in /usr?"


def scripted() -> ScriptedModel:
    """Return a model that needs no network: it calls one tool, then answers."""
    counts = {"command": "sh", "args": ["-c", "ls /usr | wc -l"]}
    return ScriptedModel(
        [
            [function_call("pty_exec", counts, call_id="1")],
            [assistant_message("I have counted them.")],
        ]
    )


has_key = "OPENAI_API_KEY" in os.environ
agent = Agent(
    name="builder",
    instructions="You work in terminals. Use pty_exec for what ends, pty_start for what goes on.",
    model=None if has_key else scripted(),
    tools=[*function_tools()],
)
settings = RunConfig(tracing_disabled=not has_key)
result = asyncio.run(Runner.run(agent, TASK, run_config=settings))
for item in result.new_items:
    if item.type == "tool_call_output_item":
        print(item.output)
        assert "[exit: 0]" in item.output or has_key
print(result.final_output)

# What was done, for a reviewer: a page with a player, signed.
with Client() as client:
    newest = max(client.list(all=True), key=lambda one: one.started_at)
    print("proof_html_path", client.session(newest.id).proof(instance=newest.instance).html_path)
