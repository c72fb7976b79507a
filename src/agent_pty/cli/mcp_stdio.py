"""`mcp-stdio`: the wire between an MCP client and the gateway, line by line."""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from typing import Any

from agent_pty.cli.command import Invocation, client_command
from agent_pty.cli.mcp_standing import Standing
from agent_pty.cli.policy_option import POLICY, offer_policy
from agent_pty.client.directory import here
from agent_pty.core.command import Command, part

_CHUNK = 1 << 16
# As for every request (`LARGEST_REQUEST` of the ops, which take long to import).
LARGEST_MESSAGE = 8 * 1024 * 1024
# Gateways that go away one after the other, before they have said anything.
_MOST_FAILURES = 10


def mcp_stdio(call: Invocation) -> int:
    """Carry MCP messages; a gateway or daemon that dies is followed by the next one."""
    offer_policy(call.layout, call.options.policy)
    wire = Wire(call)
    for _ in range(_MOST_FAILURES):
        if wire.carry():
            return 0
    sys.stderr.write("error: the gateway goes away again and again: see agent-pty doctor\n")
    return 1


class Wire:
    """Standard input to the gateway, and back.

    A client does not notice that a gateway or a daemon died: the next one is greeted as the first
    one was, and is asked again what has no answer. The client's name makes that safe.
    """

    def __init__(self, call: Invocation) -> None:
        self._call = call
        self._client = os.urandom(8).hex()
        self._ended = False  # our input
        self._rest = {"in": b"", "out": b""}
        self._standing = Standing()
        self._gateways = 0
        self._unanswered: dict[object, bytes] = {}
        self._unheard: set[object] = set()  # answers that the client has got before

    def carry(self) -> bool:
        """Carry until our client or the gateway leaves; True if it was our client."""
        self._rest["out"] = b""
        standing = self._standing.lines
        self._unheard = {_id(line) for line in standing} - {None}
        with self._call.connect(start=True) as connection:
            try:
                stream, _ = connection.stream(
                    "mcp",
                    tools=self._call.options.tools,
                    client=self._client,
                    cwd=here(),
                    environment=_environment(),
                )
                asked = [line for line in self._unanswered.values() if line not in standing]
                stream.sendall(b"".join([*standing, *asked]))
                self._tell_missed()
                return self._relay(stream)
            except ConnectionError:
                return False

    def _tell_missed(self) -> None:
        self._gateways += 1
        for line in self._standing.missed() if self._gateways > 1 else ():
            _write(sys.stdout.fileno(), line)

    def _relay(self, stream: socket.socket) -> bool:
        stdin, stdout = sys.stdin.fileno(), sys.stdout.fileno()
        if self._ended:
            stream.shutdown(socket.SHUT_WR)
        while True:
            ready = self._ready(stream.fileno(), stdin, stdout)
            if stdout in ready:
                return True  # our client died: nobody reads what we would wait for
            if stdin in ready:
                self._send(os.read(stdin, _CHUNK), stream, stdout)
            if stream.fileno() in ready:
                data = _received(stream)
                if not data:
                    return self._ended and not self._unanswered
                for line in self._lines("out", data):
                    if self._is_new(line):
                        _write(stdout, line)

    def _send(self, data: bytes, stream: socket.socket, stdout: int) -> None:
        """Pass on what our client sent; nothing: it sends no more."""
        self._ended = not data
        lines = self._lines("in", data)
        for line in lines:
            if len(line) > LARGEST_MESSAGE:
                _write(stdout, _too_long(_id(line)))
            else:
                self._note(line)
        # All are noted before the first is sent: a gateway that is gone takes none of them.
        stream.sendall(b"".join(line for line in lines if len(line) <= LARGEST_MESSAGE))
        if self._ended:
            stream.shutdown(socket.SHUT_WR)

    def _ready(self, stream: int, stdin: int, stdout: int) -> set[int]:
        """Return what can be read; standard output is in it when nobody reads that any more."""
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        if self._ended:
            poll.register(stdout, 0)  # errors and hang-ups are always reported
        else:
            poll.register(stdin, select.POLLIN)
        return {fd for fd, _ in poll.poll()}

    def _lines(self, way: str, data: bytes) -> list[bytes]:
        """Return whole lines; at the end of the input also one that is not finished."""
        *whole, self._rest[way] = (self._rest[way] + data).split(b"\n")
        if not data and self._rest[way]:
            whole, self._rest[way] = [*whole, self._rest[way]], b""
        return [line + b"\n" for line in whole]

    def _note(self, line: bytes) -> None:
        """Remember what the next gateway must be told."""
        message = _message(line)
        self._standing.note(message, line)
        if "method" in message and "id" in message:
            self._unanswered[_id(line)] = line
        if message.get("method") == "notifications/cancelled":
            self._cancelled(message.get("params"))

    def _cancelled(self, params: object) -> None:
        """Expect no answer to a request, and do not repeat it."""
        number = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(number, str | int):
            self._unanswered.pop(number, None)

    def _is_new(self, line: bytes) -> bool:
        """Whether our client must see a line: it has heard the answer to its greeting once."""
        message = _message(line)
        if "method" in message or "id" not in message:
            return True
        number = _id(line)
        repeated = number in self._unheard and number not in self._unanswered
        self._unheard.discard(number)
        self._unanswered.pop(number, None)
        return not repeated


def _environment() -> dict[str, str]:
    """Return our environment, without what is no text and so cannot be sent."""
    return {name: value for name, value in os.environ.items() if _is_text(name + value)}


def _is_text(value: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in value)


def _message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _id(line: bytes) -> object:
    number = _message(line).get("id")
    return number if isinstance(number, str | int) else None


def _too_long(number: object) -> bytes:
    """Return the refusal of a message; the gateway could not know whose it is."""
    text = f"Invalid Request: a message may have at most {LARGEST_MESSAGE} bytes"
    error = {"code": -32600, "message": text}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode() + b"\n"


def _received(stream: socket.socket) -> bytes:
    try:
        return stream.recv(_CHUNK)
    except ConnectionError:
        return b""


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


COMMANDS = (
    client_command(
        "mcp-stdio",
        "Speak MCP on standard input and output, for clients such as Claude Code.\n\n"
        "The sessions are those of every other command and outlive the client.",
        Command(
            parts=(
                part(
                    "tools",
                    "--tools",
                    choices=("terminal", "pty", "all"),
                    default="all",
                    help="which tools to offer (default: all)",
                ),
                part("log_dir", "--log-dir", metavar="DIR", help="as for serve"),
                POLICY,
            ),
            examples=("agent-pty mcp-stdio", "agent-pty mcp-stdio --tools terminal"),
        ),
    ),
)
