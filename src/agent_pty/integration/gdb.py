"""gdb: a script of ours that puts marks around the user's own prompt, numbered.

A gdb without Python has no marks. No status: gdb tells none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from agent_pty.integration.injected import SCRIPTS, Injected

# What to type to run a file as one command.
LOAD = "source {path}"

_LONGEST = 1000
# Commands that may ask for more lines, without a mark.
_BLOCKS = re.compile(
    r"\s*(actions|commands|compile|define|define-prefix|document|end|expression|gu|guile|"
    r"guile-repl|gr|if|pi|py|python|python-interactive|tcommands|while|while-stepping)\b"
)
# With any of these gdb asks nobody, or not in lines.
_NOT_OURS = re.compile(r"--?(batch|configuration|h|help|v|version|tui|i|interpreter)\b")


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Run our script after .gdbinit; what sets the prompt later, it follows."""
    if any(_NOT_OURS.match(word) for word in takewhile(_is_for_gdb, argv[1:])):
        return None
    return Injected(
        argv=[argv[0], "-ix", f"{SCRIPTS}/gdb.gdb", *argv[1:]],
        env={**env, "AGENT_PTY_NONCE": nonce},
    )


def is_simple(code: str) -> bool:
    """Tell whether *code* may be typed as it is; several lines pasted at once are one to gdb."""
    return (
        0 < len(code) < _LONGEST
        and code.isprintable()
        and _BLOCKS.match(code) is None
        and not code.endswith("\\")
    )


def _is_for_gdb(word: str) -> bool:
    """Tell whether *word* is still gdb's, not the program's that it starts."""
    return word not in {"-args", "--args"}
