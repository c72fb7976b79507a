"""HTTP while processes die, end and are stopped."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

import pytest
from websockets.sync.client import connect

from support.agent import Agent, alive, ended, eventually, slay
from support.http import Answered, Http, gateway_pid, serving


@pytest.fixture
def http(agent: Agent) -> Iterator[Http]:
    """A server of a user of its own."""
    with serving(agent) as server:
        yield server


def test_status_names_the_gateway_and_its_addresses(agent: Agent, http: Http) -> None:
    """
    `status` says which process serves HTTP and where; without one it says null.
    """
    with serving(agent) as second:
        facts = agent.ask("status")["gateway"]
        assert alive(facts["pid"])
        assert facts["urls"] == sorted([http.url, second.url])
        assert second.url in agent.cli("status").stdout

    eventually(lambda: agent.ask("status")["gateway"]["urls"] == [http.url])


def test_ending_one_server_closes_its_address_only(agent: Agent, http: Http) -> None:
    """
    Two commands serve the same sessions; ending one of them leaves the other and the sessions.
    """
    agent.new("stays", "cat")
    with serving(agent) as other:
        assert other.ask("screen", id="stays").body == http.ask("screen", id="stays").body

    eventually(lambda: _refuses(other))
    assert http.ask("list").envelope["data"]["data"][0]["id"] == "stays"


def test_two_commands_may_want_the_same_address(agent: Agent, http: Http) -> None:
    """
    The address is served until the last one that wants it has ended, and is free afterwards.
    """
    with serving(agent, "--addr", http.host) as again:
        assert again.url == http.url
        http.process.terminate()
        http.process.wait(timeout=60)
        assert again.ask("list").status == 200
    eventually(lambda: _refuses(again))

    with serving(agent, "--addr", http.host) as anew:
        assert anew.ask("list").status == 200


def test_an_address_that_is_taken_is_named(agent: Agent) -> None:
    """
    Another program's port is an error with the address and the remedy.
    """
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = agent.cli("serve-http", "--addr", place)

    assert ran.returncode == 1
    assert place in ran.stderr
    assert "--addr" in ran.stderr


def test_stop_ends_the_server_and_leaves_no_process(agent: Agent, http: Http) -> None:
    """
    `stop` ends `serve-http` with a word, and the gateway too.
    """
    agent.new("one", "cat")
    pid = gateway_pid(agent)

    assert agent.cli("stop").returncode == 0

    assert http.process.wait(timeout=60) == 0
    ended(pid)
    assert agent.processes() == []


def test_stop_ends_a_gateway_that_hangs(agent: Agent, http: Http) -> None:
    """
    A gateway that does not answer is ended like everything else below the keeper.
    """
    pid = gateway_pid(agent)
    os.kill(pid, signal.SIGSTOP)

    assert agent.cli("stop").returncode == 0

    assert http.process.wait(timeout=60) == 0
    ended(pid)


def test_a_killed_gateway_is_replaced_at_the_same_address(agent: Agent, http: Http) -> None:
    """
    `kill -9` of the gateway costs nothing but the requests it was answering.
    """
    agent.new("lives", "cat")
    for _ in range(3):
        before = gateway_pid(agent)
        slay(before)
        eventually(lambda: _serves(http))
        assert http.ask("list").envelope["data"]["data"][0]["id"] == "lives"
        assert gateway_pid(agent) != before
    assert http.process.poll() is None


def test_a_run_survives_the_death_of_the_daemon(agent: Agent, http: Http) -> None:
    """
    `kill -9` of the daemon during a `run` over HTTP: the caller gets the answer from the next one.
    """
    agent.new("work")
    answers: list[Answered] = []
    fields: dict[str, Any] = {"id": "work", "code": _waits_for(agent), "timeout_ms": 60_000}
    asked = threading.Thread(target=lambda: answers.append(http.ask("run", **fields)))
    asked.start()
    eventually((agent.home / "begun").exists)

    slay(agent.pid_of("daemon"))
    (agent.home / "go").touch()
    asked.join(timeout=60)

    assert answers[0].status == 200
    assert answers[0].envelope["data"]["data"]["output"] == "done"
    assert http.ask("list").status == 200


def _waits_for(agent: Agent) -> str:
    home = agent.home
    return f"touch {home}/begun; until [ -e {home}/go ]; do sleep 0.05; done; echo done"


@pytest.mark.parametrize("victims", [("daemon", "keeper"), ("keeper",)])
def test_the_address_survives_the_death_of_others(
    agent: Agent, http: Http, victims: tuple[str, ...]
) -> None:
    """
    Whoever dies besides the gateway, the same address is served again.
    """
    agent.new("lives", "cat")
    slay(*[agent.pid_of(role) for role in victims])

    eventually(lambda: http.process.poll() is not None or _serves(http))
    assert http.process.poll() is None
    assert http.ask("screen", id="lives").status == 200


def test_events_come_over_http(agent: Agent, http: Http) -> None:
    """
    /watch sends what `watch` does, as server-sent events.
    """
    agent.new("seen", "cat")
    with http.events("/watch?id=seen&event=input") as events:
        agent.ask("send", id="seen", text="hello")
        event = next(events)

    assert (event["event"], event["id"]) == ("input", "seen")


def test_a_websocket_carries_watch(agent: Agent, http: Http) -> None:
    """
    A WebSocket carries the lines of `watch` after the envelope.
    """
    agent.new("seen", "cat")
    with connect(f"ws://{http.host}/stream") as socket:
        socket.send(json.dumps({"op": "watch", "id": "seen", "events": ["input"]}))
        assert json.loads(socket.recv())["data"]["type"] == "watching"
        agent.ask("send", id="seen", text="hello")
        assert json.loads(socket.recv())["event"] == "input"


def test_a_websocket_carries_attach_both_ways(agent: Agent, http: Http) -> None:
    """
    What is typed into a WebSocket reaches the program, and its output comes back.
    """
    agent.new("typed")
    with connect(f"ws://{http.host}/stream") as socket:
        socket.send(json.dumps({"op": "attach", "id": "typed"}))
        assert json.loads(socket.recv())["data"]["type"] == "attached"
        socket.send(b"echo typed-$((1+1))\r")
        seen: Any = b""
        while b"typed-2" not in seen:
            seen += socket.recv(timeout=60)


def test_serve_can_serve_http_too(agent: Agent) -> None:
    """
    `serve --http` says both addresses, serves as long as it lives, and ends everything.
    """
    process = agent.start("serve", "--http", "127.0.0.1:0")
    assert process.stdout is not None
    lines = [process.stdout.readline().split()[-1] for _ in range(2)]
    http = Http(url=lines[1], token_file=str(agent.home / "http-token"), process=process)

    assert lines[0] == agent.layout.socket
    assert http.ask("list").status == 200
    slay(gateway_pid(agent))
    eventually(lambda: _serves(http))
    assert agent.cli("stop").returncode == 0
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert agent.processes() == []


def test_serve_ends_if_it_cannot_serve_http(agent: Agent) -> None:
    """
    A daemon that was asked for HTTP and cannot have it says why, and leaves nothing.
    """
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = agent.cli("serve", "--http", place)

    assert ran.returncode == 1
    assert place in ran.stderr
    eventually(lambda: agent.processes() == [])


def test_a_warm_gateway_starts_with_the_daemon(agent: Agent) -> None:
    """
    With `gateway.warm` it is there before anybody asks for it.
    """
    (agent.home / "config.toml").write_text("[gateway]\nwarm = true\n")
    agent.connect().close()

    facts = agent.ask("status")["gateway"]

    assert alive(facts["pid"])
    assert facts["urls"] == []


def test_a_mistake_in_the_configuration_is_told(agent: Agent) -> None:
    """
    The daemon starts all the same; what needs the gateway names the file and the key.
    """
    (agent.home / "config.toml").write_text("[gateway]\nwrm = true\n")

    ran = agent.cli("serve-http", "--addr", "127.0.0.1:0")

    assert ran.returncode == 1
    assert "config.toml" in ran.stderr
    assert "wrm" in ran.stderr
    assert agent.ask("status")["gateway"] is None


def _refuses(http: Http) -> bool:
    try:
        http.connect().close()
    except OSError:
        return True
    return False


def _serves(http: Http) -> bool:
    """Whether a request is answered; one that comes in the last moment of a gateway is refused."""
    try:
        answer = http.ask("list")
    except (OSError, HTTPException):
        return False
    assert answer.status in {200, 503}, answer.body
    return answer.status == HTTPStatus.OK
