"""Every op on every surface that it declares: same answers, same codes. A new op is in here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from websockets.sync.client import connect

from agent_pty import Client, ops
from agent_pty.errors import AgentPtyError
from agent_pty.ops.op import Op, Request
from agent_pty.ops.schema import request_schema
from support.agent import Agent
from support.http import Http, serving
from support.op_requests import malformed, well_formed
from support.raw_socket import exchange, wire
from support.surfaces import SURFACES, Ask, Envelope, offers, opened

# `shutdown` ends the daemon that everything here shares; the command line's tests ask for it.
_ANSWERED = sorted(
    name
    for name, op in ops.TABLE.items()
    if not op.stream and name != "shutdown" and op.offered("socket")
)
# What only the gateway's own code asks for, in the name of an MCP client.
_OF_THE_GATEWAY = sorted(name for name, op in ops.TABLE.items() if not op.offered("socket"))
_STREAMS = sorted(name for name, op in ops.TABLE.items() if op.stream and op.offered("http"))
_WITHHELD = sorted(name for name, op in ops.TABLE.items() if not op.offered("http"))
_GRANTING = sorted(name for name, op in ops.TABLE.items() if op.grants)
# What differs between two answers to the same question: times, processes, names for ever, and
# places in a transcript, to which a shell may add a repainted prompt.
_VOLATILE = frozenset(
    {"begin", "cell_id", "cursor", "duration_ms", "instance", "pid", "pids", "ppid", "quiet_ms"}
    | {"stat", "ts", "uptime_s"}
    # Each proof adds an event to the record that the next one is about.
    | {"event_count", "event_range", "generated_at", "head_hash", "recording", "signed_count"}
)
# What also comes and goes between two answers: while nothing waits for the disk there is no lag.
_COMES_AND_GOES = frozenset({"sync_lag_ms"})
_CODE = "echo conformance"


@pytest.fixture(scope="module")
def http(shared: Agent) -> Iterator[Http]:
    """A server that the tests of this file share."""
    with serving(shared) as server:
        yield server


@pytest.fixture(scope="module")
def surfaces(shared: Agent, http: Http) -> Iterator[dict[str, Ask]]:
    """Every way to ask."""
    with opened(shared, http) as found:
        yield found


@pytest.fixture(scope="module")
def cell(shared: Agent) -> str:
    """A cell in the session `shown`, about which everybody asks."""
    shared.new("shown")
    ran: str = shared.ask("run", id="shown", code=_CODE)["cell_id"]
    return ran


def _asking(name: str) -> list[str]:
    """Return the surfaces whose callers may ask for an op."""
    trusted = ("socket", "python") if ops.TABLE[name].grants else SURFACES
    return [surface for surface in SURFACES if offers(surface, name) and surface in trusted]


# -- requests and answers


@pytest.mark.parametrize("name", _ANSWERED)
def test_well_formed_requests_get_the_same_answer(
    shared: Agent, surfaces: dict[str, Ask], cell: str, name: str
) -> None:
    """
    What changes something is asked about sessions that are alike, anything else about the same one.
    """
    op = ops.TABLE[name]
    asking = _asking(name)
    sessions = dict.fromkeys(asking, "shown")
    if op.mutates:
        sessions = {surface: f"{name}-{number}" for number, surface in enumerate(asking)}
        for session in sessions.values() if _is_about_a_session(op) else ():
            shared.new(session)

    answers = {
        surface: _steady(surfaces[surface](name, well_formed(op, session, cell=cell)), session)
        for surface, session in sessions.items()
    }

    assert answers["socket"].get("code") != "internal"
    assert answers == dict.fromkeys(asking, answers["socket"])


@pytest.mark.parametrize("name", [*_ANSWERED, *_STREAMS])
def test_malformed_requests_get_the_same_answer(surfaces: dict[str, Ask], name: str) -> None:
    """
    A missing field, a wrong type, an unknown session: the same envelope, word for word.
    """
    streaming = {"socket", "http", "websocket"}
    asking = _asking(name)
    if ops.TABLE[name].stream:
        asking = [surface for surface in asking if surface in streaming]
    for wrong, fields in malformed(ops.TABLE[name]).items():
        answers = {surface: surfaces[surface](name, fields) for surface in asking}

        assert answers["socket"]["ok"] is False, wrong
        assert answers == dict.fromkeys(asking, answers["socket"]), wrong


@pytest.mark.parametrize("name", _GRANTING)
def test_what_decides_about_agents_is_refused_to_them_alike(
    surfaces: dict[str, Ask], name: str
) -> None:
    """
    It is there on each surface, and the same callers are refused with the same code.
    """
    asking = [one for one in SURFACES if offers(one, name) and one not in _asking(name)]

    answers = {one: surfaces[one](name, well_formed(ops.TABLE[name], "nobody")) for one in asking}

    assert {one["code"] for one in answers.values()} == {"operator_only"}


@pytest.mark.parametrize("name", [*_ANSWERED, "no_such_op"])
def test_the_python_api_raises_the_code_of_the_envelope(
    shared: Agent, surfaces: dict[str, Ask], name: str
) -> None:
    """
    An error of the API has the code, the words and the facts that the other surfaces answer.
    """
    wrong = malformed(ops.TABLE[name]) if name in ops.TABLE else {"": {}}
    for fields in list(wrong.values())[-1:]:
        client = Client(home=shared.home, start=False)
        with client, pytest.raises(AgentPtyError) as raised:
            client.ask(name, **fields)
        told = surfaces["socket"](name, fields)
        error = raised.value

        assert (str(error), error.code) == (told["error"], told["code"])
        assert error.details == told["details"]


def test_an_unknown_op_is_the_same_everywhere(surfaces: dict[str, Ask]) -> None:
    """
    What is no op has one code; MCP has tools instead, and says which there are.
    """
    asking = [surface for surface in SURFACES if not surface.startswith("mcp")]

    answers = {surface: surfaces[surface]("no_such_op", {}) for surface in asking}

    assert answers["socket"]["code"] == "unknown_op"
    assert answers == dict.fromkeys(asking, answers["socket"])


@pytest.mark.parametrize("surface", ["mcp stdio", "mcp http", "python"])
def test_trial_01_no_field_can_make_a_request_another_op(
    shared: Agent, surfaces: dict[str, Ask], surface: str
) -> None:
    """
    A tool that only reads stays one, whatever fields its caller adds.
    """
    session = f"spared-{surface.replace(' ', '-')}"
    shared.new(session, "cat")

    surfaces[surface]("list", {"op": "kill", "id": session})

    assert shared.info(session)["active"] is True


def test_trial_01_kill_does_not_name_the_gateway(shared: Agent, http: Http) -> None:
    """
    What may have survived a session is never the process that serves HTTP and MCP.
    """
    assert http.process.poll() is None
    shared.new("ended", "cat")

    assert shared.ask("kill", id="ended")["possible_survivors"] == []


@pytest.mark.parametrize("name", _WITHHELD)
def test_what_is_for_operators_is_not_offered(http: Http, name: str) -> None:
    """
    An op that is not for agents cannot be asked for, and is named nowhere.
    """
    assert http.ask(name).code == "not_offered"
    assert name not in {one["op"] for one in json.loads(http.send("/ops").body)}
    assert not offers("mcp stdio", name)


@pytest.mark.parametrize("name", _OF_THE_GATEWAY)
def test_what_is_for_the_gateway_is_not_offered_at_the_socket(
    surfaces: dict[str, Ask], name: str
) -> None:
    """
    Nor is it a tool, so nobody but the gateway asks for it.
    """
    assert surfaces["socket"](name, {})["code"] == "not_offered"
    assert ops.TABLE[name].tool is None


def test_a_new_op_must_have_examples_for_what_it_requires() -> None:
    """
    An op is in these tests by being declared; a field that they have no value for fails them.
    """

    class Fold(Request, frozen=True, kw_only=True):
        id: str
        folds: int

    with pytest.raises(AssertionError, match="fold requires folds"):
        well_formed(replace(ops.TABLE["screen"], name="fold", request=Fold), "shown")


# -- streams


@pytest.mark.parametrize("name", _STREAMS)
def test_a_stream_opens_with_the_same_head(
    shared: Agent, http: Http, surfaces: dict[str, Ask], cell: str, name: str
) -> None:
    """
    The envelope before a stream is the same on the socket and on a WebSocket; events have none.
    """
    op = ops.TABLE[name]
    fields = well_formed(op, "shown", cell=cell)

    head = surfaces["websocket"](name, fields)

    assert head["ok"] is True
    assert head == exchange(shared, json.dumps({"op": name, **fields}).encode())
    with http.events("/request", json.dumps({"op": name, **fields}).encode()):
        pass  # it was answered with 200


def test_events_are_the_same_on_every_surface(shared: Agent, http: Http) -> None:
    """
    Whoever watches sees the same event, as a line, a message, a server-sent event or an object.
    """
    shared.new("seen")
    asked = {"op": "watch", "id": "seen", "events": ["title"]}
    body = json.dumps(asked).encode()
    with (
        wire(shared) as line,
        connect(f"ws://{http.host}/stream") as message,
        http.events("/watch?id=seen&event=title") as got,
        http.events("/request", body) as posted,
        Client(home=shared.home, start=False) as client,
        client.session("seen").watch(events=["title"]) as objects,
    ):
        line.put(body + b"\n")
        message.send(body)
        heads = [line.answer(), json.loads(message.recv(timeout=60))]

        shared.ask("send", id="seen", text=r"printf '\033]0;at work\007'")

        found = [line.answer(), json.loads(message.recv(timeout=60)), next(got), next(posted)]
        event = next(objects)
    assert heads[0] == heads[1]
    assert found == [found[0]] * 4
    assert found[0].items() >= {"event": event.event, "seq": event.seq, **event.facts}.items()


def test_a_terminal_is_the_same_on_every_surface(shared: Agent, http: Http, cell: str) -> None:
    """
    Whoever attaches sees the same bytes; server-sent events carry them as text.
    """
    del cell
    body = json.dumps({"op": "attach", "id": "shown", "read_only": True, "repaint": True}).encode()
    seen: dict[str, bytes] = {}
    with wire(shared) as line:
        line.put(body + b"\n")
        line.answer()
        seen["socket"] = _until_cell(iter(line.piece, b""))
    with connect(f"ws://{http.host}/stream") as message:
        message.send(body)
        message.recv(timeout=60)
        pieces = iter(lambda: message.recv(timeout=60, decode=False), b"")
        seen["websocket"] = _until_cell(pieces)
    with http.events("/request", body) as events:
        seen["events"] = _until_cell(event["text"].encode() for event in events)
    client = Client(home=shared.home, start=False)
    with client, client.session("shown").attach(read_only=True, repaint=True) as live:
        seen["python"] = _until_cell(iter(live))

    assert seen == dict.fromkeys(seen, seen["socket"])


def _until_cell(pieces: Iterator[bytes]) -> bytes:
    """Return what comes up to the output of the cell, however it was cut."""
    wanted = b"\r\nconformance"
    found = b""
    while wanted not in found:
        found += next(pieces)
    return found.partition(wanted)[0]


def _steady(envelope: Envelope, session: str) -> Any:
    """Return an envelope without what differs each time; of that, the types are left."""
    named = json.loads(json.dumps(envelope).replace(session, "SESSION"))
    return _without_volatile(named)


def _without_volatile(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_volatile(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: type(one).__name__ if name in _VOLATILE else _without_volatile(one)
        for name, one in value.items()
        if name not in _COMES_AND_GOES
    }


def _is_about_a_session(op: Op) -> bool:
    return "id" in request_schema(op).get("required", [])
