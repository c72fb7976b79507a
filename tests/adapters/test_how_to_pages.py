"""The pages about agent frameworks are true: their code is run, with a scripted model."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from agents import set_tracing_disabled
from agents.models.multi_provider import MultiProvider
from agents.testing import ScriptedModel, assistant_message, function_call

from agent_pty import tools
from support.agent import Agent
from support.scripted_anthropic import ScriptedAnthropic, text, tool_use

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
COUNTS = {"command": "sh", "args": ["-c", "echo sum-$((6 * 7))"]}


def blocks(page: str, language: str) -> list[str]:
    """Return the code of a page."""
    found = re.findall(
        rf"^```{language}\n(.*?)^```$",
        (PAGES / page).read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    assert found
    return found


def run(page: str) -> None:
    """Run the Python of a page, block after block, as one program."""
    names: dict[str, Any] = {}
    for one in blocks(page, "python"):
        exec(compile(one, page, "exec"), names)  # noqa: S102  the page is ours


@pytest.fixture(autouse=True)
def _user(
    box: tools.ToolBox, shared: Agent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """What a page does without saying where is done in the daemon of these tests."""
    for name in ("HOME", "AGENT_PTY_HOME"):
        monkeypatch.setenv(name, str(shared.home))
    monkeypatch.delenv("AGENT_PTY_SOCKET", raising=False)
    monkeypatch.setenv("MSWEA_GLOBAL_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("MSWEA_SILENT_STARTUP", "1")
    monkeypatch.setattr(tools, "_default", box)
    yield
    for session in shared.ask("list"):
        shared.ask("kill", id=session["id"])


def test_the_page_about_openai_agents(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    The agent of the page calls a tool and prints its answer.
    """
    call = function_call("pty_exec", COUNTS, call_id="1")
    model = ScriptedModel([[call], [assistant_message("it is 42")]])
    monkeypatch.setattr(MultiProvider, "get_model", lambda *_: model)
    set_tracing_disabled(disabled=True)

    run("openai-agents.md")

    assert capfd.readouterr().out == "it is 42\n"
    assert model.last_call is not None
    assert "sum-42" in str(model.last_call.input)


def test_the_page_about_the_anthropic_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The tool runner and the loop of the page each show the model what its call printed.
    """
    turns = [[tool_use(1, "pty_exec", **COUNTS)], [text("it is 42")]]
    model = ScriptedAnthropic(*turns, *turns)
    network = httpx2.Client(transport=model.transport)
    scripted = functools.partial(anthropic.Anthropic, api_key="none", http_client=network)
    monkeypatch.setattr(anthropic, "Anthropic", scripted)

    with network:
        run("anthropic-sdk.md")

    assert len(model.requests) == 4
    for number in (1, 3):
        assert "sum-42" in str(model.results(number)["toolu_1"]["content"])


def test_the_page_about_mini_swe_agent(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """
    The Python prints what it says, and the configuration makes an environment that works.
    """
    from minisweagent.config import get_config_from_spec  # noqa: PLC0415  after _user
    from minisweagent.environments import get_environment  # noqa: PLC0415

    run("mini-swe-agent.md")
    [config] = blocks("mini-swe-agent.md", "yaml")
    (tmp_path / "own.yaml").write_text(config)
    settings = get_config_from_spec(str(tmp_path / "own.yaml"))
    environment: Any = get_environment(settings["environment"])

    with environment:
        seen = environment.execute({"command": "echo $PIP_PROGRESS_BAR in $PWD"})

    assert "red in /usr 0" in capfd.readouterr().out
    assert seen == {"output": "off in /tmp", "returncode": 0, "exception_info": ""}


def test_the_page_about_mini_swe_agent_names_every_key() -> None:
    """
    The table of the page has the keys of the configuration, and no others.
    """
    from agent_pty.adapters.mini_swe_agent import (  # noqa: PLC0415  after _user
        AgentPtyEnvironmentConfig,
    )

    page = (PAGES / "mini-swe-agent.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(
        AgentPtyEnvironmentConfig.model_fields
    )
