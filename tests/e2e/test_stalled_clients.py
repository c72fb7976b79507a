"""Clients that stop reading: others are served, memory is bounded, and what is lost is told."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from agent_pty.core.safe import QUIET
from agent_pty.emulator import Emulator
from support.agent import Agent
from support.http import Http, gateway_pid, serving
from support.mcp_wire import McpWire, mcp_wire
from support.raw_socket import wire

LONG = 60_000
MEGABYTE = 1024 * 1024
FLOOD = 50 * MEGABYTE
WATCHERS = 200


@pytest.fixture(scope="module")
def http(shared: Agent) -> Iterator[Http]:
    """A server that the tests of this file share."""
    with serving(shared) as server:
        yield server


def memory(*pids: int) -> int:
    """Return the bytes of memory that processes have, shared pages counted in part."""
    rollups = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids)
    found = [re.search(r"^Pss: +(\d+)", one, re.MULTILINE) for one in rollups]
    return sum(int(one[1]) * 1024 for one in found if one is not None)


@contextlib.contextmanager
def stalled_events(http: Http, **fields: Any) -> Iterator[socket.socket]:
    """Open a stream of server-sent events, and read nothing but its first byte."""
    body = json.dumps(fields).encode()
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(LONG / 1000)
        sock.connect(http.address)
        head = f"POST /request HTTP/1.1\r\nHost: {http.host}\r\nContent-Length: {len(body)}\r\n\r\n"
        sock.sendall(head.encode() + body)
        assert sock.recv(1) == b"H"
        yield sock


def flood(agent: Agent, session: str, size: int) -> None:
    """Have a session write so much, and return when it has."""
    agent.ask("send", id=session, text=f"yes flooding | head -c {size}; echo; echo ov''er")
    agent.ask("wait", id=session, until="regex:^over$", timeout_ms=2 * LONG)


def fill(client: McpWire, others: Callable[[], None], most: int) -> int:
    """Ask and never read, until nothing more is taken while others are served; return how much."""
    asked = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n'
    os.set_blocking(client.stdin.fileno(), False)
    written, before, number, rest = 0, -1, 1, b""
    while written != before and written < most:
        before = written
        with contextlib.suppress(BlockingIOError):
            while written < most:
                number, rest = (number, rest) if rest else (number + 1, asked % number)
                count = os.write(client.stdin.fileno(), rest)
                rest = rest[count:]
                written += count
        for _ in range(5):
            others()
    return written


@pytest.mark.serial
def test_trial_04_stalled_clients_cost_others_nothing(shared: Agent, http: Http) -> None:
    """
    A WebSocket, server-sent events and an MCP client that do not read hold nobody up.

    While 50 MB pass them no process of ours grows by more than 64 MB; the WebSocket catches up.
    """
    shared.new("flood")
    shared.new("other", "cat")
    host, daemon, gateway = shared.pid_of("flood"), shared.pid_of("daemon"), gateway_pid(shared)

    with (
        connect(f"ws://{http.host}/stream", max_queue=1, max_size=None) as stalled,
        stalled_events(http, op="attach", id="flood"),
        stalled_events(http, op="watch"),
        mcp_wire(shared) as silent,
        mcp_wire(shared) as another,
    ):
        for one in (silent, another):
            one.greet()
        stalled.send(json.dumps({"op": "attach", "id": "flood", "history_bytes": 0}))
        stalled.recv(timeout=60)

        def others() -> None:
            assert http.ask("screen", id="other").status == 200
            another.call(1, "terminal.screen", id="other")
            assert another.answer()["id"] == 1
            assert shared.ask("screen", id="other")["rows"] == 24

        others()
        before = {pid: memory(pid) for pid in (host, daemon, gateway)}
        taken = fill(silent, others, MEGABYTE)
        flood(shared, "flood", FLOOD)
        others()
        grown = {pid: memory(pid) - before[pid] for pid in before}
        shared.ask("send", id="flood", text="clear; echo caught''-up")
        shared.ask("wait", id="flood", until="caught-up", timeout_ms=LONG)
        text = shared.ask("screen", id="flood")["text"]
        got, shown = bytearray(), Emulator(rows=24, cols=80)
        while shown.text() != text:
            piece = stalled.recv(timeout=60, decode=False)
            got += piece
            shown.feed(piece)

    assert taken < MEGABYTE
    assert max(grown.values()) < 64 * MEGABYTE, grown
    assert QUIET in got  # what it missed was repainted
    assert len(got) < FLOOD / 2


@pytest.mark.serial
def test_trial_04_200_watchers_of_a_flood_are_bounded(shared: Agent) -> None:
    """
    A hundred attached and a hundred watching clients that do not read cost at most 0.5 MB each.
    """
    shared.new("crowded")
    host, daemon = shared.pid_of("crowded"), shared.pid_of("daemon")
    flood(shared, "crowded", MEGABYTE)
    before = memory(host, daemon)

    with contextlib.ExitStack() as stack:
        for number in range(WATCHERS):
            crowd = stack.enter_context(wire(shared))
            crowd.post("attach" if number % 2 else "watch", id="crowded")
            assert crowd.answer()["ok"] is True
        flood(shared, "crowded", 10 * MEGABYTE)
        grown = memory(host, daemon) - before

        assert shared.info("crowded")["attached"] == WATCHERS // 2
    assert grown < WATCHERS * MEGABYTE / 2


@pytest.mark.parametrize("surface", ["events", "websocket"])
def test_trial_04_a_watcher_is_told_how_many_events_it_missed(
    shared: Agent, http: Http, surface: str
) -> None:
    """
    What a slow watcher got and what it is said to have missed make up the whole.
    """
    session, sent, padding = f"chatty-{surface}", 8000, "x" * 2000
    shared.new(session)
    asked = {"op": "watch", "id": session, "events": ["title"]}
    data: Iterator[bytes]
    with contextlib.ExitStack() as stack:
        if surface == "events":
            sock = stack.enter_context(stalled_events(http, **asked))
            lines = stack.enter_context(sock.makefile("rb"))
            data = (one[6:] for one in iter(lines.readline, b"") if one.startswith(b"data: "))
        else:
            url = f"ws://{http.host}/stream"
            message = stack.enter_context(connect(url, max_queue=1, max_size=None))
            message.send(json.dumps(asked))
            message.recv(timeout=60)
            data = _lines(iter(lambda: message.recv(timeout=60, decode=False), b""))
        loop = rf"for n in {{1..{sent}}}; do printf '\e]2;%d {padding}\a' $n; done"
        shared.ask("send", id=session, text=f"{loop}; echo do''ne")
        shared.ask("wait", id=session, until="regex:^done$", timeout_ms=2 * LONG)

        numbers: list[int] = []
        missed = 0
        while len(numbers) + missed < sent:
            event = json.loads(next(data))
            if event["event"] == "lagged":
                missed += event["missed"]
            else:
                numbers.append(int(event["title"].split()[0]))

    assert missed > 0
    assert len(numbers) + missed == sent
    assert numbers == sorted(set(numbers))


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Cut what comes in pieces into lines."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
