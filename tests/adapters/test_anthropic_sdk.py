"""The six tools in the Anthropic SDK: its real client, with a scripted model behind it."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import MessageParam

from agent_pty.adapters.anthropic_sdk import async_runnable_tools, run_tools, runnable_tools
from agent_pty.tools import ToolBox, definitions
from support.scripted_anthropic import ScriptedAnthropic, text, tool_use

SCRIPT = {"command": "sh", "args": ["-c", "echo sum-$((6 * 7)); exit 3"]}
ASK: list[MessageParam] = [{"role": "user", "content": "work"}]


def sdk(model: ScriptedAnthropic) -> Anthropic:
    """Return the SDK's client of a scripted model."""
    return Anthropic(api_key="none", http_client=httpx2.Client(transport=model.transport))


def test_the_tools_are_declared_as_everywhere(box: ToolBox) -> None:
    """
    Both kinds send the definitions of `definitions`.
    """
    assert [one.to_dict() for one in runnable_tools(box)] == definitions("anthropic")
    assert [one.to_dict() for one in async_runnable_tools(box)] == definitions("anthropic")


def test_the_tool_runner_shows_the_model_output_and_exit_code(box: ToolBox) -> None:
    """
    A command really runs, and its output and exit code are in the next request.
    """
    model = ScriptedAnthropic([tool_use(1, "pty_exec", **SCRIPT)], [text("done")])

    with sdk(model) as client:
        runner = client.beta.messages.tool_runner(
            model="scripted",
            max_tokens=100,
            messages=[{"role": "user", "content": "work"}],
            tools=runnable_tools(box),
        )
        last = runner.until_done()

    assert [one.to_dict() for one in last.content] == [text("done")]
    told = model.results()["toolu_1"]
    assert "sum-42" in str(told["content"])
    assert "[exit: 3]" in str(told["content"])
    assert not told.get("is_error")


def test_the_tool_runner_says_that_a_call_failed(box: ToolBox) -> None:
    """
    The text teaches the right call, and the block is marked as an error.
    """
    model = ScriptedAnthropic([tool_use(1, "pty_exec", comand="ls")], [text("done")])

    with sdk(model) as client:
        client.beta.messages.tool_runner(
            model="scripted",
            max_tokens=100,
            messages=[{"role": "user", "content": "work"}],
            tools=runnable_tools(box),
        ).until_done()

    told = model.results()["toolu_1"]
    assert told["is_error"]
    assert 'for example: pty_exec {"command"' in str(told["content"])


def test_the_runner_of_an_event_loop(box: ToolBox) -> None:
    """
    The asynchronous client runs the same tools, and reports the same failures.
    """
    model = ScriptedAnthropic(
        [tool_use(1, "pty_exec", **SCRIPT), tool_use(2, "pty_read", id="no-such")], [text("done")]
    )

    async def story() -> None:
        transport = httpx2.AsyncClient(transport=model.transport)
        async with AsyncAnthropic(api_key="none", http_client=transport) as client:
            runner = client.beta.messages.tool_runner(
                model="scripted",
                max_tokens=100,
                messages=[{"role": "user", "content": "work"}],
                tools=async_runnable_tools(box),
            )
            await runner.until_done()

    asyncio.run(story())

    told = model.results()
    assert "sum-42" in str(told["toolu_1"]["content"])
    assert told["toolu_2"]["is_error"]
    assert "no session 'no-such'" in str(told["toolu_2"]["content"])


def loop(model: ScriptedAnthropic, box: ToolBox) -> None:
    """Ask until the model calls no tool: what a program writes that has its own loop."""
    messages = [*ASK]
    with sdk(model) as client:
        while True:
            said = client.messages.create(
                model="scripted", max_tokens=100, messages=messages, tools=tools()
            )
            messages.append({"role": "assistant", "content": said.content})
            results = run_tools(said, box)
            if not results:
                return
            messages.append({"role": "user", "content": results})


def tools() -> Any:
    """Return the definitions as the SDK types them."""
    return definitions("anthropic")


def test_a_loop_of_ones_own_answers_every_call(box: ToolBox) -> None:
    """
    Each call of a message has one answer, also one of a tool that is not ours.
    """
    model = ScriptedAnthropic(
        [
            text("I will look."),
            tool_use(1, "pty_exec", **SCRIPT),
            tool_use(2, "pty_exec"),
            tool_use(3, "weather", place="here"),
        ],
        [text("done")],
    )

    loop(model, box)

    told = model.results()
    assert list(told) == ["toolu_1", "toolu_2", "toolu_3"]
    assert "sum-42" in told["toolu_1"]["content"]
    assert not told["toolu_1"]["is_error"]
    assert told["toolu_2"]["is_error"]
    assert "no tool 'weather'" in told["toolu_3"]["content"]
    assert told["toolu_3"]["is_error"]


def test_a_session_lives_on_between_turns(box: ToolBox) -> None:
    """
    A program that one turn starts is typed into by the next one.
    """
    model = ScriptedAnthropic(
        [tool_use(1, "pty_start", command="cat", title="kept")],
        [tool_use(2, "pty_list")],
        [text("done")],
    )

    loop(model, box)

    assert "kept" in model.results()["toolu_2"]["content"]


def test_a_message_that_was_cut_off_is_not_carried_out(box: ToolBox) -> None:
    """
    The arguments may be cut off, too; the answer says that nothing was done.
    """
    model = ScriptedAnthropic(
        [tool_use(1, "pty_start", command="cat", title="cut")], stop_reason="max_tokens"
    )
    with sdk(model) as client:
        said = client.messages.create(model="scripted", max_tokens=1, messages=ASK)

    answers = run_tools(said, box)

    assert [one["tool_use_id"] for one in answers] == ["toolu_1"]
    assert "not carried out: the message ended with max_tokens" in str(answers[0])
    assert "cut" not in box.call("pty_list")
