"""A user of the HTTP surface: `serve-http` as a process, and requests as they are on the wire."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.agent import Agent

_SECONDS = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def envelope(self) -> dict[str, Any]:
        """The body as an object."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def code(self) -> str | None:
        """The error's code; None if there is none."""
        return self.envelope.get("code")


@dataclass(frozen=True, kw_only=True)
class Http:
    """A served address. *process* is the command that wants it to be served."""

    url: str
    token_file: str
    process: subprocess.Popen[str]

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        parts = urlsplit(self.url)
        return str(parts.hostname), int(parts.port or 0)

    @property
    def host(self) -> str:
        """The value of the header `Host`."""
        return urlsplit(self.url).netloc

    @property
    def token(self) -> dict[str, str]:
        """The header that shows the token."""
        return {"Authorization": f"Bearer {Path(self.token_file).read_text().strip()}"}

    def send(
        self,
        path: str = "/request",
        body: bytes | None = None,
        *,
        method: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answered:
        """Send one request on a connection of its own."""
        connection = http.client.HTTPConnection(*self.address, timeout=_SECONDS)
        with contextlib.closing(connection):
            method = method or ("GET" if body is None else "POST")
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answered(status=answer.status, headers=names, body=answer.read())

    def ask(self, op: str, headers: dict[str, str] | None = None, **fields: Any) -> Answered:
        """Ask for one op."""
        return self.send(body=json.dumps({"op": op, **fields}).encode(), headers=headers)

    def connect(self) -> socket.socket:
        """Return a bare connection."""
        return socket.create_connection(self.address, timeout=_SECONDS)

    def raw(self, data: bytes) -> bytes:
        """Send bytes and return all that comes until the server hangs up."""
        with self.connect() as sock:
            with contextlib.suppress(OSError):  # refused in the middle
                sock.sendall(data)
            found = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := sock.recv(65536):
                    found += piece
            return found

    @contextlib.contextmanager
    def events(self, path: str, body: bytes | None = None) -> Iterator[Iterator[Any]]:
        """Open a stream of server-sent events; give the decoded data of each."""
        connection = http.client.HTTPConnection(*self.address, timeout=_SECONDS)
        with contextlib.closing(connection):
            connection.request("GET" if body is None else "POST", path, body)
            answer = connection.getresponse()
            assert answer.status == http.client.OK, answer.read()
            yield (
                json.loads(line.removeprefix(b"data: "))
                for line in iter(answer.readline, b"")
                if line.startswith(b"data: ")
            )


@contextlib.contextmanager
def serving(agent: Agent, *words: str) -> Iterator[Http]:
    """Run `serve-http` at a free port, and end it afterwards."""
    words = words or ("--addr", "127.0.0.1:0")
    process = agent.start("serve-http", *words, "--json")
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
        told = json.loads(line)
        yield Http(url=told["url"], token_file=told["token_file"], process=process)
    finally:
        process.terminate()
        process.communicate(timeout=_SECONDS)


def gateway_pid(agent: Agent) -> int:
    """Return the gateway's process."""
    return int(agent.ask("status")["gateway"]["pid"])


def as_another_user(url: str, uid: int = 65534) -> Answered:
    """Ask for the list of sessions as another user; only root can."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setuid(uid)
            parts = urlsplit(url)
            connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=20)
            connection.request("POST", "/request", b'{"op":"list"}')
            answer = connection.getresponse()
            os.write(write, json.dumps([answer.status, answer.read().decode()]).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        status, body = json.loads(file.read())
    os.waitpid(pid, 0)
    return Answered(status=status, headers={}, body=body.encode())
