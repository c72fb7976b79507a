"""gdb: a script of ours that puts marks around the user's own prompt, numbered.

A gdb without Python has no marks. No status: gdb reports none.
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
# With any of these gdb reads no commands, or does not read them as lines.
_NOT_OURS = re.compile(r"--?(batch|configuration|h|help|v|version|tui|i|interpreter)\b")


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Run our script after .gdbinit; it follows a prompt that is set later."""
    if any(_NOT_OURS.match(word) for word in takewhile(_is_for_gdb, argv[1:])):
        return None
    return Injected(
        argv=[argv[0], "-ix", f"{SCRIPTS}/gdb.gdb", *argv[1:]],
        env=dict(env),
        secret=nonce,
    )


def is_simple(code: str) -> bool:
    """Say whether *code* may be typed as it is; gdb reads several pasted lines as one."""
    return (
        0 < len(code) < _LONGEST
        and code.isprintable()
        and _BLOCKS.match(code) is None
        and not code.endswith("\\")
    )


def _is_for_gdb(word: str) -> bool:
    """Say whether *word* is still for gdb, not for the program that it starts."""
    return word not in {"-args", "--args"}
