"""Requests to the daemon: one JSON object out, one back."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any, Self

from agent_pty.core.layout import Layout
from agent_pty.errors import BadRequest, DaemonUnreachable, unwrapped

PROTOCOL = 1


class Connection:
    """An open connection; use it as a context manager. One request at a time."""

    def __init__(self, path: str, *, patience: float | None = None) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(patience)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise DaemonUnreachable(
                f"connect to {path}: {error.strerror or error}", socket=path
            ) from error
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up; a wait that runs is cancelled by that."""
        self._file.close()
        self._socket.close()

    def exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the whole envelope, of success or failure."""
        try:
            line = json.dumps({**request, "v": PROTOCOL}, ensure_ascii=False).encode() + b"\n"
        except UnicodeEncodeError as error:
            raise BadRequest("text, names and paths must be valid UTF-8") from error
        return _envelope(self.answer_to(line))

    def answer_to(self, line: bytes) -> bytes:
        """Send the line of a request and return the line of its answer."""
        # Refused in the middle: the answer, if there is one, says why.
        with contextlib.suppress(OSError):
            self._socket.sendall(line)
        try:
            answer = self._file.readline()
        except TimeoutError as error:
            raise DaemonUnreachable("the daemon takes requests but does not answer") from error
        except ConnectionError:  # it died with our request unread
            answer = b""
        if not answer:
            raise DaemonUnreachable("the daemon closed the connection without an answer")
        return answer

    def ask(self, op: str, **fields: Any) -> Any:
        """Return the content of the answer, or raise the error it carries."""
        given = {name: value for name, value in fields.items() if value is not None}
        envelope = self.exchange({"op": op, **given})
        data = unwrapped(envelope).get("data")
        if envelope.get("replayed") and isinstance(data, dict):
            return {**data, "replayed": True}
        return data

    def stream(self, op: str, **fields: Any) -> tuple[socket.socket, Any]:
        """Open a stream; the socket carries it from now on. Also return what the answer says.

        The answer is read byte by byte: what follows it belongs to the stream.
        """
        given = {name: value for name, value in fields.items() if value is not None}
        self._socket.sendall(json.dumps({"op": op, **given, "v": PROTOCOL}).encode() + b"\n")
        answer = bytearray()
        while not answer.endswith(b"\n"):
            byte = self._socket.recv(1)
            if not byte:
                raise DaemonUnreachable("daemon closed before attach response")
            answer += byte
        return self._socket, unwrapped(_envelope(bytes(answer))).get("data")

    def until_closed(self) -> None:
        """Return when the daemon hangs up."""
        while self._file.read(1 << 16):
            pass


def _envelope(answer: bytes) -> dict[str, Any]:
    try:
        envelope = json.loads(answer)
    except ValueError:
        envelope = None
    if not isinstance(envelope, dict) or "ok" not in envelope:
        raise DaemonUnreachable("what answers does not speak our protocol")
    return envelope


def connect(layout: Layout, *, start: bool = True, patience: float | None = None) -> Connection:
    """Connect to the daemon of a home, and start it first if it is not there.

    With *patience*, a daemon that does not answer for so many seconds counts as unreachable.
    """
    try:
        return Connection(layout.socket, patience=patience)
    except DaemonUnreachable:
        if not start:
            raise
    from agent_pty.client.start import start_daemon  # noqa: PLC0415  rarely needed, 4 ms

    start_daemon(layout)
    return Connection(layout.socket, patience=patience)
