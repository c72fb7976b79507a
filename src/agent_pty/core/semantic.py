"""What a screen seems to say: prompt, command, errors, links, paths and spinners.

All of it is guessed from text, line by line. A rule that reports too much is useless, so each rule
requires a sign that prose does not contain: `error: x` and `1 failed` are errors, `error handling`
and `0 failed` are not. A typed command is input: it is never an error or a spinner.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from agent_pty.core.prompt import command_in, looks_like_prompt

# A longer line is data, not a message; the rest of it is not examined.
_LONGEST: Final = 10_000

Kind = Literal["prompt", "error_like", "output", "url", "file_path"]
# First and last byte column, kind and text, whatever line it is on.
_Piece = tuple[int, int, Kind, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of one line; columns count UTF-8 bytes, and the end is exclusive."""

    line: int
    start_col: int
    end_col: int
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantic:
    """What a reader wants to know first; line numbers count from 0."""

    prompt: str | None
    command: str | None
    error_lines: tuple[int, ...]
    urls: tuple[str, ...]
    file_paths: tuple[str, ...]
    spinner_lines: tuple[int, ...]


def spans(text: str) -> list[Span]:
    """Cut *text* into spans: for each line that is not blank the line, its URLs, its paths."""
    return [
        Span(line=number, start_col=start, end_col=end, kind=kind, text=words)
        for number, line in _lines(text)
        for start, end, kind, words in _judged(line).pieces
    ]


def summarise(text: str) -> Semantic:
    """Summarise *text*: the last prompt and command, everything else in order, each once."""
    found = spans(text)
    judged = {number: _judged(line) for number, line in _lines(text)}
    prompts = _texts(found, "prompt")
    typed = {number: line.command for number, line in judged.items() if line.command}
    return Semantic(
        prompt=prompts[-1] if prompts else None,
        command=list(typed.values())[-1] if typed else None,
        error_lines=tuple(span.line for span in found if span.kind == "error_like"),
        urls=_unique(_texts(found, "url")),
        file_paths=_unique(_texts(found, "file_path")),
        spinner_lines=tuple(n for n, line in judged.items() if n not in typed and line.spinner),
    )


def _texts(found: list[Span], kind: Kind) -> list[str]:
    return [span.text for span in found if span.kind == kind]


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Number the lines that are not blank.

    Only newlines separate lines: `splitlines` would also count form feeds and U+2028, and then
    the numbers would not be those of the screen.
    """
    return ((n, line) for n, line in enumerate(text.split("\n")) if line and not line.isspace())


class _Line(NamedTuple):
    pieces: tuple[_Piece, ...]
    command: str | None
    spinner: bool


# Most lines are the same from one reading to the next, and the result does not depend on the row.
@lru_cache(maxsize=1024)
def _judged(line: str) -> _Line:
    pieces = tuple(_line_pieces(line))
    return _Line(pieces=pieces, command=command_in(line), spinner=_is_spinner(line))


def _line_pieces(line: str) -> Iterator[_Piece]:
    near = line[:_LONGEST]
    urls = list(_url_places(near))
    left = len(line) - len(line.lstrip())
    yield from _located(line, _line_kind(line), [(left, len(line.rstrip()))])
    yield from _located(line, "url", urls)
    yield from _located(line, "file_path", _path_places(near, urls))


def _line_kind(line: str) -> Kind:
    if looks_like_prompt(line):
        return "prompt"
    if _is_error(line[:_LONGEST]) and command_in(line) is None:
        return "error_like"
    return "output"


def _located(line: str, kind: Kind, places: Iterable[tuple[int, int]]) -> Iterator[_Piece]:
    """Turn character places, in order, into pieces: each byte is counted once."""
    column = done = 0
    for start, end in places:
        column += _width(line[done:start])
        text = line[start:end]
        width = _width(text)
        yield column, column + width, kind, text
        column, done = column + width, end


def _width(text: str) -> int:
    # A lone surrogate stands for a byte that was not UTF-8: it must not raise here.
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# A bracket belongs to the URL only together with its partner: `wiki/Foo_(bar)` keeps its pair; in
# `(see https://x.y)` and `[text](https://x.y)` the closing bracket is not part of the URL.
_IN_URL = r"[^\s\x00-\x1f<>\"'`\\|()\[\]{}\u00ab\u00bb\u2018-\u201f\u3001\u3002\uff09\uff0c]"
_URL = re.compile(
    rf"[Hh][Tt][Tt][Pp][Ss]?://(?=[\w\[])"
    rf"(?:{_IN_URL}++|\({_IN_URL}*+\)|\[{_IN_URL}*+\]|\{{{_IN_URL}*+\}})++"
)


def _url_places(line: str) -> Iterator[tuple[int, int]]:
    """Find URLs, without the punctuation of the sentence around them."""
    for found in _URL.finditer(line):
        yield found.start(), found.start() + len(found[0].rstrip(".,;:!?*\u2026"))


# A token starts only outside other tokens, or a long one would be tried at each of its letters.
# A capital after dashes is a compiler's option joined to its folder: `-I/usr/include`.
_PATH_TOKEN = re.compile(
    r"(?<![\w./@+~-])(?:-++(?:[A-Z](?=[./~]))?)?"
    r"(?P<name>(?:~(?=/))?(?=[\w@+-]*+[./])[\w./@+-]++)"
    r"(?P<place>(?::\d++(?![\w/])(?::\d++(?![\w/]))?)?)"
)
_EXTENSION = re.compile(
    r"\.(?:bash|c|cc|cfg|clj|conf|cpp|cs|css|csv|cxx|diff|ex|exs|go|h|hpp|hs|html|ini|ipynb|java|js"
    r"|json|jsonl|jsx|kt|lock|log|lua|md|mjs|ml|patch|php|pl|py|pyi|rb|rs|rst|scala|sh|sql|svg"
    r"|swift|toml|ts|tsx|txt|vue|xml|ya?ml|zig|zsh)$"
)
_DOTFILE = re.compile(r"\.[a-z]\w*(?:attributes|config|env|ignore|modules|profile|rc)$|\.env$")
_ROOT = re.compile(
    r"/(?:Applications|Library|Users|bin|boot|dev|etc|home|lib|lib64|media|mnt|opt|private|proc"
    r"|root|run|sbin|srv|sys|tmp|usr|var)$"
)
# `1/2`, `12/25/2024`, `3.1MB/8MB`, `5/s`: amounts, not names.
_QUANTITY = re.compile(r"~?(?:[\d.]++[A-Za-z]{0,3}(?:/|$))++(?:s|sec|min|h)?$|\w++/s(?:ec)?$")
_PRODUCT = re.compile(r"\w++/\d++(?:\.\d++)++$|HTTP/\d$")
_PROSE: Final = frozenset({"and/or", "either/or", "i/o", "n/a", "tcp/ip", "w/o", "y/n", "yes/no"})


def _path_places(line: str, urls: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Find paths between the URLs."""
    starts = [0, *(end for _, end in urls)]
    ends = [*(start for start, _ in urls), len(line)]
    for start, end in zip(starts, ends, strict=True):
        for token in _PATH_TOKEN.finditer(line, start, end):
            if place := _path_place(line, token):
                yield place


def _path_place(line: str, token: re.Match[str]) -> tuple[int, int] | None:
    start = token.start("name")
    name, place = token["name"], token["place"]
    # `</div>` is a tag, `localhost:3000/build` an address without its scheme.
    before = line[start - 1] if start else " "
    if before == "<" or (before == ":" and name[0].isdigit()):
        return None
    if not place:
        name = name.rstrip("./-+@")
    return (start, start + len(name) + len(place)) if _is_path(name, place) else None


def _is_path(name: str, place: str) -> bool:
    if not any(map(str.isalnum, name)) or name.startswith("//"):
        return False
    if "/" not in name:
        return _is_file_name(name, place)
    if name.startswith("/") and "/" not in name[1:]:
        return bool(place) or _ROOT.match(name) is not None or _EXTENSION.search(name) is not None
    return not (_QUANTITY.match(name) or _PRODUCT.match(name) or name.casefold() in _PROSE)


def _is_file_name(name: str, place: str) -> bool:
    """Accept a name without a folder only if its ending is known: `example.com:80` is a host."""
    if not _EXTENSION.search(name):
        return _DOTFILE.match(name) is not None
    # `Node.js` and `Vue.js` are products, `Node.js:12` is a file.
    return bool(place) or not (name[0].isupper() and name.endswith(".js"))


# Phrases that say there was no error are removed first; then the rest is searched for an error.
_NONE = re.compile(
    r"\b(?:0|no|zero|without) (?:[a-z]++ )?(?:error|fail(?:ed|ure)|exception|panic)s?\b(?!:)"
    r"|(?:error|fail(?:ed|ure)?|exception)s?\"? ?[:=] *+"
    r"(?:(?:0|none|null|false|no(?! \w))\b|\[\]|\"\")",
    re.IGNORECASE,
)
# Cheap to find, and every fault below contains one: most lines need no further search.
_STEMS: Final = (
    *("error", "fail", "fatal", "panic", "exception", "traceback", "critical", "err!"),
    *("exit", "fault", "dumped", "not found", "no such", "denied"),
)
# Each branch begins with a letter, so that the search can skip ahead; a look-behind comes after it.
_FAULT = re.compile(
    r"(?:[Ee]rror|[Ff]atal|[Pp]anic|[Ee]xception)(?:\[\w++\]| [A-Z]++\d++|\")?:(?!:)"
    r"|[Ee]rror(?:\[[A-Z]++\d++\]| [1-9]\d*+\b)"
    r"|[CEFP](?<!\w\w)(?:RROR|RR!|ATAL|AILED|AILURE|AIL|ANIC|RITICAL)(?!\w)"
    r"|level=error\b|\[error\b"
    r"|[1-9](?<![\d.,]\d)\d*+ (?:[a-z]++ )?(?:failed|failures?|errors?)\b"
    r"|(?:[Ee]rrors|[Ff]ailed|[Ff]ailures) ?[:=] ?[1-9]"
    r"|[Ff]ailed(?::|!| with |\.?$)|Failed to "
    r"|Traceback \(most recent|panicked at |Exception in thread"
    r"|exit(?:ed with)? (?:code|status) [1-9]"
    r"|Segmentation fault|core dumped|command not found|No such file or|Permission denied"
)
# A class alone on its line, pytest's margin, and the crosses of test runners.
_FAULT_LINE = re.compile(r"[\w.]*(?:Error|Exception)$|E {2,}+\S|\s*+[✗✘✖❌] ")


def _is_error(line: str) -> bool:
    if _FAULT_LINE.match(line.rstrip()):
        return True
    lowered = line.lower()
    if not any(stem in lowered for stem in _STEMS):
        return False
    return _FAULT.search(_NONE.sub("", line)) is not None


_GLYPH = (
    r"[\u2801-\u28ff◐◑◒◓◜◝◞◟◠◡◢◣◤◥◰◱◲◳◴◵◶◷▖▗▘▝▁▂▃▄▅▆▇█✢✳✶✻✽⏳⌛"
    r"\U0001f311-\U0001f318\U0001f550-\U0001f567]"
)
# A plain stroke may also be a bullet, a table or a path, so its text must say that work continues.
_SPINNER = re.compile(
    rf"\s*+{_GLYPH}(?!\S)|\s*+[|/\\-] (?!.*\|)(?=\S+ing\b|.*(?:\.\.\.|…))|.*\s{_GLYPH}\s*+$"
)


def _is_spinner(line: str) -> bool:
    """Recognise a spinner by its glyph, or by a word of waiting with dots or a stroke."""
    near = line[:_LONGEST]
    if _SPINNER.match(near):
        return True
    words = near.casefold()
    return any(word in words for word in ("running", "loading", "waiting")) and any(
        sign in words for sign in ("...", "…", " - ", " | ")
    )
