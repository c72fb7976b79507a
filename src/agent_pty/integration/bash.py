"""bash: an rcfile of ours that runs the user's own first; without rcfiles, at the first prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

# Code that makes PROMPT_COMMAND a list of its own is run from a file, which ends by putting our
# functions into it again: at this prompt they would come too late to mark the end of the output.
# The empty line ends code that ends with a backslash. `&& :` keeps `set -e` from ending bash where
# it would not end it if the code were typed.
LOAD = ". '{path}' && :"
TEXT = "{code}\n\n{{ __apty_hold && :; }} 2>/dev/null\n"
_LIST = re.compile(
    r"\bPROMPT_COMMAND=\(|\b(?:declare|typeset|mapfile|readarray)\b.*\bPROMPT_COMMAND"
)

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


def sets_list(code: str) -> bool:
    """Say whether *code* seems to set PROMPT_COMMAND to a list."""
    return _LIST.search(code) is not None


def _at_first_prompt(argv: Sequence[str], env: dict[str, str], nonce: str) -> Injected:
    """Let bash start with its own options and read our script before its first prompt."""
    own = {"AGENT_PTY_PROMPT_COMMAND": env["PROMPT_COMMAND"]} if "PROMPT_COMMAND" in env else {}
    added = {"AGENT_PTY_START": "prompt", "PROMPT_COMMAND": f". '{_SCRIPT}'"}
    return Injected(argv=list(argv), env={**env, **own, **added}, secret=nonce)
