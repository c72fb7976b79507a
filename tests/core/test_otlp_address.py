"""The address of a collector."""

from __future__ import annotations

import pytest

from agent_pty.core.otlp_address import traces_endpoint
from agent_pty.errors import BadRequest


@pytest.mark.parametrize(
    ("address", "endpoint"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("https://collector.example/", "https://collector.example/v1/traces"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
        ("http://host/otlp", "http://host/otlp/v1/traces"),
        ("http://host:4318/v1/traces", "http://host:4318/v1/traces"),
        ("http://host:4318/v1/traces/", "http://host:4318/v1/traces"),
    ],
)
def test_spans_go_to_the_path_of_traces(address: str, endpoint: str) -> None:
    """
    The address is that of the collector; the path is added unless it is there.
    """
    assert traces_endpoint(address) == endpoint


@pytest.mark.parametrize(
    "wrong",
    [
        "127.0.0.1:4318",
        "collector:4318",
        "grpc://host:4317",
        "http://",
        "http://:4318",
        "http://host:port",
        "http://host:0",
        "http://host:99999",
        "http://[::1:4318",
        "http://ho st:4318",
        "http://host:4318\n",
        "http://host:4318/?key=hidden",
        "http://host:4318/#hidden",
        "http://user:hidden@host:4318",
    ],
)
def test_what_is_no_address_is_refused_and_not_shown(wrong: str) -> None:
    """
    The error says how an address looks; what was written may have a password in it.
    """
    with pytest.raises(BadRequest, match=r"traces\.otlp: write .* http://127\.0\.0\.1:4318") as no:
        traces_endpoint(wrong)

    assert "hidden" not in str(no.value)
