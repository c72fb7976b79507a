"""Requests over a real socket; the test is the daemon.

A unix socket keeps what is written until somebody reads it. So the daemon's answer is written
before the client asks, and no thread is needed.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from agent_pty.client.connection import PROTOCOL, Connection, connect
from agent_pty.core.layout import Layout
from agent_pty.errors import (
    AgentPtyError,
    BadRequest,
    Busy,
    CellActive,
    DaemonUnreachable,
    HostLost,
    Internal,
    KeyReused,
    SessionEnded,
    SessionExists,
    TooLarge,
    UnknownCell,
    UnknownOp,
    UnknownSession,
    VersionMismatch,
    WaitTimeout,
)

_SECONDS = 30.0


class Daemon:
    """Listens at *path*; `meets` gives a connection to it and takes the other end."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen()
        self._listener.settimeout(_SECONDS)
        self._peer: socket.socket | None = None

    def meets(self, *, patience: float | None = _SECONDS) -> Connection:
        """Connect a client and accept it."""
        client = Connection(self.path, patience=patience)
        self.accepts()
        return client

    def accepts(self) -> None:
        """Take a client that has connected."""
        self._peer, _ = self._listener.accept()
        self._peer.settimeout(_SECONDS)

    @property
    def peer(self) -> socket.socket:
        """The daemon's end of the connection."""
        assert self._peer is not None
        return self._peer

    def writes(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.peer.sendall(data)

    def answers(self, data: Any, **more: Any) -> None:
        """Write the envelope of a success."""
        envelope = {"ok": True, "data": {"type": "answer", "data": data}, "error": None, **more}
        self.writes(json.dumps(envelope).encode() + b"\n")

    def fails(self, code: str, message: str, **details: Any) -> None:
        """Write the envelope of a failure."""
        envelope = {"ok": False, "data": None, "error": message, "code": code, "details": details}
        self.writes(json.dumps(envelope).encode() + b"\n")

    def hangs_up(self) -> None:
        """Close the connection."""
        self.peer.close()

    def line(self) -> bytes:
        """Return the next line that the client sent; empty if it hung up."""
        data = b""
        while not data.endswith(b"\n"):
            byte = self.peer.recv(1)
            if not byte:
                break
            data += byte
        return data

    def request(self) -> Any:
        """Return the next request."""
        return json.loads(self.line())

    def close(self) -> None:
        """Free everything."""
        if self._peer is not None:
            self._peer.close()
        self._listener.close()


@pytest.fixture
def home() -> Iterator[str]:
    """A directory whose path is short enough for a socket in it."""
    with tempfile.TemporaryDirectory(prefix="ap-") as directory:
        yield directory


@pytest.fixture
def daemon(home: str) -> Iterator[Daemon]:
    """A daemon that the test plays."""
    made = Daemon(f"{home}/s.sock")
    try:
        yield made
    finally:
        made.close()


# -- requests and answers


def test_a_request_is_one_line_of_json(daemon: Daemon) -> None:
    """
    The request has its op, its fields and the protocol; fields that are None are left out.
    """
    with daemon.meets() as client:
        daemon.answers({"cursor": 7})

        answer = client.ask("send", id="work", text="läs\n", enter=False, key=None)

        assert answer == {"cursor": 7}
        line = daemon.line()
        assert json.loads(line) == {
            "op": "send",
            "id": "work",
            "text": "läs\n",
            "enter": False,
            "v": PROTOCOL,
        }
        assert "läs".encode() in line


def test_requests_on_one_connection_are_answered_in_turn(daemon: Daemon) -> None:
    """
    A connection is used for one request after another, and each gets its own answer.
    """
    with daemon.meets() as client:
        answers = []
        for number in range(3):
            daemon.answers(number)
            answers.append(client.ask("count", number=number))

        assert answers == [0, 1, 2]
        assert [daemon.request()["number"] for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("content", [None, [], "text", 3, {"a": {"b": None}}])
def test_the_content_of_an_answer_is_returned(daemon: Daemon, content: Any) -> None:
    """
    Whatever the answer carries is returned as it is.
    """
    with daemon.meets() as client:
        daemon.answers(content)

        assert client.ask("op") == content


def test_an_answer_without_content_is_none(daemon: Daemon) -> None:
    """
    An answer that has only a type carries nothing.
    """
    with daemon.meets() as client:
        daemon.writes(b'{"ok": true, "data": {"type": "stopped"}, "error": null}\n')

        assert client.ask("stop") is None


@pytest.mark.parametrize(
    ("content", "given"),
    [({"cursor": 7}, {"cursor": 7, "replayed": True}), (None, None), ([1], [1])],
)
def test_an_answer_that_was_given_before_says_so(daemon: Daemon, content: Any, given: Any) -> None:
    """
    The content of a replayed answer is marked if it is an object.
    """
    with daemon.meets() as client:
        daemon.answers(content, replayed=True)

        assert client.ask("send", key="k") == given


def test_an_answer_may_be_large(daemon: Daemon) -> None:
    """
    An answer ends with its line, however long that is.
    """
    text = "x" * 100_000
    with daemon.meets() as client:
        daemon.answers(text)

        assert client.ask("read") == text


def test_text_without_an_encoding_is_refused_before_it_is_sent(daemon: Daemon) -> None:
    """
    A lone surrogate is a bad request, and the connection can be used after it.
    """
    with daemon.meets() as client:
        with pytest.raises(BadRequest, match="UTF-8"):
            client.ask("send", id="work", text="\udc80")
        daemon.answers("pong")

        assert client.ask("ping") == "pong"
        assert daemon.request()["op"] == "ping"


# -- errors


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("bad_request", BadRequest),
        ("too_large", TooLarge),
        ("unknown_op", UnknownOp),
        ("unknown_session", UnknownSession),
        ("session_exists", SessionExists),
        ("key_reused", KeyReused),
        ("unknown_cell", UnknownCell),
        ("exited", SessionEnded),
        ("timeout", WaitTimeout),
        ("active_cell", CellActive),
        ("busy", Busy),
        ("host_lost", HostLost),
        ("version_mismatch", VersionMismatch),
        ("internal", Internal),
        ("a_code_of_a_later_version", AgentPtyError),
    ],
)
def test_a_failure_is_raised_as_its_class(
    daemon: Daemon, code: str, kind: type[AgentPtyError]
) -> None:
    """
    The code decides the class of the error; message and details are those of the daemon.
    """
    with daemon.meets() as client:
        daemon.fails(code, "it does not work", id="work", typed=3)

        with pytest.raises(AgentPtyError) as caught:
            client.ask("send", id="work")

        assert type(caught.value) is kind
        assert str(caught.value) == "it does not work"
        assert caught.value.details == {"id": "work", "typed": 3}


def test_a_connection_can_be_used_after_a_failure(daemon: Daemon) -> None:
    """
    A failure ends its request and not the connection.
    """
    with daemon.meets() as client:
        daemon.fails("unknown_session", "unknown session work")
        with pytest.raises(UnknownSession):
            client.ask("screen", id="work")
        daemon.answers("pong")

        assert client.ask("ping") == "pong"


def test_an_exchange_returns_a_failure_as_it_came(daemon: Daemon) -> None:
    """
    Who wants the whole envelope gets it, of a failure too.
    """
    with daemon.meets() as client:
        daemon.fails("busy", "later", limit=5)

        envelope = client.exchange({"op": "new"})

        assert envelope == {
            "ok": False,
            "data": None,
            "error": "later",
            "code": "busy",
            "details": {"limit": 5},
        }


def test_a_daemon_that_does_not_answer_is_unreachable(daemon: Daemon) -> None:
    """
    A client with patience gives up when no answer comes.
    """
    with daemon.meets(patience=0.01) as client:
        with pytest.raises(DaemonUnreachable, match="does not answer"):
            client.ask("status")

        assert daemon.request()["op"] == "status"


def test_a_daemon_that_hangs_up_is_unreachable(daemon: Daemon) -> None:
    """
    The end of the connection instead of an answer is an error.
    """
    with daemon.meets() as client:
        daemon.hangs_up()

        with pytest.raises(DaemonUnreachable, match="without an answer"):
            client.ask("status")


def test_a_refusal_is_read_even_if_the_request_was_not_taken(daemon: Daemon) -> None:
    """
    A daemon that answers and hangs up before it reads has still given its reason.
    """
    with daemon.meets() as client:
        daemon.fails("busy", "too many clients")
        daemon.hangs_up()

        with pytest.raises(Busy, match="too many clients"):
            client.ask("send", text="x" * 10_000_000)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\n",
        b"\xff\xfe\x00\n",
        b"null\n",
        b"[]\n",
        b'"ok"\n',
        b"{}\n",
        b'{"data": 1}\n',
        b'{"ok": true',
    ],
)
def test_what_does_not_speak_our_protocol_is_unreachable(daemon: Daemon, answer: bytes) -> None:
    """
    An answer that is no envelope comes from something that is not our daemon.
    """
    with daemon.meets() as client:
        daemon.writes(answer)
        daemon.peer.shutdown(socket.SHUT_WR)

        with pytest.raises(DaemonUnreachable, match="does not speak our protocol"):
            client.ask("status")


# -- the connection itself


@pytest.mark.parametrize("kind", ["nothing", "a dead socket", "a file"])
def test_where_nobody_listens_there_is_no_connection(home: str, kind: str) -> None:
    """
    The error names the socket, for people and for programs.
    """
    path = f"{home}/s.sock"
    if kind == "a dead socket":
        Daemon(path).close()
    if kind == "a file":
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))

    with pytest.raises(DaemonUnreachable, match=path) as caught:
        Connection(path)

    assert caught.value.details == {"socket": path}


def test_leaving_the_block_hangs_up(daemon: Daemon) -> None:
    """
    The daemon sees the end of the connection, by which a wait is cancelled.
    """
    with daemon.meets():
        pass

    assert daemon.line() == b""


def test_a_client_can_wait_until_the_daemon_hangs_up(daemon: Daemon) -> None:
    """
    What the daemon still writes is passed over, and its end is the answer.
    """
    with daemon.meets() as client:
        daemon.writes(b"x" * 100_000)
        daemon.hangs_up()

        client.until_closed()


# -- streams


def test_a_stream_begins_right_after_the_answer(daemon: Daemon) -> None:
    """
    Bytes that follow the answer at once belong to the stream, and it goes both ways.
    """
    with daemon.meets() as client:
        daemon.answers(None)
        daemon.writes(b"first\nbytes")

        stream, _ = client.stream("attach", id="work", read_only=None)
        stream.sendall(b"typed")

        assert stream.recv(100) == b"first\nbytes"
        assert daemon.request() == {"op": "attach", "id": "work", "v": PROTOCOL}
        assert daemon.peer.recv(100) == b"typed"


def test_a_stream_that_is_refused_is_an_error(daemon: Daemon) -> None:
    """
    The daemon's answer decides before any byte of the stream.
    """
    with daemon.meets() as client:
        daemon.fails("unknown_session", "unknown session work")

        with pytest.raises(UnknownSession):
            client.stream("attach", id="work")


@pytest.mark.parametrize("answer", [b"", b'{"ok": true'])
def test_a_stream_whose_answer_does_not_come_is_an_error(daemon: Daemon, answer: bytes) -> None:
    """
    A daemon that hangs up before the end of its answer has opened no stream.
    """
    with daemon.meets() as client:
        daemon.writes(answer)
        daemon.peer.shutdown(socket.SHUT_WR)

        with pytest.raises(DaemonUnreachable, match="closed before"):
            client.stream("attach", id="work")


def test_a_stream_of_something_else_is_an_error(daemon: Daemon) -> None:
    """
    An answer that is no envelope opens no stream.
    """
    with daemon.meets() as client:
        daemon.writes(b"SSH-2.0-OpenSSH_9.6\r\n")

        with pytest.raises(DaemonUnreachable, match="does not speak our protocol"):
            client.stream("attach", id="work")


# -- the daemon of a home


def layout_of(home: str) -> Layout:
    """Return where the files of a home are."""
    return Layout(home=home, socket=f"{home}/s.sock", log_dir=f"{home}/runs")


def refuse(_layout: Layout) -> None:
    """Fail if anybody starts a daemon."""
    pytest.fail("a daemon was started without a reason")


def test_a_daemon_that_listens_is_not_started(
    home: str, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Connecting to a running daemon starts nothing.
    """
    monkeypatch.setattr("agent_pty.client.start.start_daemon", refuse)

    with connect(layout_of(home), patience=_SECONDS) as client:
        daemon.accepts()
        daemon.answers("pong")

        assert client.ask("ping") == "pong"


def test_a_missing_daemon_is_started_first(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Where nobody listens, a daemon is started and then connected to.
    """
    started: list[Daemon] = []

    def start(layout: Layout) -> None:
        started.append(Daemon(layout.socket))

    monkeypatch.setattr("agent_pty.client.start.start_daemon", start)

    with connect(layout_of(home), patience=_SECONDS) as client:
        (daemon,) = started
        daemon.accepts()
        daemon.answers("pong")
        answer = client.ask("ping")
    daemon.close()

    assert answer == "pong"


def test_a_missing_daemon_is_not_started_if_nobody_wants_it(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A client that only looks for a daemon learns that there is none.
    """
    monkeypatch.setattr("agent_pty.client.start.start_daemon", refuse)

    with pytest.raises(DaemonUnreachable):
        connect(layout_of(home), start=False)


def test_patience_is_for_the_answer_too(home: str, daemon: Daemon) -> None:
    """
    A daemon that accepts and does not answer is unreachable after the given time.
    """
    with connect(layout_of(home), start=False, patience=0.01) as client:
        daemon.accepts()

        with pytest.raises(DaemonUnreachable, match="does not answer"):
            client.ask("status")
