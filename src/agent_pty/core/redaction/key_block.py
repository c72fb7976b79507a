"""Private keys of many lines: from BEGIN to END, however many reads they came in."""

from __future__ import annotations

from agent_pty.core.redaction.pattern import compiled

_NAME = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?"
_BEGIN = compiled(rf"-----BEGIN {_NAME}-----")
_END = compiled(rf"-----END {_NAME}-----")
_PUTTY = compiled(r"^\s*Private-Lines: *([0-9]{1,4})\s*$")
# A line of such a block: base64, perhaps indented, quoted or marked by diff, or one of its headers.
_BODY = compiled(
    r"^[\s+|>#*\"'-]{0,24}(?:[0-9]{1,6}[:|\s]\s*)?(?:[A-Za-z0-9+/=\\]{1,}[\s\"',\\n]*"
    r"|[A-Za-z][A-Za-z0-9-]*: ?[^\r\n]*)?\s*$"
)
_BASE64 = compiled(r"^[A-Za-z0-9+/=]+$")
_MOST_LINES = 500
# A pager draws other lines between those of a key; so many of them do not end it.
_MOST_FOREIGN = 3
_SURELY_BODY = compiled(r"^[A-Za-z0-9+/]{40,}={0,2}\s*$")
# Lines of a key in the middle of an excerpt that has neither its beginning nor its end.
_FULL_LINE = compiled(r"^(?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70})$")
_LEAST_FULL_LINES = 4


def headless_keys(text: bytes) -> list[tuple[int, int]]:
    """Return the parts of a text that are the rest of a private key without its beginning.

    A screen or another excerpt may begin in the middle of a key, and a line editor that redraws
    a long paste shows its end again.
    """
    found, after = [], 0
    for end in _END.finditer(text):
        if _BEGIN.search(text[after : end.start()]) is None:
            start = end.start()
            for line in reversed(text[after : end.start()].splitlines(keepends=True)):
                if not _BASE64.search(line.strip()):
                    break
                start -= len(line)
            if start < end.start():
                found.append((start, end.start()))
        after = end.end()
    return found + _middles(text, found)


def _middles(text: bytes, known: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return rows of full lines, as in the middle of a key; certificates show how they begin."""
    found, begun, position, framed = [], None, 0, False
    for line in [*text.splitlines(keepends=True), b""]:
        stripped = line.strip()
        if _FULL_LINE.search(stripped) and not framed:
            begun = position if begun is None else begun
        else:
            if begun is not None and text.count(b"\n", begun, position) >= _LEAST_FULL_LINES:
                found.append((begun, position))
            begun = None
            framed = stripped.startswith(b"-----BEGIN") or (framed and b"-----END" not in stripped)
        position += len(line)
    return [
        one for one in found if not any(start < one[1] and one[0] < end for start, end in known)
    ]


class KeyBlock:
    """Follows the lines of a text; a block that is cut off ends with the first other line."""

    def __init__(self, left: int = 0) -> None:
        self._left = left
        self._foreign = 0

    @property
    def left(self) -> int:
        """How many of the next lines may belong to a key that has begun; 0: none has."""
        return self._left

    def hidden(self, text: bytes) -> list[tuple[int, int]]:
        """Return which parts of this line belong to a private key."""
        hidden: list[tuple[int, int]] = []
        position = 0
        if self._left and not self._goes_on(text):
            self._foreign += 1
            if self._foreign > _MOST_FOREIGN:
                self._left = self._foreign = 0
            elif _BEGIN.search(text) is None:
                return []
        while True:
            if self._left:
                end = _END.search(text, position)
                stop = end.start() if end else len(text.rstrip(b"\r\n"))
                if stop > position:
                    hidden.append((position, stop))
                if end is None:
                    self._left -= 1
                    return hidden
                self._left, position = 0, end.end()
            begin = _BEGIN.search(text, position)
            if begin is None:
                break
            self._left, self._foreign, position = _MOST_LINES, 0, begin.end()
        putty = _PUTTY.search(text)
        if putty:
            self._left = int(putty.group(1)) + 1
        return hidden

    def _goes_on(self, text: bytes) -> bool:
        """Whether a line belongs to the key; after another line only what surely does."""
        if _END.search(text):
            return True
        line = text.rstrip(b"\r\n")
        shown = line.rpartition(b"\r")[2]  # a pager overwrites its prompt
        if _SURELY_BODY.search(shown):
            self._foreign = 0
            return True
        return self._foreign == 0 and _BODY.search(line) is not None
