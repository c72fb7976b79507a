"""The terminal emulator: bytes of a program in, screen, replies and events out."""

from __future__ import annotations

from typing import Any, Final

from agent_pty.emulator import format as formatting
from agent_pty.emulator import key as keys
from agent_pty.emulator import mode as modes_of
from agent_pty.emulator import mouse, paste, snapshot
from agent_pty.emulator.binding import check, ffi, lib, owned
from agent_pty.emulator.callback import CELL_HEIGHT, CELL_WIDTH, read_string, read_title
from agent_pty.emulator.cursor import Cursor, read_cursor
from agent_pty.emulator.cwd import path_from
from agent_pty.emulator.event import Event, Inbox
from agent_pty.emulator.keyboard import NO_MODIFIERS, Modifiers
from agent_pty.emulator.setting import configure, track_continuation
from agent_pty.emulator.style import Run, styled_rows
from agent_pty.errors import BadRequest

# The grid is allocated in full: 65,535 squared, which the library would accept, is 34 GB.
MAX_ROWS: Final = 1000
MAX_COLS: Final = 2000


class Emulator:
    """One terminal without a window.

    Not for two threads at once: `feed` lets other Python threads run while it works, and
    a second call on the same emulator in that time would crash the process. Write what
    `take_replies` returns back to the program after each `feed`, or a program that asked
    for the cursor position hangs.
    """

    __slots__ = ("__weakref__", "_cols", "_handle", "_inbox", "_native", "_rows")

    def __init__(self, *, rows: int, cols: int) -> None:
        _check_size(rows=rows, cols=cols)

        def create(allocator: Any, out: Any) -> int:
            return int(lib.ghostty_terminal_new(allocator, out, cols, rows))

        self._adopt(owned(create, lib.ghostty_terminal_free))
        track_continuation(self._native)
        self.resize(rows=rows, cols=cols)

    def _adopt(self, native: Any) -> None:
        self._native: Any = native
        self._inbox = Inbox()
        self._handle: Any = ffi.new_handle(self._inbox)
        configure(native, userdata=self._handle)
        self._rows, self._cols = self.rows, self.cols

    @classmethod
    def restore(cls, data: bytes) -> Emulator:
        """Return an emulator in the state that `snapshot` saved; raise ValueError otherwise."""
        emulator = cls.__new__(cls)
        emulator._adopt(snapshot.decode(data))  # noqa: SLF001 - it is of this class
        return emulator

    def snapshot(self) -> bytes:
        """Return the complete state, even in the middle of an escape sequence.

        Replies and events not yet taken are not part of it.
        """
        return snapshot.encode(self._terminal)

    def close(self) -> None:
        """Free the terminal now; further calls raise ValueError, another close does nothing."""
        if self._native is not None:
            ffi.release(self._native)
            self._native = None

    @property
    def _terminal(self) -> Any:
        if self._native is None:
            raise ValueError("the emulator is closed")
        return self._native

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Process what the program wrote; bytes may be split anywhere, none are refused."""
        with ffi.from_buffer("uint8_t[]", data) as source:
            lib.ghostty_terminal_vt_write(self._terminal, source, len(source))
        # DECCOLM lets a program change the width, but the pty would still have the old one.
        if self.cols != self._cols:
            self.resize(rows=self._rows, cols=self._cols)

    def take_replies(self) -> bytes:
        """Return what the terminal answered since the last call; write it to the program."""
        return self._inbox.take_replies()

    def take_events(self) -> list[Event]:
        """Return what else happened since the last call; if too much did, the oldest is lost."""
        return self._inbox.take_events()

    def resize(self, *, rows: int, cols: int) -> None:
        """Change the size; lines of the primary screen are wrapped again."""
        _check_size(rows=rows, cols=cols)
        resized = lib.ghostty_terminal_resize(self._terminal, cols, rows, CELL_WIDTH, CELL_HEIGHT)
        check(resized, "resize")
        self._rows, self._cols = rows, cols

    def _number(self, data: int, ctype: str) -> int:
        out = ffi.new(ctype)
        check(lib.ghostty_terminal_get(self._terminal, data, out), f"terminal data {data}")
        return int(out[0])

    @property
    def rows(self) -> int:
        """The height in cells."""
        return self._number(lib.GHOSTTY_TERMINAL_DATA_ROWS, "uint16_t *")

    @property
    def cols(self) -> int:
        """The width in cells."""
        return self._number(lib.GHOSTTY_TERMINAL_DATA_COLS, "uint16_t *")

    @property
    def cursor(self) -> Cursor:
        """The cursor now."""
        return read_cursor(self._terminal)

    @property
    def title(self) -> str:
        """The window title, empty if none was set."""
        return read_title(self._terminal)

    @property
    def cwd(self) -> str | None:
        """The directory that the shell last reported, on whatever host; None if there is none."""
        return path_from(read_string(self._terminal, lib.GHOSTTY_TERMINAL_DATA_PWD))

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program shows the alternate screen."""
        return self._number(lib.GHOSTTY_TERMINAL_DATA_ACTIVE_SCREEN, "int *") == 1

    @property
    def scrollback_rows(self) -> int:
        """How many rows have scrolled off the top and are still kept."""
        return self._number(lib.GHOSTTY_TERMINAL_DATA_SCROLLBACK_ROWS, "size_t *")

    def mode(self, number: int, *, ansi: bool = False) -> bool:
        """Say whether a mode is set: DEC private by default, else ANSI."""
        return modes_of.mode(self._terminal, number, ansi=ansi)

    def modes(self) -> dict[str, bool | int | str]:
        """Return the modes that have a name, always in the same order."""
        terminal = self._terminal
        named: dict[str, bool | int | str] = {**modes_of.named_modes(terminal)}
        named["mouse"] = mouse.tracking(terminal)
        named["kitty_keyboard"] = modes_of.kitty_keyboard(terminal)
        return named

    def text(self) -> str:
        """Return the visible text; a soft-wrapped line is one line, blank ends are cut."""
        return self._visible("plain", unwrap=True).rstrip("\n")

    def lines(self) -> list[str]:
        """Return the visible rows as displayed, exactly `rows` of them."""
        shown = [line.rstrip(" ") for line in self._visible("plain", unwrap=False).split("\n")]
        rows = self.rows
        return (shown + [""] * rows)[:rows]

    def styled(self) -> list[list[Run]]:
        """Return the visible rows as runs of equally styled text."""
        return styled_rows(self._terminal)

    def format(
        self, kind: formatting.Kind, *, scrollback: bool = False, unwrap: bool = False
    ) -> str:
        """Return the screen in another form; "vt" repaints it on a terminal of the same size.

        With *unwrap* a soft-wrapped line is one line.
        """
        if scrollback:
            return formatting.format_all(self._terminal, kind, unwrap=unwrap)
        return self._visible(kind, unwrap=unwrap)

    def _visible(self, kind: formatting.Kind, *, unwrap: bool) -> str:
        size = {"rows": self.rows, "cols": self.cols}
        return formatting.format_visible(self._terminal, kind, unwrap=unwrap, **size)

    def encode_key(self, key: str, *, mods: Modifiers = NO_MODIFIERS, text: str = "") -> bytes:
        """Return the bytes of a key by name: "enter", "f5", "a"; *text* replaces what it types."""
        return keys.encode_key(self._terminal, key, mods=mods, text=text)

    def encode_mouse(
        self,
        *,
        action: mouse.Action,
        button: mouse.Button,
        row: int,
        col: int,
        mods: Modifiers = NO_MODIFIERS,
    ) -> bytes:
        """Return the bytes of a mouse event, empty if the program did not ask for it."""
        terminal, place = self._terminal, {"row": row, "col": col}
        size = {"rows": self.rows, "cols": self.cols}
        return mouse.encode_mouse(
            terminal, action=action, button=button, mods=mods, **place, **size
        )

    def encode_paste(self, text: bytes) -> bytes:
        """Return *text* as a paste, bracketed if the program asked for that."""
        return paste.encode_paste(text, bracketed=self.mode(2004))


def _check_size(*, rows: int, cols: int) -> None:
    if not (1 <= rows <= MAX_ROWS and 1 <= cols <= MAX_COLS):
        raise BadRequest(f"size {rows}x{cols} is not within 1x1 and {MAX_ROWS}x{MAX_COLS}")
