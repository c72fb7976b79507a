"""Which variables a command or a function has for itself alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_pty.core.policy.carried_out import base
from agent_pty.core.policy.field import Field

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_LOCAL = re.compile(r"\b(?:local|declare|typeset)\b([^;&|\n}]*)")
_NAME = re.compile(r"(?<![-\w$])[A-Za-z_]\w*(?==|\s|$)")


def assigned_by(fields: Sequence[Field]) -> dict[str, str]:
    """Return what `env A=1 B=2 program` gives to the program."""
    if base(fields[0].text) not in ("env", "sudo", "doas"):
        return {}
    found: dict[str, str] = {}
    for one in fields[1:]:
        given = _ASSIGNMENT.fullmatch(one.text)
        if given is not None:
            found[given[1]] = given[2]
        elif not one.text.startswith("-"):
            break
    return found


def local_names(body: str) -> list[str]:
    """Return the variables that a function declares for itself."""
    return [name for given in _LOCAL.findall(body) for name in _NAME.findall(given)]
