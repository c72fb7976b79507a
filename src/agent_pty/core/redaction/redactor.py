"""Take secrets out of a stream of terminal text, whatever borders its pieces have.

A line is held back until it ends, so that a secret that comes in pieces is seen whole. Cost is
linear: one quick look over all complete lines, and a closer one at those that need it.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Iterable

from agent_pty.core.redaction import token_shape
from agent_pty.core.redaction.address import address_secrets
from agent_pty.core.redaction.command_line import PROGRAMS, command_line_secrets
from agent_pty.core.redaction.found import Found
from agent_pty.core.redaction.key_block import KeyBlock
from agent_pty.core.redaction.mask import masked
from agent_pty.core.redaction.named_value import named_values
from agent_pty.core.redaction.pattern import compiled
from agent_pty.core.redaction.secret_name import OF_KEYS
from agent_pty.core.redaction.visible import Visible, unseen_strings, visible, without_noise

# The longest line that is held back. Of a longer one, what may be the beginning of a secret stays.
LONGEST_LINE = 65_536
_KEPT_OF_LONG = 4096
# Lines are looked at together first, about as many as have this many bytes.
_BLOCK = 4096
# A line in which more is found is left out as a whole, which costs a bounded time.
_MOST_FOUND = 500
_TOO_MANY = "too_many"
_MOST_SIGNS = 500
_SHORT = 4096
# A known value that is shorter would be found everywhere.
_SHORTEST_KNOWN = 6
# What a line must have to deserve a closer look.
_HINTS = "|".join(
    (
        r"token|secret|pass(?:w|phrase|code|[_=:\"'\\\s-]|$)|[a-z]pass\b|pwd|psk|\bpw\b|\bpin\b.*:",
        r"credential|cookie|bearer[ \t]|basic[ \t]+[a-z0-9+/=]{16}|verification code|private-lines",
        r"auth(?:orization|token|key|[_=:\"'\\\s-]|$)|mnemonic|(?:seed|recovery) phrase",
        rf"(?:{'|'.join(sorted(OF_KEYS))})[_. -]?keys?\b|x-[a-z-]*key|x-amz-|x-goog-",
        r"[?&;](?:sig|signature|hmac|key|code|jwt)=|://[^\s/]*@|://[^@]*:[^@]*@|\x1b\]52;|;apty=",
    )
)
_WORTH_A_LOOK = compiled(f"(?i:{_HINTS}|{PROGRAMS})|{token_shape.PATTERN}")
_CLIPBOARD = compiled(r"(?s)(?:\x1b\]|\xc2\x9d)52;[^;\x07\x1b]*;([^\x07\x1b]*)")
# A mark of ours: its secret, and what the shell says of its line.
_MARK = compiled(r"(?s)^(?:\x1b\]|\xc2\x9d)133;[A-Z](?:;[0-9]*)?;apty=([^\x07\x1b]*)")
MARK_KIND = "mark"
# A line that may be the rest of a token which the end of the line before it cut.
_REST_OF_TOKEN = compiled(r"^[A-Za-z0-9_+/=.-]{8,}\s*$")
_TOKEN_AT_END = compiled(r"[A-Za-z0-9_+/=.-]{16,}\r?$")


class Redactor:
    """One stream of text. *known* are values that are secret whatever they look like.

    With *in_place* what is taken out is covered instead: the text keeps its cells and its bytes.
    It begins in the middle of a private key if that may have *key_lines* more.
    """

    def __init__(
        self, known: Iterable[bytes] = (), *, in_place: bool = False, key_lines: int = 0
    ) -> None:
        self._in_place = in_place
        # One of several lines is never seen whole.
        parts = (part for one in known for part in one.splitlines())
        values = {one for one in parts if len(one) >= _SHORTEST_KNOWN}
        self._known = sorted(values, key=len, reverse=True)
        self._block = KeyBlock(key_lines)
        self._in_block = key_lines > 0
        self._cut_token: Found | None = None
        self._held = b""
        self.counts: Counter[str] = Counter()

    def copied(self) -> Redactor:
        """Return another one in the same state, which has counted nothing yet."""
        made = copy.deepcopy(self)
        made.counts.clear()
        return made

    def feed(self, data: bytes) -> bytes:
        """Take a piece; return what can be shown by now."""
        self._held += data
        end = self._held.rfind(b"\n") + 1
        ready, self._held = self._held[:end], self._held[end:]
        pieces = [self._redacted(ready)]
        while len(self._held) > LONGEST_LINE:
            end = _safe_border(self._held[:LONGEST_LINE])
            pieces.append(self._line(self._held[:end]))
            self._held = self._held[end:]
        return b"".join(pieces)

    @property
    def held(self) -> int:
        """How many bytes are held back, because their line has not ended."""
        return len(self._held)

    @property
    def key_lines(self) -> int:
        """How many of the next lines may belong to a private key; 0: none has begun."""
        return self._block.left

    def peek(self) -> bytes:
        """Return what is held back as it would be shown if nothing followed."""
        return copy.deepcopy(self).close()

    def close(self) -> bytes:
        """Return what is left, although its line has not ended."""
        ready, self._held = self._held, b""
        return self._redacted(ready)

    def _redacted(self, data: bytes) -> bytes:
        """Redact whole lines; a block of them in which nothing stands out is left as it is."""
        pieces: list[bytes] = []
        position = 0
        while position < len(data):
            end = data.find(b"\n", position + _BLOCK) + 1 or len(data)
            block = data[position:end]
            position = end
            if self._expects_more or self._is_worth_a_look(block):
                self._lines(block, pieces)
            else:
                pieces.append(block)
        return b"".join(pieces)

    def _lines(self, block: bytes, pieces: list[bytes]) -> None:
        """Redact the lines of a block that may have a secret, and take the others as they are."""
        if self._known or without_noise(block) is not block:
            *whole, rest = block.split(b"\n")
            pieces += [self._long_line(one) + b"\n" for one in whole]
            pieces.append(self._long_line(rest))
            return
        position = 0
        while position < len(block):
            start = position
            if not self._expects_more:
                found = _WORTH_A_LOOK.search(block, position)
                if found is None:
                    break
                start = block.rfind(b"\n", position, found.start()) + 1 or position
            end = block.find(b"\n", start)
            end = len(block) if end < 0 else end
            pieces += [
                block[position:start],
                self._long_line(block[start:end]),
                block[end : end + 1],
            ]
            position = end + 1
        pieces.append(block[position:])

    @property
    def _expects_more(self) -> bool:
        """Whether the next line may belong to a secret of the lines before."""
        return self._in_block or self._cut_token is not None

    def _is_worth_a_look(self, data: bytes) -> bool:
        text = without_noise(data)
        return bool(
            _WORTH_A_LOOK.search(text)
            or (text is not data and _WORTH_A_LOOK.search(data))
            or any(one in text for one in self._known)
        )

    def _long_line(self, line: bytes) -> bytes:
        """Redact one line, without the newline that ends it, in parts of a bounded length."""
        pieces = []
        while len(line) > LONGEST_LINE:
            end = _safe_border(line[:LONGEST_LINE])
            pieces.append(self._line(line[:end]))
            line = line[end:]
        return b"".join([*pieces, self._line(line)])

    def _line(self, line: bytes) -> bytes:
        if not line or not (self._expects_more or self._is_worth_a_look(line)):
            return line
        seen = visible(line)
        crowded = _is_crowded(seen.text)
        found = self._hidden(seen.text) if crowded else self._found(seen.text)
        if crowded or len(found) > _MOST_FOUND:
            self.counts[_TOO_MANY] += 1
            return self._without_all(seen, line)
        found = _without_overlap(found)
        places = [(one, list(seen.ranges(one.start, one.end))) for one in found]
        places += [(one, [(one.start, one.end)]) for one in _in_strings(line)]
        for one, _ in places:
            if one.kind != MARK_KIND:  # that is nobody's secret but ours
                self.counts[one.kind] += 1
        return _replaced(line, places, in_place=self._in_place)

    def _without_all(self, seen: Visible, line: bytes) -> bytes:
        """Leave a whole line out."""
        everything = Found(0, len(line), _TOO_MANY)
        if not self._in_place:
            return everything.shown
        return _replaced(line, [(everything, list(seen.ranges(0, len(seen.text))))], in_place=True)

    def _hidden(self, text: bytes) -> list[Found]:
        """Follow private keys; their state counts for the next line, whatever becomes of this."""
        hidden = self._block.hidden(text)
        self._in_block = self._block.left > 0
        return [Found(start, end, "private_key") for start, end in hidden]

    def _found(self, text: bytes) -> list[Found]:
        """Return every secret of a line's text; of two at one place the first of these stays."""
        found = self._hidden(text)
        found += self._rest_of_token(text)
        for value in self._known:
            position = -1
            while (position := text.find(value, position + 1)) >= 0:
                found.append(Found(position, position + len(value), "known_value"))
        found += named_values(text)
        found += command_line_secrets(text)
        found += address_secrets(text)
        found += token_shape.tokens(text)
        self._note_cut_token(text, found)
        return found

    def _rest_of_token(self, text: bytes) -> list[Found]:
        cut, self._cut_token = self._cut_token, None
        if cut is None or not _REST_OF_TOKEN.search(text):
            return []
        return [Found(0, len(text.rstrip()), cut.kind)]

    def _note_cut_token(self, text: bytes, found: list[Found]) -> None:
        """Remember a token that reaches to the end of a line: a narrow terminal cuts it there."""
        end = len(text.rstrip(b"\r"))
        if _TOKEN_AT_END.search(text):
            self._cut_token = next(
                (one for one in found if one.end >= end and one.kind != "private_key"), None
            )


def redacted(text: str, known: Iterable[str] = ()) -> str:
    """Return a text without its secrets.

    >>> redacted("export API_TOKEN=abcdef")
    'export API_TOKEN=[REDACTED]'
    """
    redactor = Redactor(one.encode(errors="surrogateescape") for one in known)
    data = redactor.feed(text.encode(errors="surrogateescape")) + redactor.close()
    return data.decode(errors="surrogateescape")


def _is_crowded(text: bytes) -> bool:
    """Whether a line has so many signs of secrets that a closer look would take too long."""
    return len(text) > _SHORT and any(
        True for _ in itertools.islice(_WORTH_A_LOOK.finditer(text), _MOST_SIGNS, None)
    )


def _safe_border(held: bytes) -> int:
    """Return where a line that is too long can be cut: at a blank, not inside a token."""
    limit = len(held) - _KEPT_OF_LONG
    blank = max(held.rfind(b" ", 0, limit), held.rfind(b"\r", 0, limit), held.rfind(b",", 0, limit))
    return blank + 1 if blank > 0 else limit


def _without_overlap(found: list[Found]) -> list[Found]:
    """Return them in order of place; what overlaps an earlier one of the list only extends it."""
    kept: list[Found] = []
    for one in found:
        if one.start >= one.end:
            continue
        clash = [other for other in kept if one.start < other.end and other.start < one.end]
        if not clash:
            kept.append(one)
            continue
        first = clash[0]
        kept = [other for other in kept if other not in clash]
        start = min(one.start, *(other.start for other in clash))
        end = max(one.end, *(other.end for other in clash))
        kept.append(Found(start, end, first.kind, first.marker))
    return sorted(kept, key=lambda one: one.start)


def _in_strings(line: bytes) -> Iterable[Found]:
    """Return the secrets in what a terminal takes without showing it."""
    for start, end in unseen_strings(line):
        string = line[start:end]
        clipboard = _CLIPBOARD.search(string)
        if clipboard and clipboard.group(1):
            yield Found(start + clipboard.start(1), start + clipboard.end(1), "clipboard")
            continue
        mark = _MARK.search(string)
        if mark:
            yield Found(start + mark.start(1), start + mark.end(1), MARK_KIND)
            continue
        inner = [*named_values(string), *address_secrets(string), *token_shape.tokens(string)]
        for one in _without_overlap(inner):
            stop = min(one.end, len(string.rstrip(b"\x07\\\x1b")))
            yield Found(start + one.start, start + stop, one.kind)


def _replaced(
    line: bytes, places: list[tuple[Found, list[tuple[int, int]]]], *, in_place: bool
) -> bytes:
    """Put the marker at the first range of each; the others vanish, escapes between them stay.

    What is covered *in_place* does not vanish but is covered, too.
    """
    changes: list[tuple[int, int, bytes]] = []
    for one, ranges in places:
        for number, (start, end) in enumerate(ranges):
            changes.append((start, end, one.shown if number == 0 else b""))
    pieces, position = [], 0
    for start, end, shown in sorted(changes):
        if end <= position:
            continue
        begin = max(start, position)  # what overlaps the one before only extends it
        marker = shown if begin == start else b""
        pieces += [line[position:begin], masked(line[begin:end], marker) if in_place else marker]
        position = end
    return b"".join([*pieces, line[position:]])
