"""mini-swe-agent in a shell that lives on; without MSWEA_MODEL_NAME a script plays the model."""

import os
from typing import Any

from minisweagent.agents.default import DefaultAgent
from minisweagent.models import get_model
from minisweagent.models.test_models import make_output

from agent_pty import Client
from agent_pty.adapters.mini_swe_agent import AgentPtyEnvironment

SYSTEM = """You work in one bash that lives on: cd, exports and background jobs stay.
When you are done: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT, then print your answer."""
TASK = "How many files are in /usr?"
SCRIPT = (
    "cd /usr && export COUNT=$(ls | wc -l)",
    "echo $COUNT files in $PWD",
    "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo $COUNT files",
)


def model() -> Any:
    """Return the model of the user's configuration, or one that says what the script says."""
    if "MSWEA_MODEL_NAME" in os.environ:
        return get_model()
    turns = [make_output("", [{"command": one}]) for one in SCRIPT]
    kind = "minisweagent.models.test_models.DeterministicModel"
    return get_model(config={"model_class": kind, "model_name": "script", "outputs": turns})


with AgentPtyEnvironment(timeout=60) as environment:
    templates: dict[str, Any] = {"system_template": SYSTEM, "instance_template": "{{task}}"}
    agent = DefaultAgent(model(), environment, cost_limit=0, **templates)
    end = agent.run(TASK)
for message in agent.messages:
    print(message["role"], message["content"])
assert end["exit_status"] == "Submitted"
assert "files" in end["submission"]

# What was done, for a reviewer: a page with a player, signed.
with Client() as client:
    newest = max(client.list(all=True), key=lambda one: one.started_at)
    print("proof_html_path", client.session(newest.id).proof(instance=newest.instance).html_path)
