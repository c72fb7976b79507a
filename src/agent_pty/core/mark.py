"""Marks of the shell integration: OSC 133 with a secret, found in the stream wherever it is split.

    ESC ] 133 ; D [; CODE] ; apty=NONCE [.NUMBER [.TOKEN]] BEL
    ESC ] 133 ; KIND       ; apty=TOKEN BEL                       or, without tokens,
    ESC ] 133 ; KIND       ; apty=NONCE [.NUMBER] BEL

KIND  B  the prompt is drawn: the program reads a command
      C  a command was read and runs now; what follows is its output
      D  it ended, with status CODE if the program knows one; what precedes was its output
      E  its output has ended, as D would say; D follows what the shell itself writes (zsh)
      P  a continuation prompt: what was typed is not a whole command

Only the session's program and we know the nonce. Programs that can count number their prompts from
1: a new prompt starts with D, which carries the new number. bash, zsh and fish announce a token
with it. B, C, E and P carry that instead of the nonce; B, C and E count once for each token. So a
prompt that is shown again, by `cat` of a recording or `${PS1@P}`, changes nothing, and no variable
that other code may print has the nonce. A program with a fixed prompt (sqlite3) sends no number.

    ESC ] 133 ; L ; apty=NONCE.SERIAL ; CODE ; MODE ; CURSOR ; TEXT BEL

is the answer of a shell that was asked what stands on its line: the status of its last command,
`vi` in the command mode of vi, the cursor, and the text, quoted so that it has no controls.

Marks without `apty=` are not ours. Others with a wrong secret are counted as forged; after output
was lost, a token that is not known is only ignored, until the next one is announced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, cast

import msgspec

Kind = Literal["B", "C", "D", "E", "P"]

_BEGIN: Final = b"\x1b]133;"
# A longer sequence without an end is not our mark; the text of a line is cut by the shell.
_LONGEST: Final = 8192
_ONCE: Final = frozenset("BCE")
_REMEMBERED: Final = 8
_MARK: Final = re.compile(
    rb"\x1b\]133;([BCDEP])(?:;([0-9]{0,10}))?;apty="
    rb"([0-9A-Za-z]{1,64})(?:\.([0-9]{1,15})(?:\.([0-9A-Za-z]{1,64}))?)?(?:\x07|\x1b\\)"
)
_LINE: Final = re.compile(
    rb"\x1b\]133;L;apty=([0-9A-Za-z]{1,64})\.([0-9]{1,15});([0-9]{0,10});([a-z]*);([0-9]{0,10});"
    rb"([^\x00-\x1f\x7f]*)(?:\x07|\x1b\\)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One mark. *code* is None where the program does not know how the command ended."""

    kind: Kind
    number: int | None
    code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReport:
    """What a shell says of its line. *text* is quoted as the shell quotes words."""

    serial: int
    code: int | None
    mode: str
    cursor: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedMark:
    """A mark of the shell integration, and where in the text it was.

    *line* is the unfinished line before it as it was then; later output may rewrite it.
    """

    mark: Mark
    place: int
    line: bytes


class ScannerState(msgspec.Struct, frozen=True, array_like=True):
    """What a scanner needs to continue where another one stopped."""

    begun: bytes = b""
    number: int = 0
    tokens: list[str] = []  # the newest is the last
    spent: str = ""
    missed: bool = False  # an earlier build does not save it


class MarkScanner:
    """Find marks in a byte stream that may be split anywhere."""

    def __init__(self, nonce: str) -> None:
        if not nonce.isalnum():
            raise ValueError("a nonce is letters and digits: without one, anybody could send marks")
        self._nonce = nonce
        self._begun = b""
        self._number = 0
        self._tokens: list[str] = []
        self._spent: set[str] = set()
        self._reports: list[LineReport] = []
        self._forged = 0
        self._missed = False

    def feed(self, data: bytes) -> list[tuple[int, Mark]]:
        """Return each mark that ends in *data*, with the offset in *data* right after it."""
        if not self._begun and b"\x1b" not in data:
            return []
        carried = len(self._begun)
        text = self._begun + data
        found, after = [], 0
        if _BEGIN in text:
            for match in _MARK.finditer(text):
                after = match.end()
                mark = self._checked(match)
                if mark is not None:
                    found.append((after - carried, mark))
            for match in _LINE.finditer(text):
                after = max(after, match.end())
                self._take_report(match)
        self._begun = _unfinished(text, after)
        return found

    def _checked(self, match: re.Match[bytes]) -> Mark | None:
        """Return the mark that was found; None if it is not valid now."""
        kind, secret = cast("Kind", match[1].decode()), match[3].decode()
        number = int(match[4]) if match[4] else None
        code = int(match[2]) if match[2] else None
        if secret == self._nonce:
            token = match[5].decode() if match[5] else None
            valid = self._is_current(kind, number, token)
            self._missed = self._missed and not (valid and kind in "BD")
            return Mark(kind=kind, number=number, code=code) if valid else None
        if secret not in self._tokens:
            # A token may have been announced in output that was lost; D has the nonce.
            self._forged += not self._missed or kind == "D"
        elif secret == self._tokens[-1] and kind != "D" and kind not in self._spent:
            self._spent |= {kind} & _ONCE
            return Mark(kind=kind, number=self._number, code=code)
        return None

    def _is_current(self, kind: Kind, number: int | None, token: str | None) -> bool:
        if number is None:
            return True
        if kind != "D":
            return number == self._number and not self._tokens
        if number <= self._number:
            return False
        self._number = number
        if token is not None:
            self._tokens = [*self._tokens[1 - _REMEMBERED :], token]
            self._spent.clear()
        return True

    def _take_report(self, match: re.Match[bytes]) -> None:
        secret, serial, code, mode, cursor, text = match.groups()
        if secret.decode() != self._nonce:
            self._forged += 1
            return
        self._reports.append(
            LineReport(
                serial=int(serial),
                code=int(code) if code else None,
                mode=mode.decode(),
                cursor=int(cursor or 0),
                text=text.decode(errors="replace"),
            )
        )

    def take_reports(self) -> list[LineReport]:
        """Return the answers about the line that came since the last call."""
        reports, self._reports = self._reports, []
        return reports

    def take_forged(self) -> int:
        """Return how many marks with a wrong secret came since the last call."""
        forged, self._forged = self._forged, 0
        return forged

    def miss(self) -> None:
        """Note that output was lost, and perhaps marks with it."""
        self._missed = True

    @property
    def missed(self) -> bool:
        """Whether output was lost and no prompt was announced since."""
        return self._missed

    @property
    def within(self) -> bool:
        """Whether a mark may have begun and not ended."""
        return bool(self._begun)

    @property
    def state(self) -> ScannerState:
        """What `resume` needs to continue."""
        spent = "".join(sorted(self._spent))
        return ScannerState(self._begun, self._number, self._tokens, spent, self._missed)

    def resume(self, state: ScannerState) -> None:
        """Continue where another scanner stopped."""
        self._begun, self._number = state.begun, state.number
        self._tokens, self._spent = list(state.tokens), set(state.spent)
        self._missed = state.missed


def pieces(data: bytes, marks: list[tuple[int, Mark]]) -> Iterator[tuple[bytes, Mark | None]]:
    """Cut *data* after each mark; the last piece has no mark."""
    begin = 0
    for end, mark in marks:
        yield data[begin:end], mark
        begin = end
    if begin < len(data):
        yield data[begin:], None


def _unfinished(text: bytes, after: int) -> bytes:
    """Return the end of *text* if a mark may have begun there."""
    start = text.rfind(b"\x1b", max(after, len(text) - _LONGEST))
    # The terminator ESC \ may itself be cut in two: then the mark began before it.
    if start >= 0 and text[start:] == b"\x1b":
        before = text.rfind(_BEGIN, max(after, len(text) - _LONGEST), start)
        start = before if before >= 0 and b"\x07" not in text[before:] else start
    if start < 0:
        return b""
    tail = text[start:]
    begun = tail[: len(_BEGIN)]
    return tail if _BEGIN.startswith(begun) and b"\x07" not in tail else b""
