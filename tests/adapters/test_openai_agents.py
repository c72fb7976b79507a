"""The six tools in the OpenAI Agents SDK: its real runner, with a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, RunConfig, Runner
from agents.testing import ModelCall, ScriptedModel, assistant_message, function_call

from agent_pty import Client
from agent_pty.adapters.openai_agents import function_tools
from agent_pty.tools import ToolBox, definitions
from support.agent import eventually

QUIET = RunConfig(tracing_disabled=True)


def answers(call: ModelCall | None) -> dict[str, str]:
    """Return what the model was told of each of its tool calls, by their ids."""
    assert call is not None
    items = [one for one in call.input if one.get("type") == "function_call_output"]
    return {one["call_id"]: one["output"] for one in items}


def run(box: ToolBox, *steps: list[Any]) -> ScriptedModel:
    """Let an agent do what a script says; return the model, which has seen the results."""
    model = ScriptedModel([*steps, [assistant_message("done")]])
    agent = Agent(name="tester", model=model, tools=[*function_tools(box)])
    result = asyncio.run(Runner.run(agent, "work", run_config=QUIET))
    assert result.final_output == "done"
    model.assert_complete()
    return model


def test_the_tools_are_declared_as_everywhere() -> None:
    """
    Names, descriptions and schemas are those of `definitions`.
    """
    made = [(one.name, one.description, one.params_json_schema) for one in function_tools()]

    declared = [one["function"] for one in definitions("openai")]
    assert made == [(one["name"], one["description"], one["parameters"]) for one in declared]


def test_the_model_sees_output_and_exit_code(box: ToolBox) -> None:
    """
    A command really runs, and its output and exit code are in the model's next input.
    """
    script = {"command": "sh", "args": ["-c", "echo sum-$((6 * 7)); exit 3"]}

    model = run(box, [function_call("pty_exec", script, call_id="one")])

    told = answers(model.last_call)["one"]
    assert "sum-42" in told
    assert "[exit: 3]" in told


def test_a_session_lives_on_between_turns_and_runs(box: ToolBox) -> None:
    """
    What one run starts, a later run in another event loop types into and stops.
    """
    started = run(box, [function_call("pty_start", {"command": "cat"}, call_id="a")])
    name = answers(started.last_call)["a"].split()[1].removesuffix(":")
    typed = {"id": name, "input": "hello", "submit": True, "wait_ms": 30000, "until": "hello"}

    model = run(
        box,
        [function_call("pty_send", typed, call_id="b")],
        [function_call("pty_stop", {"id": name}, call_id="c")],
    )

    assert "hello" in answers(model.last_call)["b"]
    assert name in answers(model.last_call)["c"]


def test_calls_of_one_turn_run_beside_each_other(box: ToolBox, client: Client) -> None:
    """
    One call waits for what only the other call of the same turn does.
    """
    with client.new("cat", id="beside"):
        waits = {"id": "beside", "since": 0, "wait_ms": 30000, "until": "from the other"}
        types = {"id": "beside", "input": "from the other", "submit": True}

        model = run(
            box,
            [
                function_call("pty_read", waits, call_id="waits"),
                function_call("pty_send", types, call_id="types"),
            ],
        )

    assert "from the other" in answers(model.last_call)["waits"]


def test_a_mistake_of_the_model_is_answered_with_the_right_call(box: ToolBox) -> None:
    """
    Wrong arguments, and arguments that are no JSON object, do not end the run.
    """
    model = run(
        box,
        [
            function_call("pty_exec", {"comand": "ls"}, call_id="unknown"),
            function_call("pty_exec", '{"command": ', call_id="cut"),
            function_call("pty_list", "[]", call_id="list"),
            function_call("pty_list", "", call_id="empty"),
        ],
    )

    told = answers(model.last_call)
    assert 'for example: pty_exec {"command"' in told["unknown"]
    assert "the arguments of pty_exec must be a JSON object" in told["cut"]
    assert "the arguments of pty_list must be a JSON object" in told["list"]
    assert "must be" not in told["empty"]


def test_a_run_that_is_cancelled_does_not_wait_for_its_tools(box: ToolBox, client: Client) -> None:
    """
    The call hangs up, and its program goes on as a session.
    """
    lasts = {"command": "cat", "timeout_ms": 300_000}
    model = ScriptedModel([[function_call("pty_exec", lasts, call_id="one")]])
    agent = Agent(name="tester", model=model, tools=[*function_tools(box)])
    before = {one.instance for one in client.list()}

    def started() -> list[str]:
        return [one.id for one in client.list() if one.instance not in before]

    async def story() -> None:
        async with asyncio.TaskGroup() as group:
            working = group.create_task(Runner.run(agent, "work", run_config=QUIET))
            await asyncio.to_thread(eventually, lambda: bool(started()))
            working.cancel()
        assert working.cancelled()

    asyncio.run(story())  # it ends long before the program would

    [name] = started()
    assert client.session(name).send("alive").cursor >= 0
