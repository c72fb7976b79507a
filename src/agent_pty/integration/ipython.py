"""ipython: runs our PYTHONSTARTUP as python does, before the user's profile.

There are no marks if the user's configuration turns `exec_PYTHONSTARTUP` off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_pty.integration import python
from agent_pty.integration.injected import Injected

# Typed for code that is not one simple line. IPython gets the text of the file as if it was typed:
# that is what its history shows.
LOAD = python.LOAD

# With any of these it runs something else, or has no line editor.
_NOT_OURS = ("-", "--", "-h", "--help", "--version", "--simple-prompt", "--show-config")
_WITH_VALUE = (
    *("--autocall", "--cache-size", "--colors", "--config", "--ext", "--gui", "--ipython-dir"),
    *("--log-level", "--logappend", "--logfile", "--matplotlib", "--profile", "--profile-dir"),
    *("--pylab", "--theme"),
)


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Put our file into PYTHONSTARTUP; IPython reads it only if it is interactive."""
    if not _is_interactive(argv[1:]):
        return None
    added = python.startup("ipython.py", env)
    return Injected(argv=list(argv), env={**env, **added}, secret=nonce)


def is_simple(code: str) -> bool:
    """Say whether *code* can be typed; magics are not Python, so they are loaded from a file."""
    return python.is_simple(code)


def _is_interactive(options: Sequence[str]) -> bool:
    words = iter(options)
    for word in words:
        if word == "-i":
            continue
        if word in _NOT_OURS or word.startswith("--help-") or not word.startswith("--"):
            return False
        if word in _WITH_VALUE:
            next(words, None)
    return True
