"""The address of a collector that speaks OTLP over HTTP. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from agent_pty.errors import BadRequest

_PATH = "/v1/traces"


def traces_endpoint(address: str) -> str:
    """Return where a collector takes spans; refuse what is no address.

    >>> traces_endpoint("http://127.0.0.1:4318")
    'http://127.0.0.1:4318/v1/traces'
    """
    if not _is_address(address):
        # The value is not shown: it may have a password in it.
        raise BadRequest(
            "traces.otlp: write an address such as http://127.0.0.1:4318, without user and query; "
            "headers for it are in OTEL_EXPORTER_OTLP_HEADERS of the daemon's environment"
        )
    return address.rstrip("/").removesuffix(_PATH) + _PATH


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        there = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a wrong port, or half an IPv6 address
        return False
    hides_nothing = "@" not in parts.netloc and not parts.query and not parts.fragment
    return there and hides_nothing and text.isprintable() and " " not in text
