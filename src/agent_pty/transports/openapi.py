"""The OpenAPI document and the list of ops, from the op table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_type_hints

import msgspec

from agent_pty import __version__, ops
from agent_pty.ops.op import Op, Surface
from agent_pty.ops.schema import request_schema, summary

_REFERENCE = "#/components/schemas/{name}"
_REFUSALS = {
    "400": "the request cannot be read",
    "401": "the caller must show the token",
    "403": "a page of another site sent it",
    "404": "nothing else is served",
    "409": "it could not be done: `code` says why",
    "413": "the request is too large",
    "421": "this server has another name",
    "431": "the headers are too large",
    "500": "a mistake of ours; the log has it",
    "503": "too many connections, or this server is being closed: ask again",
}


def table(surface: Surface) -> list[Op]:
    """Return the ops that are offered on a surface."""
    return [op for op in ops.TABLE.values() if op.offered(surface)]


def offered() -> list[dict[str, Any]]:
    """Return every op with its fields, for callers who look before they ask."""
    return [
        {
            "op": op.name,
            "summary": summary(op),
            "answer": op.answer,
            "stream": op.stream,
            "mutates": op.mutates,
            "schema": request_schema(op),
        }
        for op in table("http")
    ]


def description(url: str) -> dict[str, Any]:
    """Return the OpenAPI document of the server at *url*."""
    listed = table("http")
    results = [_result(op) for op in listed]
    types = [result for result in results if result is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    by_type = dict(zip(map(id, types), schemas, strict=True))
    answers = [
        _answer(op, by_type.get(id(result), {}))
        for op, result in zip(listed, results, strict=True)
        if not op.stream
    ]
    return {
        "openapi": "3.1.0",
        "info": {"title": "agent-pty", "version": __version__, "description": _ABOUT},
        "servers": [{"url": url}],
        "security": [{}, {"token": []}],
        "components": {
            "schemas": {**components, "Failure": _FAILURE},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "paths": _paths(listed, answers),
    }


def _paths(listed: Sequence[Op], answers: list[dict[str, Any]]) -> dict[str, Any]:
    asked = {"oneOf": [_request(op) for op in listed]}
    request = {
        "summary": "Ask for one op",
        "operationId": "request",
        "requestBody": {"required": True, "content": {"application/json": {"schema": asked}}},
        "responses": _responses({**_in_json({"anyOf": answers}), **_EVENTS}),
    }
    anything = _in_json({})
    return {
        "/request": {"post": request},
        "/ops": {"get": _get("List the ops and their fields", "ops", anything)},
        "/openapi.json": {"get": _get("Return this document", "openapi", anything)},
        "/": {"get": _get("Show this document to people", "page", {"text/html": {"schema": {}}})},
        "/watch": {"get": {**_get(_WATCH, "watch", _EVENTS), "parameters": _watch_parameters()}},
    }


def _watch_parameters() -> list[dict[str, Any]]:
    fields = request_schema(ops.find("watch"))["properties"]
    named = {"id": "id", "event": "events", "since": "since"}
    found = [{"name": name, "in": "query", "schema": fields[of]} for name, of in named.items()]
    return [*found, {"name": "Last-Event-ID", "in": "header", "schema": fields["since"]}]


def _get(text: str, name: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"summary": text, "operationId": name, "responses": _responses(content)}


def _in_json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _responses(content: dict[str, Any]) -> dict[str, Any]:
    refused = _in_json({"$ref": _REFERENCE.format(name="Failure")})
    return {
        "200": {"description": "done", "content": content},
        **{code: {"description": why, "content": refused} for code, why in _REFUSALS.items()},
    }


def _request(op: Op) -> dict[str, Any]:
    schema = request_schema(op)
    return {
        **schema,
        "description": summary(op),
        "properties": {"op": {"const": op.name}, **schema.get("properties", {})},
        "required": ["op", *schema.get("required", [])],
    }


def _answer(op: Op, data: dict[str, Any]) -> dict[str, Any]:
    inner = {"type": {"const": op.answer}, "data": data}
    return {
        "type": "object",
        "required": ["ok", "data", "error"],
        "properties": {
            "ok": {"const": True},
            "data": {"type": "object", "properties": inner, "required": ["type"]},
            "error": {"type": "null"},
        },
    }


def _result(op: Op) -> Any:
    """Return the type of an op's result; None for a stream."""
    return None if op.stream else get_type_hints(op.handler).get("return")


_ABOUT = (
    "Terminal sessions for agents: every request is one object to POST /request, the same as on "
    "the Unix socket. Streams (`watch`, `attach`) are answered with server-sent events, or carried "
    "by the WebSocket /stream: its first message is the request object, the envelope comes back as "
    "a text message, then the stream as binary messages; what the client sends goes to the "
    "stream. MCP clients are served at /mcp."
)
_WATCH = "Follow events: `watch` as server-sent events, for EventSource"
_EVENTS: dict[str, Any] = {"text/event-stream": {"schema": {"type": "string"}}}
_FAILURE = {
    "type": "object",
    "required": ["ok", "data", "error", "code", "details"],
    "properties": {
        "ok": {"const": False},
        "data": {"type": "null"},
        "error": {"type": "string"},
        "code": {"type": "string"},
        "details": {"type": "object"},
    },
}
