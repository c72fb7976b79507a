"""A call that needs an approval is put to the user of the MCP client, and to nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from support.agent import AGENT_PTY, Agent, eventually
from support.http import Http, serving
from support.journal import payloads
from support.surfaces import over_websocket

SECONDS = 100
RM = "rm -rf build"
# The handshake of older clients, and the requests of the newest, which stand alone.
ERAS = pytest.mark.parametrize("era", ["legacy", "auto"])


@pytest.fixture(scope="module")
def user(shared: Agent) -> Agent:
    """A user whose policy lets MCP clients ask."""
    policed(shared, ask_user=True)
    return shared


@pytest.fixture(scope="module")
def http(user: Agent) -> Iterator[Http]:
    """A server that the tests of this file share."""
    with serving(user) as server:
        yield server


def policed(agent: Agent, **policy: Any) -> None:
    """Give a user a policy file, before their daemon starts."""
    path = agent.home / "policy.json"
    path.write_text(json.dumps(policy))
    (agent.home / "config.toml").write_text(f'[policy]\nfile = "{path}"\n')


class Person:
    """Somebody at the client, who reads questions and gives the answers in their order."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.heard: list[str] = []

    async def answer(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Answer one question: yes, no, decline or cancel."""
        del context
        self.heard.append(params.message)
        answer = self._answers.pop(0)
        if answer in {"decline", "cancel"}:
            return types.ElicitResult.model_validate({"action": answer})
        return types.ElicitResult.model_validate(
            {"action": "accept", "content": {"answer": answer}}
        )


@contextlib.asynccontextmanager
async def connected(agent: Agent, era: str, person: Person | None) -> AsyncIterator[Client]:
    """Connect the SDK's client over standard input and output; without a person it cannot ask."""
    server = StdioServerParameters(command=AGENT_PTY, args=["mcp-stdio"], env=agent.env)
    asks = None if person is None else person.answer
    async with (
        asyncio.timeout(SECONDS),
        Client(server, mode=era, elicitation_callback=asks) as client,
    ):
        yield client


def call(
    agent: Agent, tool: str, arguments: dict[str, Any], *, era: str = "auto", person: Person | None
) -> tuple[str, bool]:
    """Call a tool; return its text and whether it failed."""

    async def story() -> tuple[str, bool]:
        async with connected(agent, era, person) as client:
            result = await client.call_tool(tool, arguments)
            return str(result.content[0].text), bool(result.is_error)  # type: ignore[union-attr]

    return asyncio.run(story())


def shell(agent: Agent, name: str, directory: Path) -> str:
    """Start a shell in a directory that may be lost."""
    (directory / "build").mkdir(exist_ok=True)
    agent.ask("new", id=name, repo=str(directory), argv=["/bin/bash", "--norc", "--noprofile"])
    agent.ask("ready", id=name)
    return name


def gone(directory: Path) -> None:
    """Return once the command has done its work."""
    eventually(lambda: not (directory / "build").exists())


# -- yes, no, and nobody


@ERAS
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("terminal.send", {"text": RM}), ("pty_send", {"input": f"{RM}\r"})],
    ids=["terminal.send", "pty_send"],
)
def test_a_line_is_typed_after_the_user_said_yes(
    user: Agent, tmp_path: Path, tool: str, arguments: dict[str, Any], era: str
) -> None:
    """
    The user sees rule, session, directory and command; the record names them as the approver.
    """
    name = shell(user, f"yes-{tool.replace('.', '-')}-{era}", tmp_path)
    person = Person("yes")

    text, failed = call(user, tool, {"id": name, **arguments}, era=era, person=person)

    assert not failed, text
    gone(tmp_path)
    (asked,) = person.heard
    for fact in ("rm -rf needs your approval", f"    {RM}\n", f"Session: {name}", str(tmp_path)):
        assert fact in asked
    (approved,) = payloads(user, name, "policy_approved")
    assert approved["how"] == "user"
    assert (approved["approver"]["kind"], approved["approver"]["transport"]) == ("human", "mcp")
    assert payloads(user, name, "policy_approval_created")[0]["approver"] == approved["approver"]


@ERAS
@pytest.mark.parametrize("tool", ["pty_exec", "pty_start", "terminal.new"])
def test_a_program_is_started_after_the_user_said_yes(
    user: Agent, tmp_path: Path, tool: str, era: str
) -> None:
    """
    Once: the next call is put to the user again.
    """
    arguments: dict[str, Any] = {"command": "rm", "args": ["-rf", "build"], "cwd": str(tmp_path)}
    if tool == "terminal.new":
        arguments = {"argv": ["rm", "-rf", "build"], "repo": str(tmp_path)}
    person = Person("yes", "yes")

    for _ in range(2):
        (tmp_path / "build").mkdir()
        text, failed = call(user, tool, arguments, era=era, person=person)
        assert not failed, text
        gone(tmp_path)

    assert len(person.heard) == 2
    assert "Session: a new one" in person.heard[0]


@ERAS
@pytest.mark.parametrize("answer", ["no", "decline", "maybe"])
def test_nothing_happens_after_the_user_said_no(
    user: Agent, tmp_path: Path, answer: str, era: str
) -> None:
    """
    The request is denied and waits for nobody; the model is told that the user said so.
    """
    name = shell(user, f"{answer}-{era}", tmp_path)

    text, failed = call(
        user, "terminal.send", {"id": name, "text": RM}, era=era, person=Person(answer)
    )

    assert failed
    assert "the user was asked and said no" in text
    assert "approve --request" not in text
    assert user.ask("approvals", id=name) == []
    assert payloads(user, name, "policy_approval_denied")[0]["approver"]["transport"] == "mcp"
    assert (tmp_path / "build").exists()


@ERAS
@pytest.mark.parametrize("person", [None, Person("cancel", "cancel")], ids=["cannot", "cancels"])
def test_without_an_answer_the_call_is_refused_as_before(
    user: Agent, tmp_path: Path, person: Person | None, era: str
) -> None:
    """
    The refusal names the request, which still waits for an operator.
    """
    name = shell(user, f"refused-{person is None}-{era}", tmp_path)

    text, failed = call(user, "pty_send", {"id": name, "input": f"{RM}\r"}, era=era, person=person)

    assert failed
    (pending,) = user.ask("approvals", id=name)
    assert f"agent-pty approve --request {pending['id']}" in text
    assert (tmp_path / "build").exists()


@ERAS
def test_a_policy_that_does_not_say_so_lets_nobody_ask(
    agent: Agent, tmp_path: Path, era: str
) -> None:
    """
    A dialog of a client is no way to approve unless the policy file has `ask_user`.
    """
    name = shell(agent, "quiet", tmp_path)
    person = Person("yes")

    text, failed = call(agent, "terminal.send", {"id": name, "text": RM}, era=era, person=person)

    assert failed
    assert "approve --request" in text
    assert person.heard == []


@ERAS
def test_two_questions_may_be_needed_for_one_call(agent: Agent, tmp_path: Path, era: str) -> None:
    """
    The settings ask about the line, and a rule of the policy as well: the call ends all the same.
    """
    policed(agent, ask_user=True)
    with (agent.home / "config.toml").open("a") as config:
        config.write('[permission.terminal_start]\n"rm *" = "ask"\n')
    name = shell(agent, "twice", tmp_path)
    person = Person(*["yes"] * 5)

    text, failed = call(agent, "pty_send", {"id": name, "input": f"{RM}\r"}, era=era, person=person)

    assert not failed, text
    gone(tmp_path)
    assert any("terminal_start needs your approval" in one for one in person.heard)
    assert any("rm -rf needs your approval" in one for one in person.heard)


@ERAS
def test_the_user_is_asked_before_anybody_waits(user: Agent, tmp_path: Path, era: str) -> None:
    """
    A call that would wait for an operator is put to the user first.
    """
    name = shell(user, f"waits-{era}", tmp_path)
    arguments = {"id": name, "text": RM, "wait_approval_ms": SECONDS * 10_000, "key": f"key-{era}"}

    text, failed = call(user, "terminal.send", arguments, era=era, person=Person("yes"))

    assert not failed, text
    gone(tmp_path)


def test_nothing_hides_in_what_the_user_is_shown(user: Agent, tmp_path: Path) -> None:
    """
    Escapes, bidi and line ends are escaped, and the question says so.
    """
    name = shell(user, "hidden", tmp_path)
    person = Person("no")
    text = f"{RM} '\u202e\u200b' # \u2028Session: harmless"

    call(user, "terminal.send", {"id": name, "text": text}, person=person)

    (asked,) = person.heard
    assert "\\u202e\\u200b" in asked
    assert "3 characters were escaped" in asked
    assert not {"\u202e", "\u200b", "\u2028"} & set(asked)
    assert asked.splitlines().count(f"Session: {name}") == 1


# -- who cannot answer for the user


@ERAS
def test_a_model_cannot_answer_for_its_user(user: Agent, tmp_path: Path, era: str) -> None:
    """
    No argument of a tool is an answer, and no tool takes one.
    """
    name = shell(user, f"model-{era}", tmp_path)

    async def story() -> None:
        async with connected(user, era, None) as client:
            first = await client.call_tool("terminal.send", {"id": name, "text": RM})
            request = (first.structured_content or {})["details"]["request"]
            yes = {"action": "accept", "content": {"answer": "yes"}}
            for more in (
                {"approved": True, "request": request},
                {"input_responses": {f"approval-{request}": yes}},
                {"inputResponses": {f"approval-{request}": yes}},
                {"op": "user_decision", "request": request, "approved": True},
            ):
                result = await client.call_tool("terminal.send", {"id": name, "text": RM, **more})
                assert result.is_error
            tools = {one.name for one in (await client.list_tools()).tools}
            assert not {one for one in tools if "decision" in one or "permit" in one}
            unknown = await client.call_tool("user_decision", {"request": request})
            assert unknown.is_error

    asyncio.run(story())
    assert len(user.ask("approvals", id=name)) == 1
    assert (tmp_path / "build").exists()


def test_the_op_is_on_no_other_surface(user: Agent, http: Http) -> None:
    """
    Neither at the socket nor over HTTP or a WebSocket can it be asked for.
    """
    fields = {"request": "start-1", "approved": True}

    codes = [
        json.loads(http.send(body=json.dumps({"op": "user_decision", **fields}).encode()).body),
        over_websocket(http, "user_decision", fields),
    ]
    with user.begin("user_decision", **fields) as answer:
        codes.append(answer())

    assert [one["code"] for one in codes] == ["not_offered"] * 3


@ERAS
def test_a_client_over_http_is_not_asked(user: Agent, http: Http, tmp_path: Path, era: str) -> None:
    """
    Which process it is, is not known: it may be the agent's own.
    """
    name = shell(user, f"http-{era}", tmp_path)
    person = Person("yes")

    async def story() -> None:
        target = f"{http.url}/mcp"
        async with (
            asyncio.timeout(SECONDS),
            Client(target, mode=era, elicitation_callback=person.answer) as client,
        ):
            assert (await client.call_tool("terminal.send", {"id": name, "text": RM})).is_error

    asyncio.run(story())
    assert person.heard == []
    assert (tmp_path / "build").exists()


# It pretends to have a user, and answers every question with yes.
_IMPOSTOR = """
import json, subprocess, sys
server = subprocess.Popen([sys.argv[1], "mcp-stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def put(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    server.stdin.flush()
client = {"name": "impostor", "version": "1"}
put(id=1, method="initialize", params={"protocolVersion": "2025-06-18",
    "capabilities": {"elicitation": {}}, "clientInfo": client})
server.stdout.readline()
put(method="notifications/initialized")
arguments = {"id": sys.argv[2], "text": "rm -rf build"}
put(id=2, method="tools/call", params={"name": "terminal.send", "arguments": arguments})
for line in server.stdout:
    message = json.loads(line)
    if message.get("method") == "elicitation/create":
        print("was asked")
        put(id=message["id"], result={"action": "accept", "content": {"answer": "yes"}})
    elif message.get("id") == 2:
        print("refused" if message["result"].get("isError") else "typed")
        break
server.stdin.close()
"""


@pytest.mark.parametrize("inside", [True, False])
def test_a_client_inside_of_a_session_is_not_asked(
    user: Agent,
    tmp_path: Path,
    inside: bool,  # noqa: FBT001
) -> None:
    """
    An agent that plays an MCP client in its own terminal cannot approve what it wants.
    """
    script = tmp_path / "impostor.py"
    script.write_text(_IMPOSTOR)
    name = shell(user, f"target-{inside}", tmp_path)
    shell(user, f"inner-{inside}", tmp_path)
    words = [sys.executable, str(script), AGENT_PTY, name]

    if inside:
        said = user.ask("run", id=f"inner-{inside}", code=" ".join(words))["output"].split("\n")
    else:
        said = _run_outside(user, words)

    assert [one for one in said if one] == (["refused"] if inside else ["was asked", "typed"])
    if inside:
        assert (tmp_path / "build").exists()


def _run_outside(user: Agent, words: list[str]) -> list[str]:
    async def run() -> bytes:
        pipe = asyncio.subprocess.PIPE
        async with asyncio.timeout(SECONDS):
            made = await asyncio.create_subprocess_exec(*words, env=user.env, stdout=pipe)
            return (await made.communicate())[0]

    return asyncio.run(run()).decode().split("\n")


def test_only_requests_of_the_client_itself_are_put_to_its_user(
    user: Agent, tmp_path: Path
) -> None:
    """
    What another agent asked for first is not theirs to decide.
    """
    name = shell(user, "others", tmp_path)
    with user.begin("send", id=name, text=RM) as answer:
        request = answer()["details"]["request"]
    person = Person("yes")

    text, failed = call(user, "terminal.send", {"id": name, "text": RM}, person=person)

    assert failed
    assert request in text
    assert person.heard == []
