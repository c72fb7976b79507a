"""zsh: a .zshenv of ours that restores the user's ZDOTDIR and sets marks at the first prompt.

If /etc/zshenv itself sets ZDOTDIR, our file is not read and there are no marks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

# With other letters it runs no commands from the terminal, or shows all that it runs.
_LETTERS = re.compile(r"-[dfil]+")
_NAME = re.compile(r"--[A-Za-z_-]+")
_NOT_OURS = frozenset(
    {"emulate", "help", "nointeractive", "noexec", "privileged", "restricted", "singlecommand"}
    | {"verbose", "version", "xtrace"}
)


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Point ZDOTDIR at our directory; `-f` keeps its meaning inside it."""
    # If it is called `sh` or `ksh` it behaves as those do, and reads other files.
    if not os.path.basename(argv[0]).startswith("zsh"):
        return None
    words = list(_joined(argv[1:]))
    if not all(_is_ours(word) for word in words):
        return None
    kept = [word for word in words if not _says_no_rcs(word)]
    added = {"ZDOTDIR": f"{SCRIPTS}/zsh"}
    if len(kept) < len(words):
        added["AGENT_PTY_START"] = "norcs"
        # Other letters in the same word as the f stay in effect.
        kept += [f"-{rest}" for word in words if (rest := _beside_f(word))]
    if (users := env.get("ZDOTDIR")) is not None:
        added["AGENT_PTY_ZDOTDIR"] = users
    return Injected(argv=[argv[0], *kept], env={**env, **added}, secret=nonce)


def _joined(words: Sequence[str]) -> Iterator[str]:
    """Write `-o name` as `--name`, which means the same to zsh."""
    before = None
    for word in words:
        if before == "-o":
            yield f"--{word}"
        elif word != "-o":
            yield word
        before = word if before != "-o" else None
    if before == "-o":
        yield "-o"


def _is_ours(word: str) -> bool:
    if _LETTERS.fullmatch(word):
        return True
    return _NAME.fullmatch(word) is not None and _plain(word) not in _NOT_OURS


def _says_no_rcs(word: str) -> bool:
    return _plain(word) == "norcs" or _beside_f(word) is not None


def _beside_f(word: str) -> str | None:
    """Return the letters of `-lf` without the f; None for any other word."""
    return word[1:].replace("f", "") if _LETTERS.fullmatch(word) and "f" in word else None


def _plain(word: str) -> str:
    """Return an option's name as zsh compares it: without case, dashes and underscores."""
    return re.sub("[-_]", "", word).lower()
