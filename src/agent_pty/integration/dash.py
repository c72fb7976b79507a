"""dash, and ash of busybox: an ENV file of ours that reads the user's own first.

Marks are lost when a person sets PS1 again, but not when something is put before or after it, and
not through the code of a cell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

# dash reads lines from the kernel, which cuts them at 4096 bytes and knows no paste. So code of
# several lines is written to a file as TEXT, and LOAD is typed. `.` keeps `set --`, `cd` and
# variables. The empty `case` prevents `set -e` from ending the shell because the last status is
# not 0, as it would not end the shell if the code were typed; `set -x` does not show it.
# *path* must not contain a single quote.
LOAD = ". '{path}' && case : in esac"
# Before the code, on its first line, so that line numbers in messages are right: mark C, with $?
# as it was. A syntax error in that line comes without C. After the code the prompt is marked again
# if the code has set it; the empty line ends code that ends with a backslash.
TEXT = "{{ __apty_began && :; }} 3>&2 2>/dev/null; {code}\n\n{{ __apty_hold && :; }} 2>/dev/null\n"

_LONGEST = 1000
_PROMPTS = re.compile(r"\bPS[12]\b")
_LOGIN = frozenset({"-l", "--login"})  # ash knows the second
# Others either read commands from elsewhere (-c, -s) or are the user's experiment, left alone.
_HARMLESS = frozenset("efiubmCEVI")


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Put our file into ENV; it also reads the files of a login shell."""
    options = [word for word in argv[1:] if word not in _LOGIN]
    if not all(word[:1] == "-" and word[1:] and _HARMLESS.issuperset(word[1:]) for word in options):
        return None
    added = {
        "ENV": f"{SCRIPTS}/dash.sh",
        "AGENT_PTY_START": "login" if len(options) < len(argv) - 1 else "rc",
    }
    users = env.get("ENV")
    if users is not None:
        added["AGENT_PTY_ENV"] = users
    return Injected(argv=[argv[0], *options], env={**env, **added}, secret=nonce)


def is_simple(code: str) -> bool:
    """Say whether *code* is one line that can be typed as it is."""
    plain = code.replace("\t", " ")
    return (
        plain.isprintable()
        and not _PROMPTS.search(plain)
        and not plain.isspace()
        and not plain.endswith("\\")
        and 0 < len(code.encode()) < _LONGEST
    )
