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
_MOST_LINES = 500


class KeyBlock:
    """Follows the lines of a text; a block that is cut off ends with the first other line."""

    def __init__(self) -> None:
        self._left = 0

    @property
    def open(self) -> bool:
        """Whether the next line may belong to a key, too."""
        return self._left > 0

    def hidden(self, text: bytes) -> list[tuple[int, int]]:
        """Return which parts of this line belong to a private key."""
        hidden: list[tuple[int, int]] = []
        position = 0
        if self._left and not self._goes_on(text):
            self._left = 0
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
            self._left, position = _MOST_LINES, begin.end()
        putty = _PUTTY.search(text)
        if putty:
            self._left = int(putty.group(1)) + 1
        return hidden

    def _goes_on(self, text: bytes) -> bool:
        return bool(_END.search(text) or _BODY.search(text.rstrip(b"\r\n")))
