"""The cleaned text stream of a session: what its programs wrote, as lines in their final state.

Rule of the file: the answer depends on the stream alone, never on how it was split into calls.
Text without editing controls passes in a few operations on whole chunks; only a line that is
edited is processed piece by piece.

On the primary screen a control that leaves the line (cursor addressing, clear screen, scrolling)
ends it as a line feed would, unless it is empty. Going up and down between the screen rows of one
wrapped line does not leave it: readline does so. Text on the alternate screen is left out, until
the program leaves it or a shell is at its prompt; what else is set there ends with it.
"""

import re

import msgspec

from agent_pty.core.escape import EscapeFilter
from agent_pty.core.line import Line, edits_line
from agent_pty.core.observation import Observation

_VERSION = b"transcript-1\n"
_WIDEST = 0xFFFF  # the kernel counts columns in 16 bits

_EDIT = re.compile(rb"[\b\r\x0e\x0f\x1b]")
_TOKEN = re.compile(
    rb"[^\b\n\r\x0e\x0f\x1b]+|\n|\r+|\x08+|\x1b(?:\[[0-?]*[@-~]|[()][0-~]|[^\[()])|[\x0e\x0f]"
)
_LF, _CR, _BS, _ESC = b"\n\r\b\x1b"
_SHIFT_OUT, _SHIFT_IN = b"\x0e\x0f"

_RESET = b"\x1bc"
# Of private modes only the alternate screen's reach this file.
_LEAVE_ALTERNATE = re.compile(rb"\x1b(?:c|\[\?[0-9;]*l)")
_DRAWING = re.compile(rb"\x1b(?:[^\[()]|\[[0-9;]*[ABEFHIJLMSTZbdefru])")

_Saved = tuple[EscapeFilter, Line, Observation, int, int, bool]


class Transcript:
    """Turn raw output into committed lines and one pending line, both UTF-8.

    Every line ends in LF, except that the beginning of an over-long one is committed before its
    end is known. A program that draws a lot shows more on the screen than here: compare `drawn`
    before and after, and look at `alternate`.
    """

    def __init__(self, *, cols: int) -> None:
        self._filter = EscapeFilter()
        self._line = Line(_checked(cols))
        self._observation = Observation()
        self._committed = 0
        self._drawn = 0
        self._alternate = False

    @property
    def pending(self) -> bytes:
        """The unfinished last line as it looks now; a later control may still rewrite it."""
        return self._line.text

    @property
    def committed(self) -> int:
        """How many bytes `feed` has returned so far: where `pending` begins in the stream."""
        return self._committed

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program has the screen, so that text is left out."""
        return self._alternate

    @property
    def drawn(self) -> int:
        """How many controls have left the line, or were drawn on the alternate screen, so far."""
        return self._drawn

    @property
    def intact(self) -> int:
        """How many leading bytes of the `pending` last observed are unchanged in the stream.

        It stays readable after that line was committed. Before observing again for another
        reader, lower the first reader's position by this.
        """
        return self._observation.intact(self.pending)

    @property
    def superseded(self) -> bool:
        """Whether something of the `pending` last observed was rewritten, not only continued."""
        return self.intact < self._observation.shown

    def observe(self) -> None:
        """Note that a reader has been shown `pending` as it is now."""
        self._observation.begin(self.pending)

    def resize(self, *, cols: int) -> None:
        """Follow the terminal to a new width."""
        self._line.resize(_checked(cols))

    def feed(self, data: bytes) -> bytes:
        """Return the text that *data* commits; bytes may be split anywhere."""
        text = self._filter.feed(data, sets=self._line.charset.designated)
        plain = self._without_edits(text)
        committed = self._edit(text) if plain is None else self._append(plain)
        self._committed += len(committed)
        self._observation.settle(committed)
        return committed

    def at_prompt(self) -> None:
        """Note that a shell has marked its prompt, so no full-screen program has the screen.

        A program that was killed cannot leave the alternate screen, nor restore insert mode and
        character set, and the shell does not do it either.
        """
        self._drawn += self._alternate
        self._alternate = False
        self._line.reset_modes()

    def state(self) -> bytes:
        """Return the complete state, for `restore`."""
        parts = (self._filter, self._line, self._observation)
        return _VERSION + msgspec.msgpack.encode(
            (*parts, self._committed, self._drawn, self._alternate)
        )

    @classmethod
    def restore(cls, state: bytes) -> "Transcript":
        """Continue where `state` was called; raise `ValueError` for anything else."""
        if not state.startswith(_VERSION):
            raise ValueError(f"no transcript state of this version: {state[:16]!r}")
        try:
            saved = msgspec.msgpack.decode(state[len(_VERSION) :], type=_Saved)
        except msgspec.DecodeError as error:
            raise ValueError(f"broken transcript state: {error}") from error
        transcript = cls(cols=saved[1].cols)
        transcript._filter, transcript._line, transcript._observation = saved[:3]
        transcript._committed, transcript._drawn, transcript._alternate = saved[3:]
        return transcript

    def _without_edits(self, text: bytes) -> bytes | None:
        """Return *text* if it can be appended as it is, None if it must be read in pieces."""
        if self._alternate or not self._line.appends or b"\r" in text or b"\b" in text:
            return None
        if self._line.charset.designated:
            return None  # a shift may be in it
        if b"\x1b" in text:
            # At the end of the line there is nothing to erase; grep and gcc do it very often.
            text = text.replace(b"\x1b[K", b"")
        return None if b"\x1b" in text else text

    def _append(self, text: bytes) -> bytes:
        end = text.rfind(b"\n") + 1
        committed = self._line.finish() + text[:end] if end else b""
        self._line.write(text[end:])
        return committed + self._line.spill()

    def _edit(self, text: bytes) -> bytes:
        committed: list[bytes] = []
        at = 0
        while at < len(text):
            at = self._skip(text, at) if self._alternate else self._advance(text, at, committed)
        committed.append(self._line.spill())
        return b"".join(committed)

    def _advance(self, text: bytes, at: int, committed: list[bytes]) -> int:
        """Append the lines before the next edited one, edit that one; return the next offset."""
        if self._line.appends:
            edit = _EDIT.search(text, at)
            end = len(text) if edit is None else text.rfind(b"\n", at, edit.start()) + 1
            if end > at:
                committed.append(self._append(text[at:end]))
                at = end
        return self._edit_line(text, at, committed)

    def _edit_line(self, text: bytes, at: int, committed: list[bytes]) -> int:
        line = self._line
        for match in _TOKEN.finditer(text, at):
            token = match[0]
            first = token[0]
            if first == _LF:
                if not line.line_feed():
                    committed += (line.finish(), b"\n")
                    return match.end()
            elif first == _ESC:
                self._apply(token, committed)
                if self._alternate:
                    return match.end()
            elif first == _CR:
                line.carriage_return()
            elif first == _BS:
                line.back(len(token))
            elif first in (_SHIFT_OUT, _SHIFT_IN):
                line.charset.shift(out=first == _SHIFT_OUT)
            else:
                line.write(token)
        return len(text)

    def _apply(self, sequence: bytes, committed: list[bytes]) -> None:
        final = sequence[-1:]
        if sequence.startswith(b"\x1b[?"):
            self._drawn += final == b"h"
            self._alternate = final == b"h"
        elif sequence.startswith(b"\x1b[") and edits_line(final):
            self._line.control(final, _number(sequence))
        elif sequence.startswith(b"\x1b[") and final in b"hl":
            self._line.insert_mode(on=final == b"h")
        elif sequence.startswith((b"\x1b(", b"\x1b)")):
            self._line.charset.designate(sequence)
        else:
            if sequence == _RESET:
                self._line.reset_modes()
            self._draw(sequence, final, committed)

    def _draw(self, sequence: bytes, final: bytes, committed: list[bytes]) -> None:
        """Apply a control that reaches outside the line; end the line if it leaves it."""
        # What stays in the line is the work of a line editor: node erases below at every key.
        if self._stays(sequence, final):
            return
        self._drawn += 1
        if self._line.empty:
            self._line.restart()
        else:
            committed += (self._line.finish(), b"\n")

    def _stays(self, sequence: bytes, final: bytes) -> bool:
        """Apply a control that reaches outside the line to the line; say whether it stays in it."""
        number = _number(sequence) if sequence.startswith(b"\x1b[") else 0
        match final:
            case b"I" | b"Z" | b"b":  # only the screen shows what these do to the line
                return True
            case b"J" if number == 0:
                self._line.erase_below()
                return True
            case b"J" if number == 1:
                self._line.control(b"K", 1)
                return True
            case b"A":
                return self._line.vertical(-max(number, 1))
            case b"B":
                return self._line.vertical(max(number, 1))
            case _:
                return False

    def _skip(self, text: bytes, at: int) -> int:
        """Leave out what is drawn on the alternate screen; return the next offset."""
        leave = _LEAVE_ALTERNATE.search(text, at)
        end = len(text) if leave is None else leave.start()
        self._drawn += len(_DRAWING.findall(text, at, end))
        if leave is None:
            return end
        self._drawn += 1
        self._alternate = False
        if leave[0] == _RESET:
            self._line.reset_modes()
        return leave.end()


def _number(sequence: bytes) -> int:
    """Read the first parameter of a control sequence; 0 if it has none."""
    return min(int(sequence[2:-1].partition(b";")[0] or 0), _WIDEST)


def _checked(cols: int) -> int:
    if not 0 < cols <= _WIDEST:
        raise ValueError(f"cols must be 1 to {_WIDEST}, not {cols}")
    return cols
