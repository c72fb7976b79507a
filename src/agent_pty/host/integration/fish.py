"""fish: not integrated yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_pty.host.integration.injected import Injected


def inject(_argv: Sequence[str], _env: Mapping[str, str], _nonce: str) -> Injected | None:
    """Start it as it is."""
    return None
