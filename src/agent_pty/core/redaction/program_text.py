"""What is no value but the text of a program: types, names of variables, lists. Pure."""

from __future__ import annotations

import re

_TYPE = re.compile(
    r"(?:str|int|bool|bytes|float|dict|list|tuple|set|any|string|number|boolean|object|char|null"
    r"|none|date|uuid|text|varchar)(?:\W.*)?|[A-Z][a-z]+(?:[A-Z][a-z]+)+(?:\W.*)?|[A-Z][a-z]+\[.*"
    r"|[A-Za-z_]+(?:\.[A-Za-z_]+)+",
)
_NAME = re.compile(r"[a-z_]+|[A-Za-z_]+(?:\.[A-Za-z_]+)+")


def is_type(value: str) -> bool:
    """Whether this may be a type: `password: SecretStr`.

    >>> is_type("Optional[Token]"), is_type("hunter2")
    (True, False)
    """
    return _TYPE.fullmatch(value) is not None


def is_variable(value: str) -> bool:
    """Whether this may be a name in a program: `token = last`, `f(secret=self.nonce)`."""
    return _NAME.fullmatch(value) is not None
