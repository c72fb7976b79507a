"""What in a byte stream could harm a terminal: an own small parser, not the filter's."""

from __future__ import annotations

from collections.abc import Iterator

_SILENT = frozenset("@ABCDEFGHIJKLMPSTXZ`abdefgmrsu")
_QUIET_ESCAPES = frozenset("78DEHMc=>")
_QUIET_CONTROLS = frozenset("\a\b\t\n\v\f\r\x0e\x0f")
_STRINGS = frozenset("PX^_")
_MODES = frozenset(
    map(str, [1, 5, 6, 7, 12, 25, 45, 47, 66, *range(1000, 1008), 1047, 1048, 1049, 2004, 2026])
)
_LINKS = ("http://", "https://", "mailto:")

_ST = b"\x1b\\"
_BEL = b"\x07"
# Each makes a terminal answer, remember or do something; TRM-01 and TRM-02 and their kin.
HARMFUL = {
    "title report": b"\x1b[21t",
    "icon report": b"\x1b[20t",
    "size report": b"\x1b[18t",
    "resize": b"\x1b[8;10;10t",
    "title stack": b"\x1b[22;0t\x1b[23;0t",
    "DECRQSS": b"\x1bP$qm" + _ST,
    "DECRQSS by 8-bit control as UTF-8": b"\xc2\x90$qm\xc2\x9c",
    "ENQ": b"\x05",
    "XTGETTCAP": b"\x1bP+q544e" + _ST,
    "sixel": b"\x1bPq#0;2;0;0;0~-" + _ST,
    "DECUDK": b"\x1bP0;0|17/41" + _ST,
    "DA1": b"\x1b[c",
    "DA1 with a parameter": b"\x1b[0c",
    "DA2": b"\x1b[>c",
    "DA3": b"\x1b[=c",
    "DECID": b"\x1bZ",
    "XTVERSION": b"\x1b[>0q",
    "DSR": b"\x1b[5n",
    "CPR": b"\x1b[6n",
    "DECXCPR": b"\x1b[?6n",
    "DECRQM": b"\x1b[4$p",
    "DECRQM private": b"\x1b[?2026$p",
    "DECREQTPARM": b"\x1b[x",
    "DECRQCRA": b"\x1b[1;1;1;1;9;9*y",
    "locator": b"\x1b['|\x1b[1;2'z",
    "kitty keyboard query": b"\x1b[?u",
    "kitty keyboard push": b"\x1b[>1u",
    "modifyOtherKeys": b"\x1b[>4;2m",
    "XTQMODKEYS": b"\x1b[?4m",
    "XTSMGRAPHICS": b"\x1b[?1;1;0S",
    "highlight tracking": b"\x1b[1;2;3;4;5T",
    "printing": b"\x1b[5i\x1b[?5i",
    "80 or 132 columns": b"\x1b[?3h",
    "unknown mode": b"\x1b[?9999h",
    "title": b"\x1b]0;rm -rf" + _BEL,
    "icon": b"\x1b]1;x" + _ST,
    "window": b"\x1b]2;x" + _ST,
    "title query": b"\x1b]21;?" + _ST,
    "palette query": b"\x1b]4;1;?" + _BEL,
    "palette": b"\x1b]4;1;#ff0000" + _BEL,
    "foreground query": b"\x1b]10;?" + _ST,
    "foreground": b"\x1b]10;#000000" + _ST,
    "background query": b"\x1b]11;?" + _ST,
    "background": b"\x1b]11;#000000" + _ST,
    "font query": b"\x1b]50;?" + _ST,
    "font": b"\x1b]50;fixed" + _ST,
    "clipboard": b"\x1b]52;c;cm0gLXJm" + _BEL,
    "clipboard query": b"\x1b]52;c;?" + _BEL,
    "directory": b"\x1b]7;file:///tmp" + _BEL,
    "notification": b"\x1b]9;hello" + _BEL + b"\x1b]777;notify;a;b" + _BEL,
    "iTerm2": b"\x1b]1337;File=inline=1:QQ==" + _BEL,
    "prompt mark": b"\x1b]133;A" + _BEL,
    "kitty graphics": b"\x1b_Ga=q,i=1;AAAA" + _ST,
    "kitty graphics by 8-bit control as UTF-8": b"\xc2\x9fGa=q;AAAA\xc2\x9c",
    "privacy message": b"\x1b^secret" + _ST,
    "start of string": b"\x1bXsecret" + _ST,
    "tmux pass-through": b"\x1bPtmux;\x1b\x1b]52;c;QQ==" + _BEL + _ST,
    "OSC by 8-bit control as UTF-8": b"\xc2\x9d52;c;QQ==\xc2\x9c",
    "link to a script": b"\x1b]8;;javascript:alert(1)" + _ST,
    "link to a file": b"\x1b]8;;file:///etc/passwd" + _ST,
    "other C0": b"\x00\x01\x02\x03\x04\x06\x10\x11\x13\x15\x18\x1a\x1c\x1f\x7f",
    "other C1 as UTF-8": b"\xc2\x80\xc2\x84\xc2\x85\xc2\x8d\xc2\x9a",
}


def harms(data: bytes) -> list[str]:
    """Name everything in *data* that a terminal might answer, act on or choke on.

    Strict on purpose: what is not known to be quiet counts, and so does invalid UTF-8.
    """
    return list(_Reader(data.decode()).harms())


class _Reader:
    """Walks one character at a time, as a terminal does."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def _next(self) -> str:
        character = self._text[self._at : self._at + 1]
        self._at += 1
        return character

    def harms(self) -> Iterator[str]:
        while character := self._next():
            if character == "\x1b":
                yield from self._escape()
            elif _is_control(character) and character not in _QUIET_CONTROLS:
                yield f"control {character!r}"

    def _escape(self) -> Iterator[str]:
        kind = self._next()
        if kind == "[":
            yield from self._control_sequence()
        elif kind == "]":
            yield from self._system_command()
        elif kind in {"(", ")", "*", "+", "#"}:
            if not self._next().isprintable():
                yield "designation without a character set"
        elif kind in _STRINGS:
            yield f"string ESC {kind}"
        elif kind not in _QUIET_ESCAPES:
            yield f"escape {kind!r}"

    def _control_sequence(self) -> Iterator[str]:
        begin = self._at
        while "\x20" <= (character := self._next()) <= "\x3f":
            pass
        body = self._text[begin : self._at - 1]
        numbers = body.lstrip("?").rstrip(" !")
        plain = all(each in "0123456789;:" for each in numbers)
        if not ("\x40" <= character <= "\x7e" and plain and self._quiet(body, character)):
            yield f"control sequence {body!r} {character!r}"

    @staticmethod
    def _quiet(body: str, final: str) -> bool:
        if body.startswith("?"):
            return final in "JK" or (final in "hl" and set(body[1:].split(";")) <= _MODES)
        if body.endswith((" ", "!")):
            return body[-1] + final in {" q", "!p"}
        if final == "T":  # with five numbers it follows the mouse
            return ";" not in body
        return final in "hl" or final in _SILENT

    def _system_command(self) -> Iterator[str]:
        end = self._text.find("\x1b\\", self._at)
        content = self._text[self._at : end]
        self._at = end + 2
        if end < 0:
            self._at = len(self._text)
            yield "system command without an end"
        number, _, rest = content.partition(";")
        uri = rest.partition(";")[2]
        if number != "8" or (uri and not uri.startswith(_LINKS)) or not content.isprintable():
            yield f"system command {content[:40]!r}"


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f"
