"""What was typed, as a line that people read."""

from __future__ import annotations

from agent_pty.core.evidence.event import Exec, SendKeys

_PASTE = ("\x1b[200~", "\x1b[201~")


def typed_text(keys: SendKeys) -> str:
    """Return the text of an input, trimmed and without the marks of a paste."""
    text = bytes(one & 0xFF for one in keys.bytes).decode("utf-8", "replace")
    for mark in _PASTE:
        text = text.replace(mark, "")
    return text.strip()


def started(action: Exec) -> str:
    """Return the start of a program as the contract lists it.

    >>> started(Exec(argv=["sh", "-i"], cwd="/src"))
    'sh -i # cwd=/src'
    """
    return f"{' '.join(action.argv)} # cwd={action.cwd}"
