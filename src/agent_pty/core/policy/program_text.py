r"""Text for programs that are no shells: only what leads out into a shell is judged. Pure.

A Python prompt calls `os.system`, psql has `\!`, editors and pagers have `!`. Whatever else is
typed there is the program's own affair.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from agent_pty.core.policy.policy_file import Policy
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.verdict import ALLOWED, LONGEST, Verdict, judged, stricter

# Read as `python3 -c TEXT`.
_INTERPRETERS = {
    "python": "python3 -c",
    "ipython": "python3 -c",
    "node": "node -e",
    "irb": "ruby -e",
    "ruby": "ruby -e",
    "php": "php -r",
    "lua": "lua -e",
    "perl": "perl -e",
    "R": "Rscript -e",
    "julia": "julia -e",
}
_BANG = re.compile(r"(?:^|:)[^!\n]*?!+\s*([^=\s].*)")
# What each program passes to a shell; for others, what follows an exclamation mark.
_ESCAPES = {
    "ipython": re.compile(r"^\s*(?:!+|%+(?:sx|system|bash|sh|script\s+\S+))\s*([^=].*)", re.DOTALL),
    "psql": re.compile(r"\\(?:!|[ogw]\s*\||copy\b.*\bprogram\b)\s*(.*)"),
    "sqlite3": re.compile(r"^\s*\.(?:shell|system|sh)\s+(.*)"),
    "gdb": re.compile(r"^\s*(?:shell|!|pipe|\||make)\s*(.*)"),
    "mysql": re.compile(r"(?:^\s*|\\)(?:system\s+|!\s*)(.*)"),
}
_FAMILIES = {"pypy": "python", "bpython": "python", "ptpython": "python", "nodejs": "node"}
_FAMILIES |= {"mariadb": "mysql", "Rscript": "R"}
_EDITORS = frozenset({"vim", "vi", "nvim", "view", "ex", "nano", "pico", "emacs", "micro", "joe"})
_PAGERS = frozenset({"less", "more", "most", "man", "top", "htop", "btop", "tig", "watch", "fzf"})
# To name a module is not to use it.
_IMPORT = re.compile(r"(?m)^\s*(?:import\s+[\w., ]+|from\s+[\w.]+\s+import\s+[\w*,() ]+)$")
# After these an editor is left, and the shell takes the next line.
_LEAVES = re.compile(r"(?::\s*(?:w?q|x|wqa?|qa|exit?)a?!?|ZZ|ZQ|\x18)\s*$")


def family_of(program: str) -> str | None:
    """Return how a program takes text; None: it is neither a REPL nor an editor that we know.

    >>> family_of("python3.12"), family_of("vim.basic"), family_of("bash")
    ('python', 'vim', None)
    """
    base = re.sub(r"[\d.]+$", "", program.partition(".")[0])
    base = _FAMILIES.get(base, base)
    known = base in _INTERPRETERS or base in _ESCAPES or base in _EDITORS or base in _PAGERS
    return base if known else None


def judged_text(family: str | None, text: str, policy: Policy) -> Verdict:
    """Judge text that is typed into a program of a family.

    None: nobody knows the program. Then the shell may get the text after it, too.
    """
    if family is None and len(text) > LONGEST:
        return judged(text, Scope(), policy)
    verdict = ALLOWED
    left = family is None
    for line in text.split("\n"):
        if left:
            verdict = stricter(verdict, judged(line, Scope(), policy))
        if (escape := _ESCAPES.get(family or "", _BANG).search(line)) is not None:
            verdict = stricter(verdict, judged(escape[1], Scope(), policy))
        left = left or (family in _EDITORS and _LEAVES.search(line) is not None)
    code = _IMPORT.sub("", text)
    if family in _INTERPRETERS and code.strip():
        code = f"{_INTERPRETERS[family]} {shlex.quote(code)}"
        verdict = stricter(verdict, judged(code, Scope(), policy))
    return verdict if verdict.span is None else replace(verdict, span=(0, len(text)))
