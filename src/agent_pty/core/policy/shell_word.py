"""The words of a command line, expanded as a shell would: quotes, variables, braces.

What only the running shell can know is a hole. Substitutions are given to the caller, who knows
what they run and perhaps what they print.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from agent_pty.core.policy.ansi_c import unescaped
from agent_pty.core.policy.field import HOLE, Field
from agent_pty.core.policy.parameter import parameter
from agent_pty.core.policy.shell_scope import Scope

# Runs the text of a substitution; returns what it prints, None if that is not known.
Run = Callable[[str], str | None]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")
_PLAIN = re.compile(r"[\w./:=@%+,^-]+")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"\\$`]*)\"")
_UNQUOTED_RUN = re.compile(r"[^\\'\"$`<>]+")
_QUOTED_RUN = re.compile(r"[^\\$`]+")
_GLOB = frozenset("*?[")
_BLANKS = " \t\n"
_AT_BLANKS = re.compile(r"([ \t\n]+)")
_MOST_BRACES = 64
_MOST_RANGE = 100


class _Piece(NamedTuple):
    """A part of a word; what is not *quoted* may be split at blanks and may be a wildcard."""

    text: str
    quoted: bool
    literal: bool = True


class Words:
    """Expands words in one scope."""

    def __init__(self, scope: Scope, run: Run) -> None:
        self._scope = scope
        self._run = run

    def fields(self, source: str) -> list[Field]:
        """Return the arguments that a word becomes: none, one or several."""
        if _PLAIN.fullmatch(source):  # as most words are
            return [Field(source)]
        if quoted := _QUOTED.fullmatch(source):
            return [Field(quoted[1] or quoted[2] or "")]
        if source[:2] in ("<(", ">(") and source.endswith(")"):
            return [Field(f"/dev/fd/{HOLE}", script=self._run(source[2:-1]))]
        found: list[Field] = []
        for one in braces(source) if "{" in source else (source,):
            found += self._split(self._pieces(one))
        return found

    def text(self, source: str) -> str:
        """Return a word as one text, as in an assignment."""
        if _PLAIN.fullmatch(source):
            return source
        return "".join(" " if one is None else one.text for one in self._pieces(source))

    def heredoc(self, body: str) -> str:
        """Return a here-document in which variables and substitutions count."""
        return "".join(one.text for one in self._inside(body) if one is not None)

    # -- pieces: None separates the elements of "$@"

    def _pieces(self, source: str) -> list[_Piece | None]:
        pieces: list[_Piece | None] = []
        at = 0
        while at < len(source):
            char = source[at]
            if char == "\\":
                if source[at + 1 : at + 2] != "\n":
                    pieces.append(_Piece(source[at + 1 : at + 2], quoted=True))
                at += 2
            elif char == "'":
                end = _find(source, "'", at + 1)
                pieces.append(_Piece(source[at + 1 : end], quoted=True))
                at = end + 1
            elif source.startswith("$'", at):
                end = _closing_quote(source, at + 2, "'")
                pieces.append(_Piece(unescaped(source[at + 2 : end]), quoted=True))
                at = end + 1
            elif char == '"' or source.startswith('$"', at):
                start = at + 1 + (char == "$")
                end = _closing_double(source, start)
                pieces.append(_Piece("", quoted=True))
                pieces += self._inside(source[start:end])
                at = end + 1
            elif char in "$`":
                at = self._expansion(source, at, pieces, quoted=False)
            elif source[at : at + 2] in ("<(", ">("):
                end = _closing(source, at + 1)
                self._run(source[at + 2 : end])
                pieces.append(_Piece(HOLE, quoted=True))
                at = end + 1
            else:
                end = _run_end(_UNQUOTED_RUN, source, at)
                pieces.append(_Piece(source[at:end], quoted=False))
                at = end
        return pieces

    def _inside(self, source: str) -> list[_Piece | None]:
        """Return what stands between double quotes."""
        pieces: list[_Piece | None] = []
        at = 0
        while at < len(source):
            char = source[at]
            if char == "\\" and source[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
                pieces.append(_Piece(source[at + 1].replace("\n", ""), quoted=True))
                at += 2
            elif char in "$`":
                at = self._expansion(source, at, pieces, quoted=True)
            else:
                end = _run_end(_QUOTED_RUN, source, at)
                pieces.append(_Piece(source[at:end], quoted=True))
                at = end
        return pieces

    def _expansion(self, source: str, at: int, pieces: list[_Piece | None], *, quoted: bool) -> int:
        """Expand what begins with `$` or a backquote; return where the rest begins."""
        if source[at] == "`":
            end = _closing_quote(source, at + 1, "`")
            inner = re.sub(r"\\([$`\\])", r"\1", source[at + 1 : end])
            self._add_output(inner, pieces, quoted=quoted)
            return end + 1
        if source.startswith("$((", at) and (end := _arithmetic_end(source, at)) > 0:
            self._inside(source[at + 3 : end - 2])
            pieces.append(_Piece(HOLE, quoted=quoted, literal=False))
            return end
        if source.startswith("$(", at):
            end = _closing(source, at + 1)
            self._add_output(source[at + 2 : end], pieces, quoted=quoted)
            return end + 1
        if source.startswith("${", at):
            end = _closing(source, at + 1)
            content = source[at + 2 : end]
            if "$(" in content or "`" in content:  # it runs, whatever becomes of what it prints
                self._inside(content)
            values = parameter(content, self._scope, self.text)
            self._add_values(
                values, pieces, quoted=quoted, all_="@]" in content or content[:1] == "@"
            )
            return end + 1
        name = _NAME.match(source, at + 1)
        if name is None:
            pieces.append(_Piece("$", quoted=True))
            return at + 1
        values = parameter(name.group(), self._scope, self.text)
        self._add_values(values, pieces, quoted=quoted, all_=name.group() == "@")
        return name.end()

    def _add_output(self, source: str, pieces: list[_Piece | None], *, quoted: bool) -> None:
        printed = self._run(source)
        text = HOLE if printed is None else printed.rstrip("\n")
        pieces.append(_Piece(text, quoted=quoted, literal=False))

    @staticmethod
    def _add_values(
        values: tuple[str, ...], pieces: list[_Piece | None], *, quoted: bool, all_: bool
    ) -> None:
        for number, value in enumerate(values):
            if number:
                pieces.append(None if all_ or not quoted else _Piece(" ", quoted=True))
            pieces.append(_Piece(value, quoted=quoted, literal=False))

    # -- fields

    def _split(self, pieces: list[_Piece | None]) -> list[Field]:
        """Put the pieces together; what an expansion gave without quotes is split at blanks."""
        known = self._scope.variables.get("IFS")
        blanks = _BLANKS if known is None or HOLE in known[0] else known[0]
        splits = _AT_BLANKS if known is None else _at_any(blanks)
        found: list[Field] = []
        text, begun, glob = "", False, False

        def end() -> None:
            nonlocal text, begun, glob
            if begun:
                found.append(Field(text, glob))
            text, begun, glob = "", False, False

        for piece in pieces:
            if piece is None:
                end()
            elif piece.quoted or piece.literal:
                text, begun = text + piece.text, begun or piece.quoted or bool(piece.text)
                glob = glob or (not piece.quoted and not _GLOB.isdisjoint(piece.text))
            else:
                for part in splits.split(piece.text) if blanks else (piece.text,):
                    if part.strip(blanks):
                        text, begun = text + part, True
                        glob = glob or not _GLOB.isdisjoint(part)
                    elif part:
                        end()
        end()
        return found


def _at_any(characters: str) -> re.Pattern[str]:
    return re.compile(f"([{re.escape(characters)}]+)") if characters else _AT_BLANKS


# -- borders

# What matters between double quotes, and between brackets: the rest is passed over.
_IN_DOUBLE = re.compile(r"\\.?|[\"`]|\$[({]", re.DOTALL)
_IN_BRACKETS = re.compile(r"\\.?|['\"`(){}]|(?<!<)<<-?[ \t]*(['\"\\]?)(?P<word>[\w.-]+)", re.DOTALL)
_PAIRS = {"(": ")", "{": "}"}


def _run_end(run: re.Pattern[str], source: str, at: int) -> int:
    """Return where a run of characters ends that mean themselves; there is one at least."""
    found = run.match(source, at)
    return at + 1 if found is None else found.end()


def _find(source: str, what: str, start: int) -> int:
    end = source.find(what, start)
    return len(source) if end < 0 else end


def _closing_quote(source: str, start: int, quote: str) -> int:
    """Return where a quote ends that a backslash can keep open."""
    at = start
    while at < len(source) and source[at] != quote:
        at += 2 if source[at] == "\\" else 1
    return min(at, len(source))


def _closing_double(source: str, start: int) -> int:
    at = start
    while found := _IN_DOUBLE.search(source, at):
        at, what = found.end(), found.group()
        if what == '"':
            return at - 1
        if what == "`":
            at = _closing_quote(source, at, "`") + 1
        elif what in ("$(", "${"):
            at = _closing(source, at - 1) + 1
    return len(source)


def _closing(source: str, opening: int) -> int:
    """Return where the bracket at *opening* is closed; quotes and inner ones are passed over."""
    wanted = [_PAIRS[source[opening]]]
    at = opening + 1
    while found := _IN_BRACKETS.search(source, at):
        at, char = found.start(), found.group()
        if char[0] == "\\":
            at = found.end() - 1
        elif found["word"]:
            at = _here_document_end(source, found.end(), found["word"]) - 1
        elif char == "'" and wanted[-1] == ")":
            at = _find(source, "'", at + 1)
        elif char == '"':
            at = _closing_double(source, at + 1)
        elif char == "`":
            at = _closing_quote(source, at + 1, "`")
        elif char == wanted[-1]:
            wanted.pop()
            if not wanted:
                return at
        elif char == "(" or (char == "{" and source[at - 1] == "$"):
            wanted.append(_PAIRS[char])
        at += 1
    return len(source)


def _here_document_end(source: str, start: int, word: str) -> int:
    """Return where a here-document ends whose start ends at a place; there, if it has no end."""
    found = re.compile(rf"\n\t*{re.escape(word)}(?=\n|$)").search(source, start)
    return start if found is None else found.end()


def _arithmetic_end(source: str, at: int) -> int:
    """Return where `$((...))` ends; 0 if it is a substitution of a subshell."""
    end = _closing(source, at + 1)
    return end + 1 if source[end - 1 : end] == ")" and source[end : end + 1] == ")" else 0


# -- braces


def braces(source: str) -> list[str]:
    """Return the words that `{a,b}` and `{1..3}` make of one.

    >>> braces("r{m,}")
    ['rm', 'r']
    """
    found, done = [source], list[str]()
    while found and len(found) + len(done) < _MOST_BRACES:
        word = found.pop(0)
        parts = _first_brace(word)
        if parts is None:
            done.append(word)
            continue
        before, choices, after = parts
        found = [f"{before}{one}{after}" for one in choices] + found
    return done + found


def _first_brace(word: str) -> tuple[str, list[str], str] | None:
    at = 0
    while at < len(word):
        char = word[at]
        if char == "\\":
            at += 2
        elif char in "'\"`" or word[at : at + 2] in ("$(", "${", "$'"):
            at = _after_quoted(word, at)
        elif char == "{":
            choices = _choices(word, at)
            if choices is not None:
                inner, end = choices
                return word[:at], inner, word[end + 1 :]
            at += 1
        else:
            at += 1
    return None


def _after_quoted(word: str, at: int) -> int:
    """Return the place behind something in which braces mean nothing."""
    char = word[at]
    if char == "'":
        return _find(word, "'", at + 1) + 1
    if char == '"':
        return _closing_double(word, at + 1) + 1
    if char == "`":
        return _closing_quote(word, at + 1, "`") + 1
    if word.startswith("$'", at):
        return _closing_quote(word, at + 2, "'") + 1
    return _closing(word, at + 1) + 1


def _choices(word: str, at: int) -> tuple[list[str], int] | None:
    """Return what stands between braces, cut at its commas, and where they are closed."""
    depth, start, parts, place = 0, at + 1, list[str](), at
    while place < len(word):
        char = word[place]
        if char == "\\":
            place += 1
        elif char in "'\"`" or word[place : place + 2] in ("$(", "${", "$'"):
            place = _after_quoted(word, place) - 1
        elif char == "{":
            depth += 1
        elif char == "," and depth == 1:
            parts.append(word[start:place])
            start = place + 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                parts.append(word[start:place])
                return (parts, place) if len(parts) > 1 else _range(parts[0], place)
        place += 1
    return None


def _range(inner: str, place: int) -> tuple[list[str], int] | None:
    found = _RANGE.fullmatch(inner)
    if found is None:
        return None
    first, last, step = found.groups()
    numeric = first.lstrip("-").isdigit() and last.lstrip("-").isdigit()
    if not numeric and not (first.isalpha() and last.isalpha()):
        return None
    low, high = (int(first), int(last)) if numeric else (ord(first), ord(last))
    pace = abs(int(step or 1)) or 1
    numbers = range(low, high + 1, pace) if low <= high else range(low, high - 1, -pace)
    shown = [str(one) if numeric else chr(one) for one in numbers[:_MOST_RANGE]]
    return shown, place
