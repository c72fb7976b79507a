"""The unfinished last line: plain bytes until a control edits it, and of bounded size.

Rule of the file: when a line changes its form, and where it is cut, depends on the stream alone,
never on how the stream was split into calls.
"""

from collections.abc import Callable

from msgspec import Struct, field

from agent_pty.core.charset import Charset, drawn
from agent_pty.core.line_editor import LineEditor

_SEGMENT = 64 * 1024  # bytes of a plain line that are pushed out together
_CELLS = 64 * 1024  # an edited line has fewer cells than this

_EDITS: dict[bytes, Callable[[LineEditor, int], None]] = {
    b"@": LineEditor.insert,
    b"C": LineEditor.forward,
    b"D": LineEditor.back,
    b"G": LineEditor.column,
    b"K": LineEditor.erase,
    b"P": LineEditor.delete,
    b"X": LineEditor.blank,
    b"`": LineEditor.column,
    b"a": LineEditor.forward,
}


def edits_line(final: bytes) -> bool:
    """Say whether the control sequence that ends in *final* only edits the line."""
    return final in _EDITS


class Line(Struct, array_like=True):
    """The line being written. Text is UTF-8 without line ends.

    An over-long line pushes its beginning out; take that with `spill`. Edits no longer reach it,
    and row starts are counted from the place where a plain line was cut.
    """

    cols: int
    plain: bytearray = field(default_factory=bytearray)
    returned: bool = False  # a carriage return follows the plain text and has had no effect yet
    editor: LineEditor | None = None
    spilled: bytearray = field(default_factory=bytearray)
    begun: bool = False  # a part of this line was pushed out before
    # How text is written; the next line begins with the same. Earlier builds save neither.
    inserting: bool = False
    charset: Charset = field(default_factory=Charset)

    @property
    def appends(self) -> bool:
        """Say whether text is appended to the line as it is."""
        return self.editor is None and not self.returned and not self.charset.drawing

    @property
    def untouched(self) -> bool:
        """Say whether the line is plain and its cursor at its end."""
        return self.editor is None and not self.returned

    @property
    def text(self) -> bytes:
        """Read the line as it looks now."""
        return bytes(self.plain) if self.editor is None else self.editor.text.encode()

    @property
    def empty(self) -> bool:
        """Say whether ending the line would give an empty one."""
        return not (self.begun or self.plain or (self.editor is not None and self.editor.text))

    def write(self, text: bytes) -> None:
        """Write printable text and tabs at the cursor."""
        if self.charset.drawing:
            text = drawn(text)
        if self.untouched:
            self.plain += text
            self._cut_plain()
            return
        editor = self._edit()
        editor.write(text.decode(), insert=self.inserting)
        self._cut_editor(editor)

    def insert_mode(self, *, on: bool) -> None:
        """Move the rest of the screen row to the right when text is written, or write over it."""
        self.inserting = on

    def reset_modes(self) -> None:
        """Write letters as letters, and over the text, as at the beginning."""
        self.inserting = False
        self.charset = Charset()

    def carriage_return(self) -> None:
        """Go to the start of the screen row."""
        if self.editor is not None:
            self.editor.carriage_return()
        elif self.plain:
            self.returned = True

    def back(self, count: int) -> None:
        """Go left, at most to the start of the screen row."""
        if self.plain or self.editor is not None:
            self._edit().back(count)

    def control(self, final: bytes, number: int) -> None:
        """Apply the control sequence that ends in *final*, with its first parameter."""
        # Compilers and grep end every colour with an erase to the right of the text.
        if not (self.untouched and final == b"K" and number == 0):
            _EDITS[final](self._edit(), number)

    def erase_below(self) -> None:
        """Erase everything from the cursor on."""
        if not self.untouched:
            self._edit().erase_below()

    def vertical(self, rows: int) -> bool:
        """Go down or, if negative, up within a wrapped line; False if it has no such row."""
        if self.plain or self.editor is not None:
            return self._edit().vertical(rows)
        return False

    def line_feed(self) -> bool:
        """Go to the start of the next row of a wrapped line; False at its end."""
        if self.editor is None or not self.editor.vertical(1):
            return False
        self.editor.carriage_return()
        return True

    def finish(self) -> bytes:
        """Take the line with all that was pushed out of it, and begin an empty one."""
        text = self.spill() + self.text
        self.restart()
        return text

    def restart(self) -> None:
        """Begin an empty line."""
        self.plain.clear()
        self.editor = None
        self.returned = self.begun = False

    def spill(self) -> bytes:
        """Take what was pushed out."""
        if not self.spilled:
            return b""
        text = bytes(self.spilled)
        self.spilled.clear()
        return text

    def resize(self, cols: int) -> None:
        """Wrap at *cols* from now on; text that is there already keeps its cells."""
        if self.plain or self.editor is not None:
            self._edit().cols = cols
        self.cols = cols

    def _edit(self) -> LineEditor:
        if self.editor is not None:
            return self.editor
        self.editor = LineEditor(self.cols)
        if self.plain:
            self.editor.write(self.plain.decode())
            self.plain.clear()
            self._cut_editor(self.editor)
        if self.returned:
            self.editor.carriage_return()
            self.returned = False
        return self.editor

    def _cut_plain(self) -> None:
        start = 0
        while len(self.plain) - start >= 2 * _SEGMENT:
            start += _SEGMENT
            while self.plain[start] & 0xC0 == 0x80:  # noqa: PLR2004 # inside a character
                start -= 1
        self._push_out(bytes(self.plain[:start]))
        del self.plain[:start]

    def _cut_editor(self, editor: LineEditor) -> None:
        # Whole rows, so that the rest of the line keeps its row starts.
        rows = max(_CELLS // 2 // editor.cols, 1) * editor.cols
        while len(editor.cells) >= _CELLS and editor.at >= rows:
            self._push_out(editor.cut(rows).encode())

    def _push_out(self, text: bytes) -> None:
        if text:
            self.spilled += text
            self.begun = True
