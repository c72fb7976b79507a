"""What MCP offers beside tools: resources and their changes, progress, pictures, questions."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from support.agent import AGENT_PTY, Agent, gateway_of, slay

SECONDS = 100
LONG = 30_000
SCREEN = "agent-pty://sessions/{}/screen"
TRANSCRIPT = "agent-pty://sessions/{}/transcript"
# The handshake of older clients, and the requests of the newest, which stand alone.
ERAS = pytest.mark.parametrize("era", ["legacy", "auto"])
WAYS = pytest.mark.parametrize("way", ["stdio", "http"])


@pytest.fixture(scope="module")
def address(shared: Agent) -> Iterator[str]:
    """Serve HTTP for the module."""
    server = shared.start("serve-http", "--addr", "127.0.0.1:0", "--json")
    assert server.stdout is not None
    yield json.loads(server.stdout.readline())["url"] + "/mcp"
    server.terminate()
    server.communicate(timeout=SECONDS)


@pytest.fixture
def connect(shared: Agent, address: str) -> Callable[..., Any]:
    """Return how to connect the SDK's client by one of the ways."""

    @contextlib.asynccontextmanager
    async def connecting(way: str, era: str, **options: Any) -> AsyncIterator[Client]:
        stdio = StdioServerParameters(command=AGENT_PTY, args=["mcp-stdio"], env=shared.env)
        target = stdio if way == "stdio" else address
        async with asyncio.timeout(SECONDS), Client(target, mode=era, **options) as client:
            yield client

    return connecting


def tell(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Let a story happen."""
    asyncio.run(story())


def text_of(result: Any) -> str:
    """Return the text of a tool's result."""
    return str(result.content[0].text)


@ERAS
@WAYS
def test_sessions_are_resources(
    shared: Agent, connect: Callable[..., Any], way: str, era: str
) -> None:
    """
    Every session is listed with its screen; the transcript has an address, too.
    """
    name = f"seen-{way}-{era}"
    shared.new(name)
    shared.ask("run", id=name, code="echo $((40+2))")

    async def story() -> None:
        async with connect(way, era) as client:
            listed = {str(one.uri) for one in (await client.list_resources()).resources}
            assert SCREEN.format(name) in listed
            templates = (await client.list_resource_templates()).resource_templates
            names = ["screen", "transcript", "proof", "proof.md", "proof.html"]
            assert [one.name for one in templates] == names
            for uri in (SCREEN.format(name), TRANSCRIPT.format(name)):
                read = await client.read_resource(uri)
                assert "\n42\n" in read.contents[0].text
                assert read.contents[0].mime_type == "text/plain"

    tell(story)


@ERAS
@WAYS
def test_proofs_are_resources(
    shared: Agent, connect: Callable[..., Any], way: str, era: str
) -> None:
    """
    Every session is listed with its proof; read, it is written anew: as JSON, Markdown or a page.
    """
    name = f"proved-{way}-{era}"
    shared.new(name)
    shared.ask("run", id=name, code="echo $((40+2))")
    uri = f"agent-pty://sessions/{name}/proof"

    async def story() -> None:
        async with connect(way, era) as client:
            listed = {str(one.uri) for one in (await client.list_resources()).resources}
            bundle = (await client.read_resource(uri)).contents[0]
            text = (await client.read_resource(f"{uri}.md")).contents[0]
            page = (await client.read_resource(f"{uri}.html")).contents[0]

            assert uri in listed
            assert json.loads(bundle.text)["cells"][0]["output"] == "42"
            assert text.text.startswith(f"# agent-pty proof: {name}\n")
            assert page.text.startswith("<!doctype html>")
            kinds = [one.mime_type for one in (bundle, text, page)]
            assert kinds == ["application/json", "text/markdown", "text/html"]

    tell(story)


@ERAS
@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("agent-pty://sessions/nobody/screen", "unknown session nobody"),
        ("agent-pty://sessions/a/b/screen", "no resource"),
        ("file:///etc/passwd", "use agent-pty://sessions/{name}/screen"),
    ],
)
def test_an_unknown_resource_is_an_error_that_teaches(
    connect: Callable[..., Any], era: str, uri: str, said: str
) -> None:
    """
    Nothing but sessions is read, and the error says how an address looks.
    """

    async def story() -> None:
        async with connect("stdio", era) as client:
            with pytest.raises(MCPError, match=said.replace("{", r"\{")):
                await client.read_resource(uri)

    tell(story)


def test_a_long_transcript_says_what_is_left_out(
    shared: Agent, connect: Callable[..., Any]
) -> None:
    """
    The end is shown, and how much stands before it.
    """
    shared.new("wordy")
    shared.ask("run", id="wordy", code="seq 1 20000")

    async def story() -> None:
        async with connect("stdio", "auto") as client:
            read = await client.read_resource(TRANSCRIPT.format("wordy"))
            first, *rest = read.contents[0].text.splitlines()
            assert first.endswith("bytes before this are not shown]")
            assert "20000" in rest
            assert len(read.contents[0].text) < 60_000

    tell(story)


@WAYS
def test_who_listens_is_told_of_changes(
    shared: Agent, connect: Callable[..., Any], way: str
) -> None:
    """
    A client of the newest protocol opens a stream: of its session and of the list, of nothing else.
    """
    name, other = f"listened-{way}", f"other-{way}"
    shared.new(name)
    shared.new(other)

    async def story() -> None:
        uri = SCREEN.format(name)
        async with (
            connect(way, "auto") as client,
            client.listen(resource_subscriptions=[uri]) as changes,
        ):
            shared.ask("run", id=other, code="echo nothing")
            shared.ask("run", id=name, code="echo something")
            event = await anext(aiter(changes))
            assert event.uri == uri
        async with (
            connect(way, "auto") as client,
            client.listen(resources_list_changed=True) as changes,
        ):
            shared.ask("kill", id=other)
            assert type(await anext(aiter(changes))).__name__ == "ResourcesListChanged"

    tell(story)


@WAYS
def test_who_subscribed_is_notified(shared: Agent, connect: Callable[..., Any], way: str) -> None:
    """
    A client of an older protocol subscribes to a session, and to the list by asking for it.
    """
    name = f"subscribed-{way}"
    shared.new(name)
    uri = SCREEN.format(name)

    async def story() -> None:
        heard: asyncio.Queue[Any] = asyncio.Queue()

        async def hear(message: Any) -> None:
            await heard.put(message)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            async with connect(way, "legacy", message_handler=hear) as client:
                await client.subscribe_resource(uri)
                shared.ask("run", id=name, code="echo something")
                told = await heard.get()
                assert (told.method, told.params.uri) == ("notifications/resources/updated", uri)
                await client.list_resources()
                await client.unsubscribe_resource(uri)
                shared.new(f"{name}-2")
                while told.method != "notifications/resources/list_changed":
                    told = await heard.get()

    tell(story)


def test_a_subscription_outlives_a_gateway(shared: Agent, connect: Callable[..., Any]) -> None:
    """
    A gateway that dies is not noticed: what may have changed meanwhile is told, and what follows.
    """
    shared.new("outlived")
    uri = SCREEN.format("outlived")

    async def story() -> None:
        heard: asyncio.Queue[Any] = asyncio.Queue()

        async def hear(message: Any) -> None:
            await heard.put(message)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            async with connect("stdio", "legacy", message_handler=hear) as client:
                await client.subscribe_resource(uri)
                slay(gateway_of(shared))
                assert (await heard.get()).params.uri == uri
                # The next gateway may not follow the session yet: something happens until it does.
                told = None
                while told is None:
                    shared.ask("run", id="outlived", code="echo something")
                    with contextlib.suppress(TimeoutError):
                        told = await asyncio.wait_for(heard.get(), 0.5)
                assert told.params.uri == uri

    tell(story)


def test_a_client_that_only_calls_tools_is_told_nothing(
    shared: Agent, connect: Callable[..., Any]
) -> None:
    """
    No notification that was not asked for, whatever happens meanwhile.
    """
    shared.new("noisy")

    async def story() -> None:
        heard: list[Any] = []

        async def hear(message: Any) -> None:
            heard.append(message)

        async with connect("stdio", "legacy", message_handler=hear) as client:
            await client.call_tool("pty_list", {})
            shared.ask("run", id="noisy", code="seq 1 1000")
            shared.new("noisy-2")
            await client.call_tool("pty_read", {"id": "noisy", "wait_ms": 1000})
        assert heard == []

    tell(story)


@ERAS
@WAYS
def test_who_waits_is_told_how_it_goes(
    shared: Agent, connect: Callable[..., Any], way: str, era: str
) -> None:
    """
    A call that takes long reports the seconds and the last line of its session, if that is wanted.
    """
    name = f"slow-{way}-{era}"
    shared.new(name)

    async def story() -> None:
        told: asyncio.Queue[tuple[float, str | None]] = asyncio.Queue()

        async def progress(seconds: float, _total: float | None, message: str | None) -> None:
            await told.put((seconds, message))

        async with connect(way, era) as client:
            shared.ask("send", id=name, text="clear; echo step''one; read x; echo step''two")
            wait = asyncio.get_running_loop().create_task(
                client.call_tool(
                    "terminal.wait",
                    {"id": name, "until": "steptwo", "timeout_ms": LONG},
                    progress_callback=progress,
                )
            )
            while (await told.get())[1] != "stepone":
                pass
            shared.ask("send", id=name, text="go on")
            assert not (await wait).is_error

    tell(story)


@WAYS
def test_a_picture_of_a_screen(shared: Agent, connect: Callable[..., Any], way: str) -> None:
    """
    On request a screen is also a PNG, in both families of tools; never without.
    """
    shared.new(f"drawn-{way}")

    async def story() -> None:
        async with connect(way, "auto") as client:
            for tool, wanted in (
                ("terminal.screen", {"image": True}),
                ("pty_read", {"view": "image"}),
            ):
                result = await client.call_tool(tool, {"id": f"drawn-{way}", **wanted})
                picture = result.content[1]
                assert picture.mime_type == "image/png"
                assert base64.b64decode(picture.data).startswith(b"\x89PNG\r\n")
            plain = await client.call_tool("terminal.screen", {"id": f"drawn-{way}"})
            assert len(plain.content) == 1
            wrong = await client.call_tool(
                "terminal.screen", {"id": f"drawn-{way}", "image": "yes"}
            )
            assert wrong.is_error

    tell(story)


def answering(action: str, answer: str, heard: list[str]) -> Callable[..., Any]:
    """Return a user who reads a question and answers it."""

    async def answers(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        heard.append(params.message)
        content = {"content": {"answer": answer}} if action == "accept" else {}
        return types.ElicitResult.model_validate({"action": action, **content})

    return answers


@ERAS
@WAYS
def test_a_question_is_put_to_the_user(
    shared: Agent, connect: Callable[..., Any], way: str, era: str
) -> None:
    """
    The user sees what the program asks, and the answer is typed for it.
    """
    name = f"asks-{way}-{era}"
    shared.new(name, "/bin/sh", "-c", "printf 'Which colour? '; read c; echo it is $c; cat")
    shared.ask("wait", id=name, until="colour?", timeout_ms=LONG)
    heard: list[str] = []

    async def story() -> None:
        user = answering("accept", "blue", heard)
        async with connect(way, era, elicitation_callback=user) as client:
            call = {"id": name, "input": "", "ask": True, "until": "it is", "wait_ms": LONG}
            result = await client.call_tool("pty_send", call)
            assert "it is blue" in text_of(result), text_of(result)
            assert not result.is_error

    tell(story)
    assert len(heard) == 1
    assert "Which colour?" in heard[0]


@pytest.mark.parametrize(
    ("program", "action", "said"),
    [
        ("printf 'Which? '; read c; cat", "decline", "the user did not answer"),
        ("stty -echo; printf 'Password: '; read c; cat", "accept", "asks for a secret"),
        ("echo at; echo work: ; while :; do :; done", "accept", "asks nothing now"),
    ],
)
def test_what_is_not_put_to_the_user(
    shared: Agent, connect: Callable[..., Any], program: str, action: str, said: str
) -> None:
    """
    Nothing is typed without an answer; a secret is never asked for, nor is what nobody asked.
    """
    name = shared.ask("new", repo="/tmp", argv=["/bin/sh", "-c", program])["id"]
    shared.ask("wait", id=name, until=r"regex:[?:] ?$", timeout_ms=LONG)
    heard: list[str] = []

    async def story() -> None:
        user = answering(action, "secret", heard)
        async with connect("stdio", "auto", elicitation_callback=user) as client:
            result = await client.call_tool("pty_send", {"id": name, "input": "", "ask": True})
            assert result.is_error
            assert said in text_of(result)

    tell(story)
    assert len(heard) == (action == "decline")
    shared.ask("kill", id=name)


@ERAS
def test_a_client_that_cannot_ask_is_told_so(
    shared: Agent, connect: Callable[..., Any], era: str
) -> None:
    """
    The model learns the question, and that it must put it to the user itself.
    """
    name = shared.ask("new", repo="/tmp", argv=["/bin/sh", "-c", "printf 'Which? '; read c; cat"])[
        "id"
    ]
    shared.ask("wait", id=name, until="Which?", timeout_ms=LONG)

    async def story() -> None:
        async with connect("stdio", era) as client:
            result = await client.call_tool("pty_send", {"id": name, "input": "", "ask": True})
            assert result.is_error
            assert "this client cannot ask its user" in text_of(result)
            assert "Which?" in text_of(result)

    tell(story)
