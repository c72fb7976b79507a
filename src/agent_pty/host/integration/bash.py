"""bash: an rcfile of ours that runs the user's own first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_pty.host.integration.injected import SCRIPTS, Injected

# With any of these bash reads no rcfile, or another shell's worth of start-up files.
_NOT_OURS = frozenset({"-c", "-s", "--posix", "--rcfile", "--init-file", "--restricted", "-r"})


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Replace the rcfile; login shells and `--norc` keep their meaning inside it."""
    options = list(argv[1:])
    if any(word in _NOT_OURS or not word.startswith("-") for word in options):
        return None
    kinds = {"-l": "login", "--login": "login", "--norc": "norc"}
    start = next((kinds[word] for word in options if word in kinds), "rc")
    kept = [word for word in options if word not in kinds and word != "--noprofile"]
    if start == "login" and "--noprofile" in options:
        start = "norc"
    return Injected(
        argv=[argv[0], "--rcfile", f"{SCRIPTS}/bash.sh", *kept],
        env={**env, "AGENT_PTY_NONCE": nonce, "AGENT_PTY_START": start},
    )
