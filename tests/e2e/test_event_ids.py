"""Server-sent events have numbers, and a client that lost its connection continues after one."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.agent import Agent
from support.http import Http, serving


@pytest.fixture(scope="module")
def http_server(shared: Agent) -> Iterator[Http]:
    """A server that the tests of this file share."""
    with serving(shared) as server:
        yield server


@contextlib.contextmanager
def events(server: Http, path: str, last: str | None = None) -> Iterator[Iterator[Any]]:
    """Open a stream as a browser does; give the id and the data of each event."""
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", path, headers={} if last is None else {"Last-Event-ID": last})
        answer = connection.getresponse()
        assert answer.status == http.client.OK, answer.read()
        yield _events(iter(answer.readline, b""))


def _events(lines: Iterator[bytes]) -> Iterator[tuple[int | None, dict[str, Any]]]:
    number = None
    for line in lines:
        name, _, value = line.rstrip(b"\n").partition(b": ")
        if name == b"id":
            number = int(value)
        elif name == b"data":
            yield number, json.loads(value)
            number = None


def told(agent: Agent, session: str, *words: str) -> None:
    """Make an event for each word."""
    for word in words:
        agent.ask("notify", id=session, message=word)


def test_trial_05_an_event_has_its_number_as_id(shared: Agent, http_server: Http) -> None:
    """
    The `id` of a server-sent event is the `seq` of what it carries, on both paths.
    """
    shared.new("numbered", "cat")
    asked = b'{"op":"watch","id":"numbered","events":["notify"],"since":0}'
    told(shared, "numbered", "one", "two")

    with events(http_server, "/watch?id=numbered&event=notify&since=0") as found:
        seen = [next(found), next(found)]
    posted = http_server.connect()
    with posted, posted.makefile("rb") as lines:
        head = f"POST /request HTTP/1.1\r\nHost: {http_server.host}\r\n"
        posted.sendall(f"{head}Content-Length: {len(asked)}\r\n\r\n".encode() + asked)
        also = next(_events(iter(lines.readline, b"")))

    assert [number for number, _ in seen] == [event["seq"] for _, event in seen]
    assert seen[0][1]["message"] == "one"
    assert also == seen[0]


@pytest.mark.parametrize("query", ["", "&since=0"])
def test_trial_05_a_client_that_lost_its_connection_continues(
    shared: Agent, http_server: Http, query: str
) -> None:
    """
    The number in `Last-Event-ID` counts more than that of the address, which is the first one's.
    """
    session = f"resumed-{len(query)}"
    shared.new(session, "cat")
    path = f"/watch?id={session}&event=notify{query}"
    told(shared, session, "one", "two", "three")
    with events(http_server, f"/watch?id={session}&event=notify&since=0") as found:
        next(found)
        number, second = next(found)
    assert second["message"] == "two"

    with events(http_server, path, str(number)) as found:
        _, third = next(found)

    assert third["message"] == "three"


def test_trial_05_what_cannot_be_continued_says_so(shared: Agent, http_server: Http) -> None:
    """
    Of all sessions together there is no last number: the first event says that some are missing.
    """
    shared.new("any", "cat")

    with events(http_server, "/watch?event=notify", "7") as found:
        first = next(found)
        told(shared, "any", "later")
        _, second = next(found)

    assert first == (None, {"event": "lagged", "missed": None})
    assert second["message"] == "later"


def test_trial_05_a_last_event_that_is_no_number_is_refused(
    shared: Agent, http_server: Http
) -> None:
    """
    What no server has sent as a number is a bad request, not the beginning.
    """
    shared.new("wrong", "cat")

    answer = http_server.send("/watch?id=wrong", headers={"Last-Event-ID": "x"})

    assert (answer.status, answer.code) == (400, "bad_request")
