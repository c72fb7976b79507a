"""Ours by MCP, HTTP and Python: what a program of an agent speaks that stays.

Nothing is started before a row needs it: a gateway would cost the other rows memory.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import time
from collections.abc import Iterator
from functools import cached_property
from typing import Self
from urllib.parse import urlsplit

from agent_pty import Client
from bench.clock import timed
from bench.contestant import Contestant, Measure
from bench.mcp_client import McpServer, ready, schema_bytes
from bench.ours import Ours, make_ready, ours
from bench.place import PROMPT
from bench.process import slay


class OurSurfaces:
    """One client of each kind, with a shell."""

    def __init__(self, us: Ours) -> None:
        self._us = us
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def contestant(self) -> Contestant:
        """Return what it can do."""
        return Contestant(name="ours", timed=self._timed(), schema=self._schema)

    def _timed(self) -> dict[str, Measure]:
        return {
            "mcp_ready": self._ready,
            "mcp_cold": self._ready_cold,
            "mcp_exec": self._exec,
            "mcp_send": self._send,
            "http_screen": self._screen,
            "python_run": self._run,
        }

    @cached_property
    def _mcp(self) -> McpServer:
        return self._stack.enter_context(McpServer(_stdio(self._us), env=self._us.env))

    def _ready(self) -> float:
        """Start a further client; the gateway runs for the one that we have."""
        assert self._mcp
        return ready(_stdio(self._us), env=self._us.env)

    @cached_property
    def _without_gateway(self) -> Ours:
        return self._stack.enter_context(ours(self._us.place, self._us.programs))

    def _ready_cold(self) -> float:
        """Start a client where a daemon runs, but no gateway."""
        us = self._without_gateway
        taken = ready(_stdio(us), env=us.env)
        with us.connect() as connection:
            slay([connection.ask("status")["gateway"]["pid"]])
        return taken

    def _schema(self) -> int:
        """Return the size of the six; the ten `terminal.*` are left out by `--tools pty`."""
        with McpServer([*_stdio(self._us), "--tools", "pty"], env=self._us.env) as server:
            return schema_bytes(server.tools)

    def _exec(self) -> float:
        start = time.perf_counter()
        seen = self._mcp.call("pty_exec", command="echo", args=["hello"])
        taken = time.perf_counter() - start
        assert seen.startswith("hello\n"), seen
        return taken

    @cached_property
    def _mcp_shell(self) -> str:
        argv = {"command": "bash", "args": ["--norc", "--noprofile"]}
        started = self._mcp.call("pty_start", **argv)
        name = started.removeprefix("started ").partition(":")[0]
        self._mcp.call("pty_read", id=name, until=PROMPT, wait_ms=30_000)
        return name

    def _send(self) -> float:
        number, name = self._us.place.number(), self._mcp_shell
        line, answer = f"echo t-$(({number}+1))", f"t-{number + 1}"
        start = time.perf_counter()
        seen = self._mcp.call(
            "pty_send", id=name, input=line, submit=True, until=answer, wait_ms=30_000
        )
        taken = time.perf_counter() - start
        assert answer in seen, seen
        return taken

    @cached_property
    def _http(self) -> http.client.HTTPConnection:
        url = urlsplit(self._stack.enter_context(_serving(self._us)))
        connection = http.client.HTTPConnection(url.hostname or "", url.port)
        return self._stack.enter_context(contextlib.closing(connection))

    @cached_property
    def _shell(self) -> str:
        name = self._us.place.name()
        with self._us.connect() as connection:
            make_ready(connection, name)
        return name

    def _screen(self) -> float:
        connection, body = self._http, json.dumps({"op": "screen", "id": self._shell})
        start = time.perf_counter()
        connection.request("POST", "/request", body)
        answer = connection.getresponse().read()
        taken = time.perf_counter() - start
        assert json.loads(answer)["ok"], answer
        return taken

    @cached_property
    def _python(self) -> Client:
        home = self._us.env["AGENT_PTY_HOME"]
        return self._stack.enter_context(Client(home=home, start=False))

    def _run(self) -> float:
        shell = self._python.session(self._shell)
        return timed(lambda: _expect_hello(shell.run("echo hello").output))


def _expect_hello(output: str) -> None:
    assert output == "hello", output


def _stdio(us: Ours) -> list[str]:
    return [os.path.join(us.programs, "agent-pty"), "mcp-stdio"]


@contextlib.contextmanager
def _serving(us: Ours) -> Iterator[str]:
    """Run `serve-http` at a free port and give its address."""
    argv = [os.path.join(us.programs, "agent-pty"), "serve-http", "--addr", "127.0.0.1:0", "--json"]
    process = subprocess.Popen(argv, env=us.env, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield str(json.loads(process.stdout.readline())["url"])
    finally:
        process.terminate()
        process.communicate()
