"""Secrets that are recognised by the name beside them: assignments, fields, flags, prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_pty.core.redaction.found import Found
from agent_pty.core.redaction.pattern import compiled
from agent_pty.core.redaction.program_text import is_type, is_variable
from agent_pty.core.redaction.secret_name import is_no_secret, is_secret_name, is_telling

_MARKER = "[REDACTED]"  # of a plain assignment, as the first evidence logs had it
_HINT = r"(?:token|secret|pass|pwd|psk|pw|key|auth|credential)"
_NAME = rf"([A-Za-z0-9_.$-]*{_HINT}[A-Za-z0-9_.-]*)"
# A string, perhaps with a prefix of Python's; one that does not end goes to the end of the line.
_QUOTED = (
    r"[rbuf]{0,2}(?:"
    r"\\\"((?:[^\"\\]|\\[^\"])*)(?:\\\"|$)"
    r"|\"((?:[^\"\\]|\\.)*)(?:\"|\\?$)"
    r"|'((?:[^'\\]|\\.)*)(?:'|\\?$))"
)
_BARE = r"([^\s\"'`;]+)"
_VALUE = f"(?:{_QUOTED}|{_BARE})"
# Groups: what is before the name, the name, the sign, and four forms of the value.
_ASSIGNED = compiled(
    rf"([?&]?){_NAME}(?:\\?[\"'`])?\]?[ \t]{{0,40}}(=>|:=|\+=|=|:)[ \t]{{0,40}}{_VALUE}", case=False
)
# A name, blanks and the value: flags, and how other shells and files assign.
_FLAG = compiled(rf"(?:^|[\s\[(\"'])--?{_NAME}[ \t]+{_VALUE}", case=False)
_SET = compiled(
    rf"(?:^|[\s;])(?:set(?:[ \t]+-+[a-zA-Z-]+)+|setenv|env|arg|export)[ \t]+{_NAME}[ \t]+{_VALUE}",
    case=False,
)
_LOGIN = compiled(
    r"(?:\blogin[ \t]+\S+|\bmachine[ \t]+\S+)[ \t]+password[ \t]+(\S+)"
    r"|^[ \t]*password[ \t]+([^\s=:]*[0-9][^\s=:]*)[ \t]*$",
    case=False,
)
# In a sentence and in a table only a blank stands between, so the value must speak for itself.
_SPOKEN = rf"((?:api|access|secret|private|signing)[ \t]key|[A-Za-z0-9_.$-]*{_HINT}[A-Za-z0-9_.-]*)"
_TOLD = compiled(
    rf"{_SPOKEN}(?:[ \t]+(?:is|was|now|set to))?:?[ \t]+[\"'`]?([A-Za-z0-9_./+=!@#%^&*-]{{6,}})",
    case=False,
)
_ELEMENT = compiled(rf"<{_NAME}(?:[ \t][^>]*)?>([^<>]+)</", case=False)
_ATTRIBUTE = compiled(rf"\b(?:name|key)=[\"']{_NAME}[\"'][ \t]+value=[\"']([^\"']+)", case=False)
_WORDS = compiled(
    r"(?:mnemonic|seed|(?:seed|recovery) phrase)\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?"
    r"((?:[a-z]+[ ,]+){11,23}[a-z]+)",
    case=False,
)
_LONG_ENOUGH = 16
# A name that is only this has other meanings, too.
_WEAK = frozenset({"pass", "pwd", "oldpwd", "pw", "psk", "auth", "key"})
_ASKED = compiled(
    r"(?:^|\S )\[?(?:\S+ )*(?:password|passphrase|passcode|passwort|\bpin|verification code)"
    r"(?:[ \t]+(?:for|of|to)[ \t]+[^:]{1,80})?(?:[ \t]*\([^)]*\))?[ \t]*:[ \t]*(\S.*)$",
    case=False,
)
# A word that goes on a sentence, not the name of the next field.
_NEXT_WORD = re.compile(rb"\s+[A-Za-z][A-Za-z'-]*(?![\w]*\s*[:=])")


def named_values(text: bytes) -> Iterator[Found]:
    """Yield the values that stand beside a name that promises a secret."""
    yield from _assigned(text)
    for pattern, kind in ((_FLAG, "flag"), (_SET, "assignment")):
        for match in pattern.finditer(text):
            name = _text(match.group(1))
            start, end = _value_span(match, after=1)
            value = _text(text[start:end])
            if is_secret_name(name) and not value.startswith("-") and not is_no_secret(value, name):
                yield Found.at(_trimmed(text, start, end), kind)
    yield from _told(text)
    for match in _LOGIN.finditer(text):
        start, end = _value_span(match, after=0)
        if not is_no_secret(_text(text[start:end])):
            yield Found(start, end, "login")
    for match in _ASKED.finditer(text):
        value = _text(match.group(1)).strip()
        if len(value.split()) == 1 and not is_no_secret(value):
            yield Found.at(match.span(1), "prompt")


def _told(text: bytes) -> Iterator[Found]:
    """Yield what sentences, tables and markup say."""
    for match in _TOLD.finditer(text):
        value = _text(match.group(2))
        linked = text[match.end(1) : match.start(2)].strip(b" \t\"'`:") != b""
        long_enough = linked or len(value) >= _LONG_ENOUGH
        has_digit = any(map(str.isdigit, value))
        if (
            long_enough
            and has_digit
            and is_telling(value)
            and is_secret_name(_text(match.group(1)))
        ):
            yield Found.at(match.span(2), "field")
    for pattern in (_ELEMENT, _ATTRIBUTE):
        for match in pattern.finditer(text):
            if is_secret_name(_text(match.group(1))) and not is_no_secret(_text(match.group(2))):
                yield Found.at(match.span(2), "field")
    for match in _WORDS.finditer(text):
        yield Found.at(match.span(1), "seed_phrase")


def _assigned(text: bytes) -> Iterator[Found]:
    """Yield values after `=` and `:`.

    A match that is no secret may hide one that begins inside of it, so the search goes on
    behind its name.
    """
    position = 0
    while (match := _ASSIGNED.search(text, position)) is not None:
        position = match.end(2) + 1
        if not is_secret_name(_text(match.group(2))):
            continue
        found = _assigned_secret(text, match)
        if found is not None:
            yield found
            position = found.end


def _assigned_secret(text: bytes, match: re.Match[bytes]) -> Found | None:
    start, end = _value_span(match, after=3)
    bare = match.group(match.re.groups) is not None
    in_query = bool(match.group(1)) and bare
    if in_query:  # the next field begins at `&`
        end = start + len(text[start:end].split(b"&")[0])
    name, value = _text(match.group(2)), _text(text[start:end])
    is_equals = match.group(3).endswith(b"=")
    spaced = b" " in text[match.end(2) : start]
    if (
        is_no_secret(value, name, spoken=spaced or not is_equals)
        or (_is_weak(text, match, spaced=spaced) and not is_telling(value))
        or (bare and _is_program_text(text, value, match, spaced=spaced))
        or (not bare and _is_quoted_name(text, match))
    ):
        return None
    if not is_equals:
        return Found.at(_trimmed(text, start, end) if bare else (start, end), "field")
    return Found(start, end, "assignment", _MARKER if bare and not in_query else "")


def _value_span(match: re.Match[bytes], *, after: int) -> tuple[int, int]:
    """Return where the value stands: the only group after this one that took part."""
    spans = (match.span(number) for number in range(after + 1, match.re.groups + 1))
    return next(span for span in spans if span[0] >= 0)


def _is_weak(text: bytes, match: re.Match[bytes], *, spaced: bool) -> bool:
    """Whether name and sign alone say little: `pass: 12`, `image:latest`, a part of an address."""
    start, end = match.span(2)
    glued = match.group(3) == b":" and not spaced and text[end : end + 1] == b":"
    return _text(match.group(2)).lower() in _WEAK or (glued and text[start - 1 : start] != b'"')


def _is_program_text(text: bytes, value: str, match: re.Match[bytes], *, spaced: bool) -> bool:
    """Whether a program, or a sentence, says something about a secret."""
    plain, named = value.rstrip(",)]}"), match.start(2)
    if value.startswith(("(", "[", "{", "=")):
        return True
    if match.group(3) == b":" and text[named - 1 : named] == b":":
        return True  # a part of something like an ARN
    if match.group(3).endswith(b"="):
        return (spaced or plain != value) and is_variable(plain)
    if is_type(plain) or (plain != value and is_variable(plain)):
        return True
    if plain.lower() in _text(match.group(2)).lower() and plain[:1].isupper():
        return True  # `token: Token`
    return value.isalpha() and _NEXT_WORD.match(text, match.end()) is not None


def _is_quoted_name(text: bytes, match: re.Match[bytes]) -> bool:
    """Whether the quotes belong to the name: `the "Password:" prompt`."""
    start, end = match.span(2)
    before, after = text[start - 1 : start], text[match.end(3) : match.end(3) + 1]
    return before in (b'"', b"'") and before == after and text[end : end + 1] != before


def _trimmed(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Leave out the signs that close what is around a value."""
    return start, start + len(text[start:end].rstrip(b",)]}>"))


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
