"""Which part of a program's output may reach a person's own terminal.

Rule of this file: an allow-list. Text, colours, cursor movement and the modes that a
full-screen program needs pass. Everything that makes a terminal answer (device queries,
title and setting reports, answerback), write to a clipboard, print, resize or retitle itself
is left out, and so is everything unknown: a reply would come back as typed input.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

# Colours, cursor, erase, insert, delete, scroll, tabs, margins; `s`, `u` save and restore.
_CSI_FINALS = frozenset("ABCDEFGHIJKLMPSXZ`abdefgmrsu@")
_MODES = frozenset({4, 20})
# Keys, autowrap, cursor, alternate screen, mouse, focus, bracketed paste, synchronised drawing.
_PRIVATE_MODES = frozenset(
    {
        1,
        5,
        6,
        7,
        12,
        25,
        45,
        47,
        66,
        1000,
        1002,
        1003,
        1004,
        1006,
        1007,
        1047,
        1048,
        1049,
        2004,
        2026,
    }
)
_SCREENS = frozenset({47, 1047, 1049})
_ESCAPE_FINALS = frozenset("78DEHMc=>")
_CHARSETS = frozenset("0AB1245678CEHKQRYZ=<>`")
_CONTROLS = frozenset("\a\b\t\n\v\f\r\x0e\x0f")
_LINK_SCHEMES = ("http://", "https://", "mailto:")
_LONGEST_LINK = 2048
# Longer than any sequence that passes: a longer string is dropped while it arrives, and a
# longer control sequence loses its escape and becomes harmless text.
_LONGEST_STRING = 4096
_LONGEST_CONTROL = 256

# Bytes of a string's content; anything else ends it, properly or not.
_CONTENT = r"[^\x07\x18\x1a\x1b\x9c]"
_PARAMETERS = rf"[\x30-\x3f]{{0,{_LONGEST_CONTROL}}}"
_MIDDLE = r"[\x20-\x2f]{0,4}"
_TOKEN = re.compile(
    # Most output in one match: text, line ends, and the most frequent sequences as they are.
    r"(?P<text>(?:[^\x00-\x1f\x7f-\x9f]+|[\a\b\t\n\r]+"
    rf"|\x1b\[[0-9;:]{{0,{_LONGEST_CONTROL}}}[A-HJKLMPXdfm@])+)"
    rf"|\x1b\[(?P<csi>{_PARAMETERS})(?P<middle>{_MIDDLE})(?P<final>[\x40-\x7e])"
    rf"|\x1b\](?P<osc>{_CONTENT}{{0,{_LONGEST_STRING}}})(?:\x07|\x1b\\|\x9c)"
    rf"|\x1b\]{_CONTENT}{{0,{_LONGEST_STRING}}}(?=\x1b[^\\]|[\x18\x1a])"
    rf"|(?P<string>\x1b\]{_CONTENT}{{{_LONGEST_STRING + 1}}}|\x1b[PX^_]|[\x90\x98\x9d-\x9f])"
    rf"|\x1b(?P<between>[\x20-\x2f]{{1,4}})(?P<designated>[\x30-\x7e])"
    r"|\x1b(?P<escape>[\x30-\x4f\x51-\x57\x59-\x5a\x5c\x60-\x7e])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x8f\x91-\x97\x99-\x9c])"
)
# Switches off everything that the allowed output may have switched on, and leaves the cursor
# where it is: leaving the alternate screen moves the cursor to the position saved last, and
# setting margins moves it home.
LEAVE_ALTERNATE = b"\x1b[?1049l"
QUIET = (
    b"\x1b7" + LEAVE_ALTERNATE + b"\x1b7\x1b[r\x1b8\x1b[!p"
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?2026l"
    b"\x1b[?1l\x1b>\x1b[?5l\x1b[?45l\x1b[4l\x1b[20l\x1b[?7h\x1b[?25h"
    b"\x1b(B\x0f\x1b[0 q\x1b]8;;\x1b\\\x1b[0m"
)
_PLAIN = re.compile(r"[0-9;:]*")
_SELECTIVE = re.compile(r"\?[0-9;]*")
# An escape sequence whose end has not arrived.
_UNFINISHED = re.compile(
    rf"\x1b(?:\[{_PARAMETERS}{_MIDDLE}"
    rf"|\]{_CONTENT}{{0,{_LONGEST_STRING}}}\x1b?"
    r"|[\x20-\x2f]{0,4})?\Z"
)
# An escape ends a string, whatever follows it: a terminal would not wait for more either.
_STRING_END = re.compile(r"\x07|\x1b\\|\x9c|(?=\x1b[^\\]|[\x18\x1a])")


# Controls as text: what Python writes for them in a string.
_SHOWN = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (*range(0x20), *range(0x7F, 0xA0))
    if chr(code) != "\t"
}
# JSON escapes the others itself. Of these a terminal may obey U+0080 to U+009F.
_RAW_IN_JSON = re.compile(r"[\x7f-\x9f]")


def one_line(text: str) -> str:
    """Return *text* as one line for a terminal, which is shown its controls and obeys none."""
    return text.translate(_SHOWN)


def safe_json(text: str) -> str:
    """Return JSON with the same value, without a character that a terminal may obey."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _RAW_IN_JSON.sub(lambda one: f"\\u{ord(one[0]):04x}", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a person asked to let through in addition."""

    title: bool = False
    clipboard: bool = False
    # To switch between the terminal's two screens, or to reset it.
    screens: bool = True


class SafeOutput:
    """Filter a byte stream, split anywhere, for a person's terminal."""

    def __init__(self, allowed: Allowed | None = None) -> None:
        self._allowed = allowed or Allowed()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._carry = ""
        self._in_string = False
        self._switched = False

    def take_switched(self) -> bool:
        """Whether a switch of screens was left out since the last call: what follows is wrong."""
        switched, self._switched = self._switched, False
        return switched

    def feed(self, data: bytes) -> bytes:
        """Return the safe part of *data*; a sequence that has not ended is held back."""
        text = self._carry + self._decoder.decode(data)
        self._carry = ""
        kept: list[str] = []
        at = 0
        while at < len(text):
            at = self._skip_string(text, at) if self._in_string else self._take(text, at, kept)
        return "".join(kept).encode("utf-8", "replace")

    def _take(self, text: str, at: int, kept: list[str]) -> int:
        """Judge one token; return where the next begins."""
        found = _TOKEN.match(text, at)
        if found is not None:
            self._in_string = found["string"] is not None
            kept.append(self._judge(found))
            return found.end()
        if _UNFINISHED.match(text, at):
            self._carry = text[at:]
            return len(text)
        return at + 1  # an escape, and the next character continues no sequence

    def _skip_string(self, text: str, at: int) -> int:
        end = _STRING_END.search(text, at)
        if end is not None:
            self._in_string = False
            return end.end()
        # Its terminator may be split: keep the escape, drop the rest.
        self._carry = "\x1b" if text.endswith("\x1b") else ""
        return len(text)

    def _judge(self, found: re.Match[str]) -> str:
        if found["text"] is not None:
            return found[0]
        if found["control"] is not None:
            return found[0] if found[0] in _CONTROLS else ""
        if found["final"] is not None:
            return self._without_screens(_control_sequence(found))
        if found["osc"] is not None:
            return self._system_command(found["osc"])
        if found["between"] is not None:
            return found[0] if _designation(found["between"], found["designated"]) else ""
        return self._escape(found)

    def _escape(self, found: re.Match[str]) -> str:
        if found["escape"] == "c" and not self._allowed.screens:  # a reset shows the other screen
            self._switched = True
            return ""
        return found[0] if found["escape"] in _ESCAPE_FINALS else ""

    def _without_screens(self, sequence: str) -> str:
        if self._allowed.screens or not sequence.startswith("\x1b[?") or sequence[-1] not in "hl":
            return sequence
        modes = sequence[3:-1].split(";")
        kept = [mode for mode in modes if int(mode) not in _SCREENS]
        self._switched |= kept != modes
        return f"\x1b[?{';'.join(kept)}{sequence[-1]}" if kept else ""

    def _system_command(self, content: str) -> str:
        number, _, rest = content.partition(";")
        if number == "8" and _safe_link(rest):
            return f"\x1b]8;{rest}\x1b\\"
        if number in ("0", "1", "2") and self._allowed.title:
            return f"\x1b]{number};{_printable(rest)}\x1b\\"
        # A question mark asks for the clipboard's content instead of setting it.
        if number == "52" and self._allowed.clipboard and not rest.endswith("?"):
            return f"\x1b]52;{_printable(rest)}\x1b\\"
        return ""


def _control_sequence(found: re.Match[str]) -> str:
    parameters, middle, final = found["csi"], found["middle"], found["final"]
    if middle:
        shape_or_reset = middle + final in (" q", "!p")
        return found[0] if shape_or_reset and (parameters.isdigit() or not parameters) else ""
    if final in "hl":
        return _mode_change(parameters, final)
    if not _PLAIN.fullmatch(parameters):
        return found[0] if _SELECTIVE.fullmatch(parameters) and final in "JK" else ""
    if final == "T":  # with more parameters it starts a dangerous kind of mouse tracking
        return found[0] if parameters.count(";") == 0 else ""
    return found[0] if final in _CSI_FINALS else ""


def _mode_change(parameters: str, final: str) -> str:
    private = parameters.startswith("?")
    known = _PRIVATE_MODES if private else _MODES
    asked = parameters.removeprefix("?").split(";")
    kept = [mode for mode in asked if mode.isascii() and mode.isdigit() and int(mode) in known]
    return f"\x1b[{'?' if private else ''}{';'.join(kept)}{final}" if kept else ""


def _designation(between: str, designated: str) -> bool:
    if between in ("(", ")", "*", "+"):
        return designated in _CHARSETS
    return between == "#" and designated in "34568"


def is_safe_link(uri: str) -> bool:
    """Say whether a person may be led to *uri*: to the web or to a mail, and nowhere else."""
    return uri.isprintable() and uri.lower().startswith(_LINK_SCHEMES)


def _safe_link(rest: str) -> bool:
    _, _, uri = rest.partition(";")
    if len(rest) > _LONGEST_LINK or _printable(rest) != rest:
        return False
    return not uri or is_safe_link(uri)


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())
