"""A new user's three steps: installed, `mcp install --write`, and the client drives a session."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from agent_pty.core.client_config import PLACES
from support.agent import AGENT_PTY, Agent

SECONDS = 100
LONG = 30_000
CLIENTS = sorted(PLACES)
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SIX = ["pty_exec", "pty_start", "pty_read", "pty_send", "pty_list", "pty_stop"]


@pytest.fixture(scope="module")
def newcomer() -> Iterator[Agent]:
    """A user with an empty HOME and no variable of ours; afterwards nothing of theirs is left."""
    user = Agent(Path(tempfile.mkdtemp(prefix="ap-")))
    for name in [name for name in user.env if name.startswith("AGENT_PTY_")]:
        del user.env[name]
    try:
        yield user
    finally:
        user.cli("stop")
        user.reap()


def configured(path: Path, client: str) -> dict[str, Any]:
    """Return what a client finds about us in its file."""
    text = path.read_text(encoding="utf-8")
    whole = tomllib.loads(text) if client == "codex" else json.loads(text)
    found: dict[str, Any] = whole[PLACES[client].key]["agent-pty"]
    return found


def said(result: Any) -> str:
    """Return the text of a result."""
    text: str = result.content[0].text
    assert not result.is_error, text
    return text


async def drive(client: Client) -> None:
    """Start a Python, type into it, read what it says and end it, as a model would."""
    started = said(await client.call_tool("pty_start", {"command": "python3", "args": ["-q"]}))
    found = re.search(r"\bp\d+\b", started)
    assert found is not None, started
    session = {"id": found[0]}
    typed = {**session, "input": r"print(6 * 7)\r", "wait_ms": LONG, "until": "42"}
    seen = said(await client.call_tool("pty_send", typed))
    while "42" not in seen:  # a machine may need longer than one call may wait
        wanted = {**session, "wait_ms": LONG, "until": "42"}
        seen = said(await client.call_tool("pty_read", wanted))
    assert "[session: running]" in seen
    said(await client.call_tool("pty_stop", session))
    assert "python3" not in said(await client.call_tool("pty_list", {}))


@pytest.mark.parametrize("client", CLIENTS)
def test_trial_04_a_client_drives_a_session_by_what_mcp_install_writes(
    newcomer: Agent, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The command line and environment in the client's file are all that a client needs.
    """
    place = PLACES[client]
    path = (newcomer.home if place.of_user else tmp_path) / place.path
    monkeypatch.chdir(tmp_path)

    written = newcomer.cli("mcp", "install", "--client", client, "--write")

    assert written.stdout == f"wrote {path}\n", written.stderr
    entry = configured(path, client)
    assert entry["command"] == AGENT_PTY  # by its path: a client may have another PATH
    assert entry.get("type", "stdio") == "stdio"
    # The SDK's client gives a server HOME, PATH and a few more of its own variables, and `env`.
    monkeypatch.setenv("HOME", str(newcomer.home))
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=entry.get("env"), cwd=os.getcwd()
    )

    async def story() -> None:
        async with asyncio.timeout(SECONDS), Client(server) as connected:
            assert [tool.name for tool in (await connected.list_tools()).tools] == SIX
            await drive(connected)

    asyncio.run(story())
    assert (newcomer.home / ".agent-pty.sock").exists()  # their own daemon did it


def test_trial_04_the_readme_has_the_three_steps() -> None:
    """
    Install, add, ask; every client that `mcp install` knows is named, and none else.
    """
    section = README.partition(" in three steps\n")[2].partition("\n## ")[0]

    assert re.findall(r"^(\d)\. ", section, re.MULTILINE) == ["1", "2", "3"]
    command, others = re.findall(r"--client (\w+) --write` \(or (.*?)\)", section)[0]
    assert sorted([command, *re.findall(r"`(\w+)`", others)]) == CLIENTS


@pytest.mark.parametrize("client", CLIENTS)
def test_trial_04_what_is_printed_is_what_is_written(
    newcomer: Agent, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Without --write nothing is changed, and the text is that of the file it would make.
    """
    place = PLACES[client]
    path = (newcomer.home if place.of_user else tmp_path) / place.path
    path.unlink(missing_ok=True)
    monkeypatch.chdir(tmp_path)

    printed = newcomer.cli("mcp", "install", "--client", client)

    assert str(path) in printed.stderr
    assert not path.exists()
    newcomer.cli("mcp", "install", "--client", client, "--write")
    assert path.read_text(encoding="utf-8") == printed.stdout
