"""Who may use the HTTP surface, decided from what a request says and what the kernel knows.

Our own user on this machine needs nothing: the kernel tells whose socket it is. But a web page
in that user's browser has the same uid, so a request that a page of another site may have sent
is refused: one with a foreign `Origin`, one that the browser calls cross-site, and one to a host
name that is not ours (a page can make its own name resolve to this machine). Everybody else must
show the token. Who shows it may come from anywhere.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass

from agent_pty.errors import AgentPtyError, Forbidden, Unauthorized

_BEARER = "bearer "
# Values of Sec-Fetch-Site that no page of another site can cause.
_OWN_SITE = frozenset({"same-origin", "none"})
_HTTP_PORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an HTTP request says about itself; None: the header is missing."""

    host: str | None = None
    origin: str | None = None
    fetch_site: str | None = None
    authorization: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The other end of the connection; *uid* is None where the kernel does not tell it."""

    address: str | None
    uid: int | None


class Doorkeeper:
    """Decides for the server at *address* and *port*, which runs as *uid* and knows *token*."""

    def __init__(self, *, address: str, port: int, uid: int, token: str, token_path: str) -> None:
        names = {"localhost", "127.0.0.1", "[::1]", _bracketed(address)}
        self._hosts = {f"{name}:{port}" for name in names}
        if port == _HTTP_PORT:
            self._hosts |= names
        self._uid = uid
        self._token = token.encode()
        self._token_path = token_path

    def refusal(self, asked: Asked, peer: Peer) -> AgentPtyError | None:
        """Return why a request is refused; None if it is not."""
        if asked.authorization is not None:
            return None if self._shows_token(asked.authorization) else self._unauthorized("wrong")
        if asked.host is None or asked.host.lower() not in self._hosts:
            return Forbidden(
                f"this server is not called {asked.host!r}: use the address it prints",
                host=asked.host,
            )
        if not self._own_origin(asked.origin):
            return Forbidden(f"a page of {asked.origin} may not use this server")
        if asked.fetch_site is not None and asked.fetch_site.lower() not in _OWN_SITE:
            return Forbidden("a page of another site may not use this server")
        if not is_loopback(peer.address) or peer.uid != self._uid:
            return self._unauthorized("no")
        return None

    def _own_origin(self, origin: str | None) -> bool:
        if origin is None:
            return True
        scheme, _, host = origin.lower().partition("://")
        return scheme == "http" and host in self._hosts

    def _shows_token(self, authorization: str) -> bool:
        if not authorization.lower().startswith(_BEARER):
            return False
        shown = authorization[len(_BEARER) :].strip().encode("utf-8", "replace")
        return hmac.compare_digest(shown, self._token)

    def _unauthorized(self, which: str) -> Unauthorized:
        return Unauthorized(
            f"{which} token: send `Authorization: Bearer` with what {self._token_path} contains",
            token_file=self._token_path,
        )


def is_loopback(address: str | None) -> bool:
    """Whether an address is one of this machine only; a name is not, it may change.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.0.0.1"), is_loopback("x")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(address or "").is_loopback
    except ValueError:
        return False


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
