"""fish: a command of ours that runs after the user's configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_pty.host.integration.injected import SCRIPTS, Injected


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Hand it over as the last of the commands to begin with."""
    return Injected(
        argv=[*argv, "-C", f"source {SCRIPTS}/fish.fish"], env={**env, "AGENT_PTY_NONCE": nonce}
    )
