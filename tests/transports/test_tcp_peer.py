"""Whose end of a connection it is, with real sockets."""

from __future__ import annotations

import os
import socket

import pytest

from agent_pty.transports import tcp_peer
from agent_pty.transports.tcp_peer import uid_of

_NOBODY = 65534
_NO_PROTOCOL = 31  # the kernel has no netlink of this number


@pytest.fixture(autouse=True, params=["one socket", "table"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Leave only one of the two ways: asking for one socket, or reading the table of all."""
    if request.param == "table":
        monkeypatch.setattr(tcp_peer, "_SOCK_DIAG", _NO_PROTOCOL)
    else:
        monkeypatch.setattr(tcp_peer, "_TABLES", {4: os.devnull, 6: os.devnull})
    return str(request.param)


def _pair(family: socket.AddressFamily, host: str) -> tuple[socket.socket, socket.socket]:
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        try:
            listener.bind((host, 0))
        except OSError:
            pytest.skip(f"this machine has no {host}")
        listener.listen()
        client = socket.create_connection(listener.getsockname()[:2])
        return client, listener.accept()[0]


def _uid(server: socket.socket) -> int | None:
    return uid_of(server.getpeername()[:2], server.getsockname()[:2])


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_our_own_connection_is_ours(family: socket.AddressFamily, host: str) -> None:
    """
    The kernel tells whose socket the client's end is, for both kinds of address.
    """
    client, server = _pair(family, host)
    with client, server:
        assert _uid(server) == os.getuid()


def test_a_client_that_closed_is_unknown() -> None:
    """
    An end that nobody holds any more has no owner, although the kernel shows it as root's.
    """
    client, server = _pair(socket.AF_INET, "127.0.0.1")
    with server:
        client.close()
        assert server.recv(1) == b""
        assert _uid(server) is None


def test_the_other_direction_does_not_count() -> None:
    """
    The server's own end is not the client's: both stand in the kernel's table.
    """
    client, server = _pair(socket.AF_INET, "127.0.0.1")
    with client, server:
        assert uid_of(("127.0.0.1", 1), server.getsockname()[:2]) is None


def test_another_user_is_told_apart() -> None:
    """
    A connection that another user made belongs to that user.
    """
    if os.getuid() != 0:
        pytest.skip("only root can act as another user")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        pid = os.fork()
        if pid == 0:
            try:
                os.setuid(_NOBODY)
                with socket.create_connection(listener.getsockname()) as sock:
                    sock.recv(1)
            finally:
                os._exit(0)
        server, _ = listener.accept()
        with server:
            found = _uid(server)
        os.waitpid(pid, 0)

    assert found == _NOBODY
