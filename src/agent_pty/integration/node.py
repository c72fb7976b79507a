"""node: a script of ours that puts marks around the prompts of its REPL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

# What to type to run a file as one command: as if typed, but not in the history, and nothing is
# printed if its value is undefined.
LOAD = ".cell {path}"

_LONGEST = 1000
# With any of these there is no REPL, or one that has run something before.
_NOT_OURS = re.compile(
    r"-$|--$|-[a-z]*[cehpv]|--(check|eval|help|print|run|test|version|v8-options|"
    r"completion-bash|prof-process|build-snapshot|build-sea|experimental-sea-config)\b"
)
# The next word belongs to these; if it is missing, node reports that itself.
_WITH_VALUE = frozenset(
    {"-C", "-r", "--conditions", "--import", "--loader", "--experimental-loader", "--require"}
)
# What may continue in the next line although its brackets are closed.
_STATEMENT = re.compile(r"\s*(async|class|do|else|for|function|if|switch|try|while|with)\b")
_OPEN_END = re.compile(r"[-\\(\[{,+*/%=<>&|^!~?:.]\s*$")


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Load our script before the REPL; with code to run there is no REPL."""
    words = iter(argv[1:])
    for word in words:
        if _NOT_OURS.match(word) or not word.startswith("-"):
            return None
        if word in _WITH_VALUE:
            next(words, None)
    # NODE_OPTIONS would reach every node started from this one.
    return Injected(
        argv=[argv[0], "--require", f"{SCRIPTS}/node.js", *argv[1:]],
        env={**env, "AGENT_PTY_START": "repl"},
        secret=nonce,
    )


def is_simple(code: str) -> bool:
    """Say whether *code* may be typed as it is; in doubt, False."""
    return (
        0 < len(code) < _LONGEST
        and code.isprintable()  # Tab would complete, a newline would end it
        and all(code.count(begin) == code.count(end) for begin, end in ("()", "[]", "{}"))
        and code.count("`") % 2 == 0
        and "/*" not in code
        and _STATEMENT.match(code) is None
        and _OPEN_END.search(code) is None
    )
