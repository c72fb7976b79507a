"""Where a shell or an interpreter reads its program from, as far as that text can be known."""

from __future__ import annotations

from agent_pty.core.policy.field import Field
from agent_pty.core.policy.followed import Nothing, Stdin

_STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def program_source(file: Field | None, stdin: str | None, *, piped: bool) -> Stdin:
    """Return the text of a program that is read from *file*, or from standard input without one.

    None: that text is not known. Nothing: it is typed, or it is an ordinary file.
    """
    if file is None or (file.text in _STANDARD_INPUT and file.script is None):
        return stdin if piped else Nothing
    return file.script if file.text.startswith("/dev/fd/") else Nothing
