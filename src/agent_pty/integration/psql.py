"""psql: a psqlrc of ours that runs the user's own first and puts marks around the prompts.

With -X psql reads no file, and the nonce of its marks is among its arguments.
No status: psql's ERROR is about the last query, and a backslash command leaves it as it was.
"""

from __future__ import annotations

import getopt
import os
import re
from collections.abc import Mapping, Sequence

from agent_pty.integration.injected import SCRIPTS, Injected

# What to type to run a file as one command.
LOAD = r"\i '{path}'"

_LONGEST = 1000
_SHORT = "aAbc:d:eEf:F:h:HlL:no:p:P:qR:sStT:U:v:VwWxXz?01"
_LONG = (
    "cluster= command= csv dbname= echo-all echo-errors echo-hidden echo-queries expanded "
    "field-separator= field-separator-zero file= help host= html list log-file= no-align "
    "no-password no-psqlrc no-readline output= password port= pset= quiet record-separator= "
    "record-separator-zero set= single-line single-step single-transaction table-attr= "
    "tuples-only username= variable= version"
)
# With any of these psql does its work and ends.
_NOT_OURS = re.compile(r"-[cflV?1]$|--(command|file|list|version|help|single-transaction)$")
_DEFAULT = "%/%R%x%# "  # of both prompts


def inject(argv: Sequence[str], env: Mapping[str, str], nonce: str) -> Injected | None:
    """Replace the psqlrc; without one, give the prompts as variables."""
    try:
        options, _ = getopt.gnu_getopt(list(argv[1:]), _SHORT, _LONG.split())
    except getopt.GetoptError:
        return None
    names = {name for name, _ in options}
    if any(_NOT_OURS.match(name) for name in names):
        return None
    # A pager takes the screen and the output. This is a default: options and psqlrc override it.
    begin = [argv[0], "--pset=pager=off"]
    if names & {"-X", "--no-psqlrc"}:
        if "--" in argv:  # no option may follow
            return None
        return Injected(argv=[*begin, *argv[1:], *_prompts(options, nonce)], env=dict(env))
    variables, added = _start(env)
    return Injected(argv=[*begin, *variables, *argv[1:]], env={**env, **added}, secret=nonce)


def is_simple(code: str) -> bool:
    """Say whether *code* may be typed as it is.

    psql reads several lines pasted at once as one: a backslash command takes the rest of them.
    """
    return 0 < len(code) < _LONGEST and code.isprintable()


def _start(env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return what our psqlrc needs to know."""
    own = env.get("PSQLRC")
    home = env.get("HOME") or os.path.expanduser("~")
    path = own if own is not None else "~/.psqlrc"
    if path.startswith("~/"):
        path = home + path[1:]
    variables = [f"--set=agent_pty_psqlrc={own}"] if own is not None else []
    return variables, {"PSQLRC": f"{SCRIPTS}/psqlrc", "AGENT_PTY_PSQLRC": path}


def _prompts(options: Sequence[tuple[str, str]], nonce: str) -> list[str]:
    """Return the prompts with marks around them, as our psqlrc makes them."""
    given = dict(
        value.partition("=")[::2]
        for name, value in options
        if name in {"-v", "--set", "--variable"}
    )
    ended = f'%`printf "\\033]133;D;apty={nonce}\\007" >&2`'
    first, second = (given.get(name, _DEFAULT) for name in ("PROMPT1", "PROMPT2"))
    return [
        f"--set=PROMPT1={ended}{first}%[%033]133;B;apty={nonce}%007%]",
        f"--set=PROMPT2={second}%[%033]133;P;apty={nonce}%007%]",
    ]
