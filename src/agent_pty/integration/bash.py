"""bash: an rcfile of ours that runs the user's own first; without rcfiles, at the first prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

_SCRIPT = f"{SCRIPTS}/bash.sh"
_LOGIN = frozenset({"-l", "--login"})
# With any of these bash is not interactive, reads no rcfile, or reads one that we must not replace.
_NOT_OURS = frozenset({"-c", "-s", "--posix", "--rcfile", "--init-file", "--restricted", "-r"})


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Choose the way to start under which every start-up file keeps its meaning."""
    options = argv[1:]
    if any(word in _NOT_OURS or not word.startswith("-") for word in options):
        return None
    ours = dict(env)
    login = any(word in _LOGIN for word in options)
    if "--norc" in options or (login and "--noprofile" in options):
        return _at_first_prompt(argv, ours, nonce)
    kept = [word for word in options if word not in _LOGIN]
    start = "login" if login else "rc"
    return Injected(
        argv=[argv[0], "--rcfile", _SCRIPT, *kept],
        env={**ours, "AGENT_PTY_START": start},
        secret=nonce,
    )


def _at_first_prompt(argv: Sequence[str], env: dict[str, str], nonce: str) -> Injected:
    """Let bash start with its own options and read our script before its first prompt."""
    own = {"AGENT_PTY_PROMPT_COMMAND": env["PROMPT_COMMAND"]} if "PROMPT_COMMAND" in env else {}
    added = {"AGENT_PTY_START": "prompt", "PROMPT_COMMAND": f". '{_SCRIPT}'"}
    return Injected(argv=list(argv), env={**env, **own, **added}, secret=nonce)
