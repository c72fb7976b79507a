"""Who may use HTTP, as a table."""

from __future__ import annotations

import pytest

from agent_pty.core.http_access import Asked, Doorkeeper, Peer, is_loopback

_TOKEN = "s3cret" * 8
_US = 1000
_LOCAL = Peer(address="127.0.0.1", uid=_US)
_HOST = "127.0.0.1:4319"


def _refusal(asked: Asked, peer: Peer = _LOCAL, *, port: int = 4319) -> str | None:
    doorkeeper = Doorkeeper(
        address="127.0.0.1", port=port, uid=_US, token=_TOKEN, token_path="/t/http-token"
    )
    refused = doorkeeper.refusal(asked, peer)
    return refused.code if refused is not None else None


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (Asked(host=_HOST), None),
        (Asked(host="localhost:4319"), None),
        (Asked(host="LOCALHOST:4319"), None),
        (Asked(host="[::1]:4319"), None),
        (Asked(host=None), "forbidden"),
        (Asked(host=""), "forbidden"),
        (Asked(host="127.0.0.1"), "forbidden"),
        (Asked(host="127.0.0.1:80"), "forbidden"),
        (Asked(host="evil.example:4319"), "forbidden"),
        (Asked(host="localhost.evil.example:4319"), "forbidden"),
        (Asked(host="127.0.0.1:4319.evil.example"), "forbidden"),
        (Asked(host=_HOST, origin="http://127.0.0.1:4319"), None),
        (Asked(host=_HOST, origin="http://localhost:4319"), None),
        (Asked(host=_HOST, origin="https://127.0.0.1:4319"), "forbidden"),
        (Asked(host=_HOST, origin="http://127.0.0.1:4320"), "forbidden"),
        (Asked(host=_HOST, origin="http://evil.example"), "forbidden"),
        (Asked(host=_HOST, origin="null"), "forbidden"),
        (Asked(host=_HOST, origin=""), "forbidden"),
        (Asked(host=_HOST, origin=f"http://{_HOST}, http://evil.example"), "forbidden"),
        (Asked(host=_HOST, fetch_site="same-origin"), None),
        (Asked(host=_HOST, fetch_site="none"), None),
        (Asked(host=_HOST, fetch_site="same-site"), "forbidden"),
        (Asked(host=_HOST, fetch_site="cross-site"), "forbidden"),
        (Asked(host=_HOST, fetch_site="Cross-Site"), "forbidden"),
        (Asked(host=_HOST, fetch_site="none, cross-site"), "forbidden"),
        (Asked(host=_HOST, fetch_site=""), "forbidden"),
        (Asked(host="evil.example", authorization=f"Bearer {_TOKEN}"), None),
        (Asked(host=_HOST, origin="null", authorization=f"bearer  {_TOKEN} "), None),
        (Asked(host=_HOST, authorization=""), "unauthorized"),
        (Asked(host=_HOST, authorization="Bearer"), "unauthorized"),
        (Asked(host=_HOST, authorization="Bearer "), "unauthorized"),
        (Asked(host=_HOST, authorization=f"Bearer {_TOKEN}x"), "unauthorized"),
        (Asked(host=_HOST, authorization=f"Bearer {_TOKEN[:-1]}"), "unauthorized"),
        (Asked(host=_HOST, authorization=f"Basic {_TOKEN}"), "unauthorized"),
        (Asked(host=_HOST, authorization="Bearer \udcff\u00e9"), "unauthorized"),
    ],
)
def test_what_a_request_says_decides(asked: Asked, code: str | None) -> None:
    """
    Our own user needs no token, unless the request may come from a page of another site.
    """
    assert _refusal(asked) == code


@pytest.mark.parametrize(
    ("peer", "code"),
    [
        (Peer(address="127.0.0.1", uid=_US), None),
        (Peer(address="127.8.9.1", uid=_US), None),
        (Peer(address="::1", uid=_US), None),
        (Peer(address="127.0.0.1", uid=0), "unauthorized"),
        (Peer(address="127.0.0.1", uid=None), "unauthorized"),
        (Peer(address="10.0.0.1", uid=_US), "unauthorized"),
        (Peer(address=None, uid=_US), "unauthorized"),
        (Peer(address="localhost", uid=_US), "unauthorized"),
    ],
)
def test_everybody_but_our_user_on_this_machine_needs_the_token(
    peer: Peer, code: str | None
) -> None:
    """
    Another user, root too, an unknown one and another machine must show the token, and may.
    """
    assert _refusal(Asked(host=_HOST), peer) == code
    assert _refusal(Asked(host=_HOST, authorization=f"Bearer {_TOKEN}"), peer) is None


def test_port_80_may_be_left_out() -> None:
    """
    A browser does not name the port that goes without saying.
    """
    assert _refusal(Asked(host="localhost"), port=80) is None
    assert _refusal(Asked(host="localhost:80", origin="http://localhost"), port=80) is None


@pytest.mark.parametrize("address", ["::", "10.0.0.1", "localhost", "", "127.1", None])
def test_what_is_not_surely_this_machine_is_not_loopback(address: str | None) -> None:
    """
    A name may change what it means, and a wildcard is every address.
    """
    assert not is_loopback(address)
