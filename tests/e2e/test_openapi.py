"""The OpenAPI document says all that is answered; schemathesis looks for what it does not say."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
import requests
import schemathesis
from hypothesis import Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from agent_pty import ops
from support.agent import Agent
from support.http import Http, serving
from support.op_requests import malformed, well_formed

_CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
# `shutdown` is not offered, and a stream has no answer that ends.
_ANSWERED = sorted(n for n, op in ops.TABLE.items() if op.offered("http") and not op.stream)

Document = dict[str, Any]


@pytest.fixture(scope="module")
def http(shared: Agent) -> Iterator[Http]:
    """A server that the tests of this file share."""
    with serving(shared) as server:
        yield server


@pytest.fixture(scope="module")
def document(http: Http) -> Document:
    """The document as it is served."""
    found: Document = json.loads(http.send("/openapi.json").body)
    return found


@pytest.mark.parametrize("name", _ANSWERED)
def test_trial_02_schemathesis_finds_nothing(
    shared: Agent, http: Http, document: Document, name: str
) -> None:
    """
    Requests made from the document, right and wrong, get no 5xx and no undocumented answer.
    """
    session = f"fuzzed-{name}"
    shared.new(session, "cat")
    operation = schemathesis.openapi.from_dict(_about(document, name, session))["/request"]["POST"]

    with requests.Session() as connection:
        for mode in schemathesis.GenerationMode:

            @seed(1)
            @settings(max_examples=5, database=None, phases=[Phase.generate])
            @given(operation.as_strategy(generation_mode=mode))
            def ask(case: schemathesis.Case[Any]) -> None:
                answer = case.call(base_url=http.url, session=connection, timeout=60)
                case.validate_response(answer, checks=_CHECKS)

            ask()


def _about(document: Document, name: str, session: str) -> Document:
    """Return a document with one op alone, about one session, that waits for a moment at most."""
    found = copy.deepcopy(document)
    found["paths"] = {"/request": found["paths"]["/request"]}
    body = found["paths"]["/request"]["post"]["requestBody"]["content"]["application/json"]
    asked = next(one for one in body["schema"]["oneOf"] if _op(one) == name)
    if "id" in asked["properties"]:
        asked["properties"]["id"] = {"enum": [session]}
    if "timeout_ms" in asked["properties"]:
        asked["properties"]["timeout_ms"]["maximum"] = 50
        asked["required"].append("timeout_ms")
    body["schema"] = asked
    return found


@pytest.mark.parametrize("name", _ANSWERED)
def test_trial_02_an_answer_has_the_schema_of_its_op(
    shared: Agent, http: Http, document: Document, name: str
) -> None:
    """
    What each op answers, and each error, is as the document has it.
    """
    op = ops.TABLE[name]
    described = document["paths"]["/request"]["post"]["responses"]
    session = f"described-{name}"
    if "id" in well_formed(op, session) and name not in {"new", "exec"}:
        shared.new(session)

    asked = [well_formed(op, session), *malformed(op).values()]
    for answer in (http.ask(name, None, **fields) for fields in asked):
        schema = _content(described[str(answer.status)])
        if answer.status == 200:
            schema = {"anyOf": [one for one in schema["anyOf"] if _answered(one) == op.answer]}
        whole = {**schema, "components": document["components"]}
        jsonschema_rs.validate(whole, answer.envelope)


@pytest.mark.parametrize(
    ("query", "status"),
    [("?id=nobody", 409), ("?id=nobody&since=x", 409), ("?since=1", 400)],
)
def test_trial_02_a_refused_stream_is_documented(
    http: Http, document: Document, query: str, status: int
) -> None:
    """
    /watch refuses with an envelope that the document knows.
    """
    described = document["paths"]["/watch"]["get"]["responses"]

    answer = http.send(f"/watch{query}")

    assert answer.status == status
    schema = {**_content(described[str(status)]), "components": document["components"]}
    jsonschema_rs.validate(schema, answer.envelope)
    assert list(described["200"]["content"]) == ["text/event-stream"]


@pytest.mark.parametrize(
    "status", ["400", "401", "403", "404", "409", "413", "421", "431", "500", "503"]
)
def test_trial_02_every_refusal_is_documented(document: Document, status: str) -> None:
    """
    Each status that the server has a line for is in the document, for each path.
    """
    for path in document["paths"].values():
        for operation in path.values():
            assert "Failure" in json.dumps(operation["responses"][status])


def _content(described: Document) -> Document:
    schema: Document = described["content"]["application/json"]["schema"]
    return schema


def _op(request: Document) -> str:
    return str(request["properties"]["op"]["const"])


def _answered(answer: Document) -> str:
    return str(answer["properties"]["data"]["properties"]["type"]["const"])
