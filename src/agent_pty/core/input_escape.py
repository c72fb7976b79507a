r"""Escapes in what a model sends, such as `\x03` or `\r`: read once, and made fit for a terminal.

Whether a control character arrives as one or in this notation depends on the model's JSON. Both
mean the same.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|([nrte\\]))")
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "e": "\x1b", "\\": "\\"}
_SURROGATES = range(0xD800, 0xE000)


def unescaped(text: str) -> str:
    r"""Replace each escape by its character; what is none stays as it is.

    >>> unescaped(r"ls\r"), unescaped(r"a\\x03"), unescaped(r"\q \x0")
    ('ls\r', 'a\\x03', '\\q \\x0')
    """
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    if match[3]:
        return _NAMED[match[3]]
    code = int(match[1] or match[2], 16)
    return match[0] if code in _SURROGATES else chr(code)


def submitted(text: str) -> str:
    r"""Make Enter of every line end that means it: CR LF, and a line feed at the end.

    >>> submitted("ls\r\n"), submitted("ls\n"), submitted("a\nb\n")
    ('ls\r', 'ls\r', 'a\nb\r')
    """
    text = text.replace("\r\n", "\r")
    return text[:-1] + "\r" if text.endswith("\n") else text


def is_paste(text: str) -> bool:
    r"""Whether text has several lines and nothing that only a keyboard sends.

    >>> is_paste("def f():\n    pass\r"), is_paste("ls\r"), is_paste("a\n\x03")
    (True, False, False)
    """
    body = text.removesuffix("\r")
    return "\n" in body and not any(ord(one) < ord(" ") and one not in "\n\t" for one in body)


def only_controls(text: str) -> bool:
    r"""Whether text has no character that would be shown, so that it cannot be a secret.

    >>> only_controls("\x03"), only_controls("\x1b[A"), only_controls("hunter2\r")
    (True, False, False)
    """
    return all(ord(one) < ord(" ") or one == "\x7f" for one in text)
