"""Every op that is offered over HTTP answers there as on the socket. A new op is in here too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.sync.client import connect

from agent_pty import ops
from agent_pty.ops.op import Op
from agent_pty.ops.schema import request_schema
from support.agent import Agent
from support.http import Http, serving
from support.raw_socket import exchange

_OFFERED = sorted(name for name, op in ops.TABLE.items() if op.offered("http"))
_WITHHELD = sorted(set(ops.TABLE) - set(_OFFERED))
_SAMPLES: dict[str, Any] = {
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": ["x"],
    "object": {},
}


@pytest.fixture(scope="module")
def http(shared: Agent) -> Iterator[Http]:
    """A server that the tests of this file share."""
    with serving(shared) as server:
        yield server


@pytest.mark.parametrize("name", _OFFERED)
def test_malformed_requests_get_the_same_envelope(shared: Agent, http: Http, name: str) -> None:
    """
    A missing field, an unknown session, wrong types: byte for byte the same answer.
    """
    op = ops.TABLE[name]
    for wrong in _malformed(op):
        body = json.dumps({"op": name, **wrong}).encode()
        over_http = _over_websocket(http, body) if op.stream else http.send(body=body).envelope

        assert over_http["ok"] is False
        assert over_http == exchange(shared, body)


@pytest.mark.parametrize("name", _OFFERED)
def test_well_formed_requests_get_the_same_kind_of_answer(
    shared: Agent, http: Http, name: str
) -> None:
    """
    The same request about two sessions that are alike has answers with the same code and keys.
    """
    op = ops.TABLE[name]
    sessions = [f"{name}-1", f"{name}-2"]
    if name != "new":
        for session in sessions:
            shared.new(session, "cat")
    asked = [json.dumps({"op": name, **_sample(op, session)}).encode() for session in sessions]

    over_http = _over_websocket(http, asked[0]) if op.stream else http.send(body=asked[0]).envelope

    assert over_http.get("code") != "internal"
    assert _shape(over_http) == _shape(exchange(shared, asked[1]))


@pytest.mark.parametrize("name", _WITHHELD)
def test_what_is_for_operators_is_not_offered(http: Http, name: str) -> None:
    """
    An op that is not for agents cannot be asked for, and is named nowhere.
    """
    assert http.ask(name).code == "not_offered"
    assert name not in {one["op"] for one in json.loads(http.send("/ops").body)}


def _over_websocket(http: Http, body: bytes) -> dict[str, Any]:
    with connect(f"ws://{http.host}/stream") as socket:
        socket.send(body)
        envelope: dict[str, Any] = json.loads(socket.recv(timeout=60))
        return envelope


def _malformed(op: Op) -> list[dict[str, Any]]:
    schema = request_schema(op)
    sample = _sample(op, "nobody")
    wrong: list[dict[str, Any]] = [{"id": 5}, {**sample, "v": 99}]
    if "id" in schema["properties"] and op.name != "new":
        wrong.append(sample)
    without = [[name for name in sample if name != field] for field in schema.get("required", [])]
    return [*wrong, *({name: sample[name] for name in names} for names in without)]


def _sample(op: Op, session: str) -> dict[str, Any]:
    """Return a request with what is required, and a limit for what would wait."""
    schema = request_schema(op)
    samples = {**_SAMPLES, "string": f"{session}-x"}
    sample: dict[str, Any] = {
        field: samples[schema["properties"][field].get("type", "string")]
        for field in schema.get("required", [])
    }
    if "id" in schema["properties"]:
        sample["id"] = session
    if "timeout_ms" in schema["properties"]:
        sample["timeout_ms"] = 100
    return sample


def _shape(envelope: dict[str, Any]) -> Any:
    if not envelope["ok"]:
        return envelope["code"], sorted(envelope["details"])
    data = envelope["data"].get("data")
    keys = sorted(data) if isinstance(data, dict) else type(data).__name__
    return envelope["data"]["type"], keys
