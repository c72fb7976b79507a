"""Lines that a backslash at their end continues, as a shell joins them before it reads words."""

from __future__ import annotations

import re

_CONTINUATION = "\\\n"
# What matters outside of quotes: quotes, backslashes, comments, here-documents, ends of lines.
_OUTSIDE = re.compile(
    r"\\(?:.|$)|\$?'|\"|(?<![^\s;&|()])#[^\n]*|(?<!<)<<-?\s*(['\"\\]?)([\w.-]+)|\n",
    re.DOTALL,
)
_ANSI_C = re.compile(r"(?:[^'\\]|\\.)*'?", re.DOTALL)
_DOUBLE = re.compile(r"(?:[^\"\\]|\\.)*\"?", re.DOTALL)
_SINGLE = re.compile(r"[^']*'?")


def joined(text: str) -> str:
    """Join continued lines, except in comments and where quotes keep a backslash as it is."""
    if _CONTINUATION not in text:
        return text
    out, at, waiting = list[str](), 0, list[str]()
    while found := _OUTSIDE.search(text, at):
        out.append(text[at : found.start()])
        at, what = found.end(), found.group()
        if what == _CONTINUATION:
            continue
        out.append(what)
        if what == "\n" and waiting:
            end = _end_of_documents(text, at, waiting)
            out.append(text[at:end])
            at, waiting = end, []
        elif found[2]:
            waiting.append(found[2])
        elif what in ("'", "$'", '"'):
            inside = {"'": _SINGLE, "$'": _ANSI_C, '"': _DOUBLE}[what].match(text, at)
            quoted = inside.group() if inside is not None else ""
            out.append(quoted.replace(_CONTINUATION, "") if what == '"' else quoted)
            at += len(quoted)
    return "".join(out) + text[at:]


def _end_of_documents(text: str, at: int, words: list[str]) -> int:
    """Return where here-documents end that begin at a place; the end of the text if they do not."""
    for word in words:
        ends = re.compile(rf"(?m)^\t*{re.escape(word)}$").search(text, at)
        if ends is None:
            return len(text)
        at = ends.end()
    return at
