"""dash, and ash of busybox: an ENV file of ours that reads the user's own first.

Marks are lost when a person sets PS1 anew, not when something is put before or behind it, and not
by the code of a cell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

# dash reads lines from the kernel, which cuts them at 4096 bytes and knows no paste. So code of
# several lines is written to a file as TEXT, and LOAD is typed. `.` keeps `set --`, `cd` and
# variables; the empty `case` keeps `set -e` from ending the shell because the last status is not
# 0, as it would not have done had the code been typed, and is not shown by `set -x`.
# *path* must not contain a single quote.
LOAD = ". '{path}' && case : in esac"
# In front of the code on its first line, so that line numbers in messages are right: mark C, with
# $? as it was. A syntax error in that line comes without C. Behind it the prompt is marked again
# if the code has set it; the empty line ends code that ends with a backslash.
TEXT = "{{ __apty_began && :; }} 3>&2 2>/dev/null; {code}\n\n{{ __apty_hold && :; }} 2>/dev/null\n"

_LONGEST = 1000
_PROMPTS = re.compile(r"\bPS[12]\b")
_LOGIN = frozenset({"-l", "--login"})  # the second is known to ash
# Others either read commands from elsewhere (-c, -s) or are the user's own experiment.
_HARMLESS = frozenset("efiubmCEVI")


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Put our file into ENV; it stands in for the files of a login shell too."""
    options = [word for word in argv[1:] if word not in _LOGIN]
    if not all(word[:1] == "-" and word[1:] and _HARMLESS.issuperset(word[1:]) for word in options):
        return None
    added = {
        "ENV": f"{SCRIPTS}/dash.sh",
        "AGENT_PTY_NONCE": nonce,
        "AGENT_PTY_START": "login" if len(options) < len(argv) - 1 else "rc",
    }
    users = {**os.environ, **env}.get("ENV")
    if users is not None:
        added["AGENT_PTY_ENV"] = users
    return Injected(argv=[argv[0], *options], env={**env, **added})


def is_simple(code: str) -> bool:
    """Tell whether *code* is one line that can be typed as it is."""
    plain = code.replace("\t", " ")
    return (
        plain.isprintable()
        and not _PROMPTS.search(plain)
        and not plain.isspace()
        and not plain.endswith("\\")
        and 0 < len(code.encode()) < _LONGEST
    )
