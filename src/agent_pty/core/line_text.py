"""The text of a line as a shell has quoted it, read for people."""

from __future__ import annotations

import re
import shlex

_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r"}
_ESCAPES |= {"t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?"}
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


def unquoted(text: str) -> str:
    r"""Return what was quoted; text that is not quoted as expected is returned as it is.

    >>> unquoted(r"'rm -rf '"), unquoted(r"$'a\tb'"), unquoted(r"a\ b")
    ('rm -rf ', 'a\tb', 'a b')
    """
    if text.startswith("$'") and text.endswith("'"):
        return _ESCAPE.sub(_character, text[2:-1])
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    return words[0] if len(words) == 1 else text


def _character(found: re.Match[str]) -> str:
    what = found[1]
    if what[0] == "x" and len(what) > 1:
        return chr(int(what[1:], 16))
    return chr(int(what, 8)) if what[0] in "01234567" else _ESCAPES.get(what, what)
