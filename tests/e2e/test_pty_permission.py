"""The six tools at the gate: what `[permission]` leaves to a person, and what a refusal tells."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.journal import payloads
from support.model import LONG, Model, bash, output

ASK = '[permission.terminal_start]\n"*" = "ask"\n"bash *" = "allow"\n'
ASK_STOP = '[permission]\nterminal_stop = "ask"\n'


@pytest.fixture(scope="module")
def model(shared: Agent) -> Iterator[Model]:
    """A model that the tests of this file share."""
    made = Model(shared)
    yield made
    made.leave()


@contextlib.contextmanager
def configured(agent: Agent, text: str) -> Iterator[None]:
    """Give a user other settings for a while."""
    config = Path(agent.layout.config)
    config.write_text(text)
    try:
        yield
    finally:
        config.unlink()


def request_in(text: str) -> str:
    """Return the id of the request that a refusal names, with the command that approves it."""
    found = re.findall(r"agent-pty approve --request ([\w-]+)", text)
    assert found, text
    return str(found[0])


def pending(agent: Agent) -> dict[str, dict[str, Any]]:
    """Return the requests that wait, by id."""
    return {one["id"]: one for one in agent.ask("approvals")}


# -- what [permission] leaves to a person


def test_what_was_approved_may_be_started_once(shared: Agent, model: Model) -> None:
    """
    `ask` makes a request, which operators see and decide; the same call then works one time.
    """
    call = {"command": "echo", "args": ["approved"]}
    with configured(shared, ASK):
        request = request_in(model.refused("pty_exec", **call))
        listed = pending(shared)[request]
        again = request_in(model.refused("pty_exec", **call))

        approved = shared.cli("approve", "--request", request)
        ran = model.call("pty_exec", **call)
        third = request_in(model.refused("pty_exec", **call))

    assert approved.returncode == 0, approved.stderr
    assert (listed["command"], listed["rule"]) == ("echo approved", "terminal_start")
    assert listed["gate"] == "start"
    assert listed["requested_by"]["transport"] == "mcp"
    assert again == request
    assert output(ran) == "approved\n"
    assert third != request
    shared.ask("deny", request=third)


def test_an_approval_is_for_these_arguments_and_this_directory(
    shared: Agent, model: Model, tmp_path: Path
) -> None:
    """
    The same words cut in another way are another program, and so are they in another place.
    """
    with configured(shared, ASK):
        request = request_in(model.refused("pty_exec", command="echo", args=["a b"]))
        shared.ask("approve", request=request)

        cut = request_in(model.refused("pty_exec", command="echo", args=["a", "b"]))
        moved = model.refused("pty_exec", command="echo", args=["a b"], cwd=str(tmp_path))
        model.call("pty_exec", command="echo", args=["a b"])

    for one in (cut, request_in(moved)):
        shared.ask("deny", request=one)


def test_denied_by_the_settings_is_final(shared: Agent, model: Model) -> None:
    """
    There is no request that somebody could approve.
    """
    before = pending(shared)
    with configured(shared, '[permission]\nterminal_start = "deny"\n'):
        text = model.refused("pty_start", command="echo", args=["never"])

    assert "is denied" in text
    assert "approve" not in text
    assert pending(shared) == before


def test_an_operator_may_say_no(shared: Agent, model: Model) -> None:
    """
    After that the call is refused as before, with another request.
    """
    with configured(shared, ASK):
        request = request_in(model.refused("pty_start", command="sleep", args=["9"]))
        shared.cli("deny", "--request", request)
        other = request_in(model.refused("pty_start", command="sleep", args=["9"]))

    assert other != request
    shared.ask("deny", request=other)


def test_lines_for_a_shell_are_approved_for_one_session(shared: Agent, model: Model) -> None:
    """
    All lines of one call are one request; another shell does not get them.
    """
    with configured(shared, ASK):
        mine, other = bash(model), bash(model)
        call = {"input": "echo one-$((1))\recho two-$((2))\r"}
        request = request_in(model.refused("pty_send", id=mine, **call))
        command = pending(shared)[request]["command"]
        shared.ask("approve", request=request)

        refused = request_in(model.refused("pty_send", id=other, **call))
        typed = model.call("pty_send", id=mine, until="two-2", wait_ms=LONG, **call)

    assert command == "echo one-$((1))\necho two-$((2))"
    assert refused != request
    assert "one-1" in typed
    shared.ask("deny", request=refused)
    for name in (mine, other):
        model.call("pty_stop", id=name)


def test_the_stop_of_a_session_can_be_approved(shared: Agent, model: Model) -> None:
    """
    For exactly the session that the operator was shown.
    """
    mine, other = model.start("sleep", "1000"), model.start("sleep", "1000")
    with configured(shared, ASK_STOP):
        request = request_in(model.refused("pty_stop", id=mine))
        assert pending(shared)[request]["session_id"] == mine
        shared.ask("approve", request=request)

        refused = request_in(model.refused("pty_stop", id=other))
        stopped = model.call("pty_stop", id=mine)

    assert "stopped 1 process" in stopped
    shared.ask("deny", request=refused)
    model.call("pty_stop", id=other)


def test_a_program_that_the_policy_stops_too_needs_one_approval(
    shared: Agent, model: Model, tmp_path: Path
) -> None:
    """
    The request is that of the rule; after it was approved the settings ask for nothing more.
    """
    (tmp_path / "build").mkdir()
    call = {"command": "rm", "args": ["-rf", "build"], "cwd": str(tmp_path)}
    with configured(shared, ASK):
        request = request_in(model.refused("pty_exec", **call))
        rule = pending(shared)[request]["rule"]
        shared.ask("approve", request=request)
        model.call("pty_exec", **call)

    assert rule == "rm -rf"
    assert not (tmp_path / "build").exists()


def test_python_programs_are_asked_as_well(shared: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    `agent_pty.tools` in a program of one's own passes the same gate.
    """
    from agent_pty import Client, tools  # noqa: PLC0415  with the environment of this test

    monkeypatch.setenv("AGENT_PTY_HOME", str(shared.home))
    shared.connect().close()
    box = tools.ToolBox(Client(home=shared.home, start=False))
    call = {"command": "echo", "args": ["from python"]}
    try:
        with configured(shared, ASK):
            refused = box.result("pty_exec", call)
            shared.ask("approve", request=request_in(refused.text))
            ran = box.result("pty_exec", call)
    finally:
        box.close()

    assert refused.failed
    assert output(ran.text) == "from python\n"


# -- what a refusal of the gate tells a model


@pytest.mark.parametrize("tool", ["pty_exec", "pty_start"])
def test_a_refused_start_names_its_request(
    shared: Agent, model: Model, tool: str, tmp_path: Path
) -> None:
    """
    With the command that approves it, and what to do then; nothing was started.
    """
    before = len(shared.ask("list"))

    text = model.refused(tool, command="rm", args=["-rf", tool], cwd=str(tmp_path))

    assert text.startswith("rm -rf requires approval")
    assert request_in(text) in pending(shared)
    assert text.endswith("then make the same call again")
    assert len(shared.ask("list")) == before
    shared.ask("deny", request=request_in(text))


@pytest.mark.parametrize(
    "call",
    [
        {"input": "rm -rf build\r"},
        {"input": "rm -rf build", "submit": True},
        {"input": "rm -rf build", "keys": ["Enter"]},
        {"input": "rm -rf build", "keys": ["C-e", "Enter"]},
    ],
    ids=["text", "submit", "keys", "editing keys"],
)
def test_a_refused_line_can_be_sent_again_after_its_approval(
    shared: Agent, model: Model, tmp_path: Path, call: dict[str, Any]
) -> None:
    """
    The refusal names the request and leaves nothing on the line, so the same call then works.
    """
    (tmp_path / "build").mkdir()
    name = model.start("bash", "--norc", "--noprofile", cwd=str(tmp_path))
    model.call("pty_read", id=name, until="prompt", wait_ms=LONG)

    text = model.refused("pty_send", id=name, **call)
    shared.ask("approve", request=request_in(text))
    model.call("pty_send", id=name, wait_ms=LONG, until="prompt", **call)

    assert not (tmp_path / "build").exists()
    assert [one["rule"] for one in payloads(shared, name, "policy_approved")] == ["rm -rf"]
    model.call("pty_stop", id=name)


def test_what_a_policy_denies_is_told_to_be_final(agent: Agent) -> None:
    """
    No request, and the advice to do it in another way.
    """
    policy = agent.home / "policy.json"
    policy.write_text(
        json.dumps({"rules": [{"label": "x", "pattern": "no-way", "action": "deny"}]})
    )
    (agent.home / "config.toml").write_text(f'[policy]\nfile = "{policy}"\n')
    model = Model(agent)
    try:
        text = model.refused("pty_exec", command="echo", args=["no-way"])
    finally:
        model.leave()

    assert text == (
        "x is denied by policy; nothing was done. No approval can lift this: do it in another way"
    )
    assert pending(agent) == {}


@pytest.mark.parametrize("permitted", [False, True])
def test_a_policy_may_let_models_type_secrets(agent: Agent, permitted: bool) -> None:  # noqa: FBT001
    """
    Otherwise the model is told by which command a person enters it.
    """
    policy = agent.home / "policy.json"
    policy.write_text(json.dumps({"agent_secrets": permitted}))
    (agent.home / "config.toml").write_text(f'[policy]\nfile = "{policy}"\n')
    model = Model(agent)
    try:
        script = "stty -echo; printf 'Password: '; read x; echo $x | tr a-z A-Z; cat"
        name = model.start("sh", "-c", script)
        model.call("pty_read", id=name, until="Password: ", wait_ms=LONG)

        text, failed = model.result(
            "pty_send", id=name, input="hunter\r", until="HUNTER", wait_ms=LONG
        )
    finally:
        model.leave()

    assert failed is not permitted
    assert ("HUNTER" if permitted else f"agent-pty secret {name}") in text
