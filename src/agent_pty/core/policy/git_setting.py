"""Settings of git: how they are given before a verb, and which of them force pushes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_pty.core.policy.option import takes_next

SHORT_WITH_VALUE = "cC"
LONG_WITH_VALUE = frozenset(
    {"--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}
    | {"--attr-source"}
)
_PUSH_SETTING = re.compile(r"remote\..*\.(push|mirror)")
_FALSE = re.compile(r"false|no|off|0*|0x0+")


def settings_before(words: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the settings that `-c` gives for one command; None: there is a name alone."""
    for at, word in enumerate(words[:-1]):
        if takes_next(word, SHORT_WITH_VALUE, LONG_WITH_VALUE) and word.endswith("c"):
            name, sign, value = words[at + 1].partition("=")
            yield name, value if sign else None


def forces_pushes(name: str, value: str | None) -> bool:
    """Whether a setting makes pushes forced ones; a name alone means that it is true."""
    found = _PUSH_SETTING.fullmatch(name.lower())
    if found is None:
        return False
    if value is None or found[1] == "push":
        return value is None or value.startswith("+")
    return _FALSE.fullmatch(value.strip().lower()) is None
