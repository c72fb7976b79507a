"""Text of a record as people may see it: nothing in it is obeyed, and nothing in it hides."""

from __future__ import annotations

import re

from agent_pty.core.deception import visible

# Everything a terminal or a page may obey, but for the end of a line and the tab.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_LAST_BYTE = 0xFF


def shown(text: str) -> str:
    r"""Return text of several lines with its controls written out.

    >>> shown("a\x1b[1mb\r\n")
    'a\\x1b[1mb\n'
    """
    return _CONTROL.sub(_written_out, visible(text.replace("\r\n", "\n")))


def shown_line(text: str) -> str:
    r"""Return text as one line.

    >>> shown_line("a\nb")
    'a\\nb'
    """
    return shown(text).replace("\n", "\\n").replace("\t", "\\t")


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= _LAST_BYTE else f"\\u{code:04x}"
