"""A second transcript, slow and obvious, and the proof that both read the same."""

import codecs
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_pty.core.transcript import Transcript

ENDING = "EFHLMSTdefru"
KEEPING = "IZb"
EDITING = "@CDGKPX`a"
LINES = dict(zip(map(chr, range(96, 127)), "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))


class Slow:
    """One character at a time; the line is a dictionary from cell number to what stands there."""

    def __init__(self, cols: int) -> None:
        self.cols = cols
        self.done = ""
        self.line: dict[int, str] = {}
        self.row, self.column, self.waiting = 0, 0, False
        self.drawn = 0
        self.alternate = False
        self.state, self.parameters = "text", ""
        self.normal()

    def normal(self) -> None:
        """Write letters as letters, over the text."""
        self.inserting = False
        self.lines = {"(": False, ")": False}
        self.shifted = False

    def read(self, data: bytes) -> bytes:
        """Read a whole stream."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for byte in data:
            for character in decoder.decode(bytes([byte])):
                self.step(character)
        return (self.done + self.shown()).encode()

    def shown(self) -> str:
        """The unfinished line."""
        return "".join(self.line[cell] for cell in sorted(self.line)).replace("\0", "")

    def step(self, character: str) -> None:
        """Take one character in whatever state the stream is in."""
        if character == "\x1b":
            self.state, self.parameters = "escape", ""
        elif self.state in {"osc", "string"}:
            if character in "\x18\x1a" or (character == "\x07" and self.state == "osc"):
                self.state = "text"
        elif self.state == "text" or not " " <= character <= "~":
            self.state = "text"
            self.write(character)
        else:
            self.sequence(character)

    def sequence(self, character: str) -> None:
        """Take one printable character inside an escape sequence."""
        if self.state == "escape" and character in "[]PX^_":
            self.state = {"[": "csi", "]": "osc"}.get(character, "string")
        elif self.state == "csi" and character < "@":
            self.parameters += character
        elif self.state in {"escape", "charset"} and character < "0":
            self.state = "charset"
            self.parameters += character
        else:
            before, self.state = self.state, "text"
            if before == "escape":
                self.escape(character)
            elif before == "csi":
                self.control(character)
            elif self.parameters in self.lines and not self.alternate:
                self.lines[self.parameters] = character == "0"
                self.shifted = self.shifted and self.lines[")"]

    def escape(self, character: str) -> None:
        """Obey a two-byte escape."""
        if character in "DE":
            self.write("\n")
        elif character in "M8c":
            self.draw()
            self.alternate = self.alternate and character != "c"
            if character == "c":
                self.normal()

    def control(self, final: str) -> None:
        """Obey a control sequence."""
        numbers = self.parameters.removeprefix("?")
        if len(numbers) > 32 or set(numbers) - set("0123456789;"):
            return
        if self.parameters.startswith("?"):
            self.switch(numbers, final)
            return
        number = min(int(numbers.split(";")[0] or 0), 65535)
        if final in EDITING and not self.alternate:
            self.edit(final, number)
        elif final in "hl" and not self.alternate and "4" in numbers.split(";"):
            self.inserting = final == "h"
        elif final in ENDING + KEEPING + "ABJ":
            self.drawn += self.alternate
            if not self.alternate:
                self.reach(final, number)

    def switch(self, numbers: str, final: str) -> None:
        """Go to the alternate screen or back."""
        if final in "hl" and {"47", "1047", "1049"} & set(numbers.split(";")):
            self.drawn += self.alternate != (final == "h")
            self.alternate = final == "h"

    def reach(self, final: str, number: int) -> None:
        """Obey a control sequence that reaches outside the line."""
        if final == "J" and number == 0:
            self.clear(self.start, max(self.length, self.start))
        elif final == "J" and number == 1:
            self.erase(1)
        elif final in "AB":
            self.climb(-max(number, 1) if final == "A" else max(number, 1))
        elif final not in KEEPING:
            self.draw()

    def climb(self, rows: int) -> None:
        """Go to another row of this line, or leave it."""
        if self.row + rows >= 0 and (self.row + rows) * self.cols < self.length:
            self.row, self.waiting = self.row + rows, False
        else:
            self.draw()

    def draw(self) -> None:
        """Count a control that leaves the line, and leave it."""
        self.drawn += 1
        if not self.alternate:
            self.leave()

    def leave(self) -> None:
        """End a line that has text."""
        if self.shown():
            self.done += self.shown() + "\n"
        self.fresh()

    def fresh(self) -> None:
        """Begin a line."""
        self.line = {}
        self.row, self.column, self.waiting = 0, 0, False

    def write(self, character: str) -> None:
        """Take one character outside of sequences."""
        if self.alternate:
            return
        if character in "\n\v\f" and (self.row + 1) * self.cols < self.length:
            self.row, self.column, self.waiting = self.row + 1, 0, False
        elif character in "\n\v\f":
            self.done += self.shown() + "\n"
            self.fresh()
        elif character == "\r":
            self.column, self.waiting = 0, False
        elif character == "\b":
            self.column, self.waiting = max(self.column - 1, 0), False
        elif character == "\t":
            self.tab()
        elif character in "\x0e\x0f":
            self.shifted = character == "\x0e" and self.lines[")"]
        elif unicodedata.category(character) != "Cc":
            self.print(LINES.get(character, character) if self.drawing else character)

    @property
    def drawing(self) -> bool:
        """Whether letters stand for lines."""
        return self.lines[")" if self.shifted else "("]

    @property
    def start(self) -> int:
        """The cell of the next character."""
        return self.row * self.cols + self.column + self.waiting

    @property
    def length(self) -> int:
        """The number of cells."""
        return max(self.line, default=-1) + 1

    def place(self, character: str, width: int) -> None:
        """Put a character at the cursor and wrap if the row is full."""
        if self.waiting:
            self.row, self.column, self.waiting = self.row + 1, 0, False
        start = self.start
        for cell in range(self.length, start):
            self.line[cell] = " "
        for cell in range(start, start + width):
            self.split(cell)
            self.line[cell] = character if cell == start else ""
        self.column += width
        if self.column == self.cols:
            self.column, self.waiting = self.cols - 1, True

    def split(self, cell: int) -> None:
        """Blank the whole of a wide character or tab before one of its cells is touched."""
        first = last = cell
        while self.line.get(first) == "" and first > 0:
            first -= 1
        while self.line.get(last + 1) == "":
            last += 1
        if last > first:
            for part in range(first, last + 1):
                self.line[part] = " "

    def print(self, character: str) -> None:
        """Print a character with its width."""
        if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
            self.mark(character)
            return
        wide = unicodedata.east_asian_width(character) in {"W", "F"} and self.cols > 1
        if wide and self.column == self.cols - 1 and not self.waiting:
            self.place("\0", 1)
        if self.inserting and self.start < self.length:
            if self.waiting:
                self.row, self.column, self.waiting = self.row + 1, 0, False
            self.shift(1 + wide, insert=True)
        self.place(character, 1 + wide)

    def mark(self, character: str) -> None:
        """Add a character without width to the one before."""
        for cell in range(self.length, self.start):
            self.line[cell] = " "
        cell = self.start - 1
        while cell > 0 and self.line[cell] == "":
            cell -= 1
        if cell < 0 or len(self.line[cell]) >= 8:
            self.place(character, 1)
        else:
            self.line[cell] += character

    def tab(self) -> None:
        """Go to the next stop; keep the tab at the end of the line."""
        stop = min(self.column // 8 * 8 + 8, self.cols - 1)
        width = 0 if self.waiting else stop - self.column
        if self.start < self.length:
            self.column += width
        elif width:
            self.place("\t", width)
        else:
            self.mark("\t")

    def edit(self, final: str, number: int) -> None:
        """Obey a control sequence that edits the line."""
        count = max(number, 1)
        if final == "K":
            self.erase(number)
        elif final in "Ca":
            self.column, self.waiting = min(self.column + count, self.cols - 1), False
        elif final == "D":
            self.column, self.waiting = max(self.column - count, 0), False
        elif final in "G`":
            self.column, self.waiting = min(count, self.cols) - 1, False
        elif final == "X":
            self.clear(self.start, min(self.start + count, self.row_end))
        elif self.start < self.length:
            self.shift(count, insert=final == "@")

    @property
    def row_end(self) -> int:
        """The first cell of the next row."""
        return (self.row + 1) * self.cols

    def erase(self, part: int) -> None:
        """Erase right, left or all of the row."""
        row = self.row * self.cols
        if part == 0:
            self.clear(self.start, self.row_end)
        elif part == 1:
            self.clear(row, row + self.column + 1)
        elif part == 2:
            self.clear(row, self.row_end)

    def clear(self, start: int, end: int) -> None:
        """Blank cells; at the end of the line they are gone instead, with blank rows below."""
        self.part(start)
        self.part(end)
        below = [self.line[cell] for cell in range(end, self.length)]
        gone = not below or (end % self.cols == 0 and set("".join(below)) <= {" "})
        for cell in range(start, self.length if gone else end):
            self.line[cell] = " "
        if gone:
            self.line = {cell: text for cell, text in self.line.items() if cell < start}

    def part(self, cell: int) -> None:
        """Blank what lies across the left edge of a cell."""
        if self.line.get(cell) == "":
            self.split(cell)

    def shift(self, count: int, *, insert: bool) -> None:
        """Delete or insert cells within the row; a row above others keeps its length."""
        start, end = self.start, self.row_end
        count = min(count, end - start)
        self.part(start)
        self.part(end - count if insert else start + count)
        row = [self.line.get(cell) for cell in range(start, end)]
        fill = " " if insert or self.length > end else None
        row = [fill] * count + row[: len(row) - count] if insert else row[count:] + [fill] * count
        for cell, text in zip(range(start, end), row, strict=True):
            self.line.pop(cell, None)
            if text is not None:
                self.line[cell] = text


SEQUENCES = st.builds(
    "\x1b[{}{}{}".format,
    st.sampled_from(["", "", "", "?", ">", " "]),
    st.one_of(
        st.sampled_from(
            ["", "1", "2", "3", "4", "4", "7", "1;2", "1049", "47", "1;1047", "38:5:1"]
        ),
        st.integers(0, 10**40).map(str),
    ),
    st.sampled_from("@ABCDEFGHIJKKKLMPSTXZ`abdefhlmnru\r\n"),
)
ESCAPES = st.sampled_from("DEM78c(B)=>N[]PX^_\\ \x18\x07").map("\x1b{}".format)
SETS = st.sampled_from(
    ["\x1b(0", "\x1b)0", "\x1b(B", "\x1b)B", "\x1b()0", "\x0e", "\x0f", "\x1b[4h"]
)
STRINGS = st.sampled_from(["\x1b]0;t\x07", "\x1b]8;;u\x1b\\", "\x1bPq\x1b\\", "\x1b_\x07a\x1b\\"])
TEXT = st.text("ab c漢é\u0301\ufeff\t\u009b\x00", max_size=12)
CONTROLS = st.sampled_from(["\n", "\r\n", "\r", "\r\r\n", "\b", "\b\b\b", "\v", "\x7f", "\x18"])
STREAMS = st.lists(
    st.one_of(
        st.one_of(TEXT, CONTROLS, SEQUENCES, ESCAPES, SETS, STRINGS).map(str.encode),
        st.binary(max_size=4),
    ),
    max_size=40,
).map(b"".join)


@settings(max_examples=400)
@given(data=STREAMS, cols=st.sampled_from((1, 2, 3, 4, 7, 10, 20, 80)))
def test_the_fast_way_and_the_slow_way_read_the_same(data: bytes, cols: int) -> None:
    """
    The transcript gives what a plain state machine gives, for streams of every kind.
    """
    fast, slow = Transcript(cols=cols), Slow(cols)

    text = fast.feed(data) + fast.pending

    assert text == slow.read(data)
    assert (fast.alternate, fast.drawn) == (slow.alternate, slow.drawn)
