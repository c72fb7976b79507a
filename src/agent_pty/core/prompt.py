"""What a prompt looks like, for use when nothing but its text is known.

A prompt is a known shape that ends in its sign and starts at the left margin. The sign alone is
not enough: `100%`, `C#` and `costs 30$` end in one. Before it there must be nothing, a place
(`user@host:~/x`, `[user@host x]`, `/etc`) or a single name (`bash-5.2`, `sqlite`), so a sentence,
a number, a tag or a progress bar is not a prompt. Continuation prompts (`...`, `mydb-#`) ask for
the rest of a command and do not count. `>` alone counts only while nothing follows: with text it
is a quotation.

Marks of the shell integration are certain; this is a guess. Use it last.
"""

import re
from typing import Final

# Also the bound on every search below: the shapes are tried on no more than this many characters.
_LONGEST: Final = 200

# U+276F, the heavy angle of pure, starship and many themes, is escaped: it reads as `>`.
_DEBUGGER = r"\((?:[A-Za-z]{0,12}db(?:\+\+)?|dlv|rr|Cmd)\)"
_PYTHON = r">>>|In \[\d++\]:"
# oh-my-zsh "robbyrussell" has no sign at the end; its two blanks distinguish it from a bullet.
_ARROW = r"➜ {2}[^\s:]++(?: git:\([^()]*+\))?(?: ✗)?|➜(?!\s*\S)"
_BARE = r"(?P<bare>(?:\([^()]{1,40}\) )?[$%#]|[\u276fλ»]++)"
_BEFORE = r"(?:\([^()]{1,40}\) |\[[^\[\]]{1,40}\] |\d\d:\d\d(?::\d\d)? )*"

_AT_HOST = r"[\w.+\\-]++@[\w.-]++(?::? ?[~/].*?|[: ][\w.-]++)?(?: \([^()]*+\))? ?[$#%>\u276fλ»]"
_BRACKETED = r"\[[^\[\]@]*+@[^\[\]]*+\][~/\w.]*+ ?[$#%>]|\[(?=[^\[\]]*[A-Za-z])[^\[\]]++\][$#%]"
# `/>` closes a tag and `//` opens a comment.
_PATH = r"(?!/[/*>])[~/](?:[^\s$#%>]*+(?: \([^()]*+\)| \[[^\[\]]*+\])* ?[$#%>]|[^\u276f]*+\u276f++)"
_WINDOWS = r"(?:PS )?[A-Z]:\\[^<>|\"]*?>|PS [~/][^<>]*?>"
# At least two characters, because `C#` is a language; no `-` at the end, because `db-#` is psql's
# continuation prompt.
_NAME = r"[A-Za-z_][\w.-]++(?<=\w)[$#%]"
_TOOL = r"[*\w][\w.:*-]++(?:\([^()\s]*+\)[\w.:*]*+)?(?<=[\w)])>"
_DATABASE = r"\w\w++=[*!^]?[#>]|\w++(?: \w++)? \[[^\[\]]*+\](?: \w++)?>|[\w.-]++ :\d++ >"

_PLACED = f"{_AT_HOST}|{_BRACKETED}|{_PATH}|{_WINDOWS}|{_NAME}|{_TOOL}|{_DATABASE}"
_PROMPT = re.compile(rf"(?:{_DEBUGGER}|{_PYTHON}|{_ARROW}|{_BARE}|{_BEFORE}(?:{_PLACED}))(?!\S)")

_DEBUGGER_LINE = re.compile(rf"(?:{_DEBUGGER}|ipdb>)")
_SIGN = re.compile(r"[$#%\u276fλ»] \Z")
_AMOUNT = re.compile(r"(?:.*[\s~/])?[\d.,]++[%$]")

# A bare `#` or `%` is followed by a comment or a heading more often than by a command.
_SHELL_WORD = (
    r"(?:apk|apt|apt-get|awk|bash|cargo|cat|cd|chmod|chown|cp|curl|df|dnf|docker|du|echo|env|gcc|git"
    r"|grep|kubectl|ln|ls|mkdir|mv|npm|npx|perl|pip|printf|ps|pwd|pytest|python3?|rm|rustc|scp|sed"
    r"|seq|sh|sleep|ssh|sudo|systemctl|tar|tmux|uname|uv|vim?|wget|whoami|yum|zsh)(?!\S)"
)
_SHELL_SHAPE = r"(?:\.{0,2}|~)/\w|[A-Za-z_]\w*+=|[a-z][\w.+-]*+(?=.* (?:--?\w|\||&&|>)|.*\$[({A-Z])"
_SHELL = re.compile(f"{_SHELL_WORD}|{_SHELL_SHAPE}")


def _match(line: str) -> re.Match[str] | None:
    """Match the prompt at the start of *line*, the shortest one."""
    found = _PROMPT.match(line, 0, _LONGEST)
    if found is None or found.end() == _LONGEST or _AMOUNT.fullmatch(found[0]):
        return None
    return found


def looks_like_prompt(line: str) -> bool:
    """Say whether *line* is a prompt that waits for input: trailing blanks do not matter."""
    shown = line.rstrip()
    if shown == ">":
        return True
    found = _match(shown)
    return found is not None and found.end() == len(shown)


def is_debugger_prompt(line: str) -> bool:
    """Say whether *line* is the prompt of a debugger: it has no exit codes, whatever runs it."""
    return _DEBUGGER_LINE.fullmatch(line.rstrip()) is not None


def debugger_name(line: str) -> str | None:
    """Return the name in the prompt of a debugger; None for any other line.

    >>> debugger_name("(Pdb) "), debugger_name("ipdb> "), debugger_name(">>> ")
    ('pdb', 'ipdb', None)
    """
    return line.strip(" ()>").lower() if is_debugger_prompt(line) else None


def ends_in_sign(line: str) -> bool:
    """Say whether a sign of shells and a blank end *line*, whatever precedes: a weak guess."""
    return _SIGN.search(line) is not None and not _AMOUNT.fullmatch(line.rstrip())


def prompt_prefix(line: str) -> str | None:
    """Return the prompt of a line with a command typed after it, including its blank."""
    found = _match(line)
    if found is None:
        return None
    command = line[found.end() :].lstrip()
    if not command or (found["bare"] and not _is_typed(command, sign=found["bare"][-1])):
        return None
    return line[: len(line) - len(command)]


def command_in(line: str) -> str | None:
    """Return the command typed after the prompt of *line*."""
    prefix = prompt_prefix(line)
    return None if prefix is None else line[len(prefix) :].rstrip()


def _is_typed(text: str, *, sign: str) -> bool:
    """Distinguish a command from prose, headings, menus and prices that follow a bare sign."""
    if sign == "$":
        return not text[0].isdigit()
    if sign not in "#%":
        return not text[0].isupper()
    return _SHELL.match(text, 0, _LONGEST) is not None
