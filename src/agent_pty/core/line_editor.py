"""One line of a terminal as cells, and the controls that edit it in place.

Rule of the file: text written at the end of the line is never lost or changed, whatever its width;
only writing or erasing over something replaces it. A cell holds a character with its combining
marks; a wide character or a tab is followed by empty cells.
"""

from msgspec import Struct, field

from agent_pty.core.width import width as width_of

_MORE = ""  # the cell belongs to the wide character or tab before it
_GAP = "\0"  # the last cell of a row, left free because a wide character did not fit
_MARKS = 8  # code points in one cell; more take a cell of their own, so that a line is bounded
_TAB = 8


class LineEditor(Struct, array_like=True):
    """A line that wraps at *cols*, and the cursor in it.

    The cursor knows the screen row it is on: carriage return and backspace stop at its start.
    After a write that filled a row it is still on that row until the next character (*full*).
    """

    cols: int
    cells: list[str] = field(default_factory=list)
    at: int = 0
    full: bool = False

    @property
    def text(self) -> str:
        """Read the line as it looks now."""
        return "".join(self.cells).replace(_GAP, "")

    def write(self, text: str, *, insert: bool = False) -> None:
        """Write printable text and tabs over the text at the cursor, wrapping at *cols*.

        With *insert* the rest of the screen row moves right instead.
        """
        if insert and not (text := self._insert_before_text(text)):
            return
        if "\t" not in text and (text.isascii() or set(map(width_of, text)) == {1}):
            self._store(list(text))
            return
        for character in text:
            self._put(character)

    def carriage_return(self) -> None:
        """Go to the start of the screen row."""
        self._settle()
        self.at -= self.at % self.cols

    def back(self, count: int) -> None:
        """Go left, at most to the start of the screen row."""
        self._settle()
        self.at -= min(max(count, 1), self.at % self.cols)

    def forward(self, count: int) -> None:
        """Go right, at most to the end of the screen row."""
        self._settle()
        self.at += min(max(count, 1), self.cols - 1 - self.at % self.cols)

    def column(self, number: int) -> None:
        """Go to a column of the screen row, counted from 1."""
        self.carriage_return()
        self.at += min(max(number, 1), self.cols) - 1

    def vertical(self, rows: int) -> bool:
        """Go down, or up if negative; stay and return False if the line has no such row."""
        target = self.at - self.full + rows * self.cols
        if target < 0 or target - target % self.cols >= len(self.cells):
            return False
        self.at, self.full = target, False
        return True

    def erase(self, part: int) -> None:
        """Erase the screen row right of the cursor (0), left of it (1) or whole (2)."""
        # A cursor that waits to wrap erases nothing to its right. Some terminals erase the last
        # character then, and the output of `grep --color` loses one; here no text may be lost.
        end = self._row_end()
        if part == 0:
            self._clear(self.at, end)
        elif part == 1:
            self._clear(end - self.cols, self.at - self.full + 1)
        elif part == 2:  # noqa: PLR2004
            self._clear(end - self.cols, end)

    def erase_below(self) -> None:
        """Erase everything from the cursor on."""
        self._clear(self.at, len(self.cells))

    def blank(self, count: int) -> None:
        """Erase *count* cells from the cursor on."""
        self._clear(self.at, min(self.at + max(count, 1), self._row_end()))

    def delete(self, count: int) -> None:
        """Remove *count* cells at the cursor; the rest of the screen row moves left."""
        row_end = self._row_end()
        end = min(self.at + max(count, 1), row_end)
        self._blank_if_cut(self.at)
        self._blank_if_cut(end)
        if row_end < len(self.cells):
            self.cells[row_end:row_end] = [" "] * (end - self.at)
        del self.cells[self.at : end]

    def insert(self, count: int) -> None:
        """Put *count* blanks at the cursor; the rest moves right and out of the screen row."""
        if self.at >= len(self.cells):
            return
        row_end = self._row_end()
        blanks = min(max(count, 1), row_end - self.at)
        self._blank_if_cut(self.at)
        self._blank_if_cut(row_end - blanks)
        moved = self.cells[self.at : row_end - blanks]
        self.cells[self.at : row_end] = [" "] * blanks + moved

    def cut(self, count: int) -> str:
        """Remove the first *count* cells, whole rows before the cursor, and return their text."""
        head = "".join(self.cells[:count]).replace(_GAP, "")
        del self.cells[:count]
        self.at -= count
        return head

    def _settle(self) -> None:
        """Stop waiting to wrap: the cursor is on the last cell of its row."""
        self.at -= self.full
        self.full = False

    def _row_end(self) -> int:
        """Find the first cell after the screen row of the cursor."""
        last = self.at - self.full
        return last - last % self.cols + self.cols

    def _insert_before_text(self, text: str) -> str:
        """Insert characters while there is text after the cursor; return the others."""
        for count, character in enumerate(text):
            if self.at >= len(self.cells):
                return text[count:]
            width = 0 if character == "\t" else min(width_of(character), self.cols)
            if width > 1 and self.at % self.cols == self.cols - 1:
                self._store([_GAP])
            if width:
                self.full = False  # a character that follows a full row belongs to the next one
                self.insert(width)
            self._put(character)
        return ""

    def _put(self, character: str) -> None:
        if character == "\t":
            self._tab()
            return
        width = min(width_of(character), self.cols)
        if width == 0:
            self._attach(character)
            return
        if width > 1 and self.at % self.cols == self.cols - 1:
            self._store([_GAP])
        self._store([character] + [_MORE] * (width - 1))

    def _tab(self) -> None:
        """Go to the next tab stop; at the end of the line the tab itself is kept."""
        last = self.at - self.full
        column = last % self.cols + self.full
        width = max(min(column - column % _TAB + _TAB, self.cols - 1) - column, 0)
        if self.at < len(self.cells):
            self.at += width
        elif width == 0:
            self._attach("\t")
        else:
            self._store(["\t"] + [_MORE] * (width - 1))

    def _attach(self, mark: str) -> None:
        """Add a mark without width to the cell before the cursor, or give it a cell of its own."""
        self._pad()
        cell = self._head(self.at - 1)
        if cell < 0 or len(self.cells[cell]) >= _MARKS:
            self._store([mark])
        else:
            self.cells[cell] += mark

    def _store(self, cells: list[str]) -> None:
        """Write one or more cells at the cursor."""
        self._pad()
        end = self.at + len(cells)
        self._blank_if_cut(self.at)
        self._blank_if_cut(end)
        self.cells[self.at : end] = cells
        self.at = end
        self.full = end % self.cols == 0

    def _clear(self, start: int, end: int) -> None:
        """Erase cells; at the end of the line they are removed and leave no blanks."""
        self._blank_if_cut(start)
        self._blank_if_cut(end)
        # readline forces a wrap with a blank, then goes back and ends the line in the row above.
        if end % self.cols == 0 and not "".join(self.cells[end:]).strip(" "):
            end = len(self.cells)
        if end >= len(self.cells):
            del self.cells[start:]
        else:
            self.cells[start:end] = [" "] * (end - start)

    def _pad(self) -> None:
        """Fill up to a cursor that was moved beyond the text."""
        missing = self.at - len(self.cells)
        if missing > 0:
            self.cells.extend([" "] * missing)

    def _blank_if_cut(self, at: int) -> None:
        """Replace a wide character or tab that lies across *at* by blanks."""
        if not 0 < at < len(self.cells) or self.cells[at] != _MORE:
            return
        start, end = self._head(at), at + 1
        while end < len(self.cells) and self.cells[end] == _MORE:
            end += 1
        self.cells[start:end] = [" "] * (end - start)

    def _head(self, at: int) -> int:
        """Find the cell with the character that *at* belongs to."""
        while at > 0 and self.cells[at] == _MORE:
            at -= 1
        return at
