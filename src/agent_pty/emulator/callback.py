"""The functions the C library calls while it is fed.

Rule of this file: nothing here may raise into C, block, or feed the same terminal. One set
of functions serves every emulator of the process; the userdata handle leads to its `Inbox`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agent_pty.emulator.binding import ffi, lib, raw, string
from agent_pty.emulator.control import without_controls
from agent_pty.emulator.cwd import path_from
from agent_pty.emulator.event import (
    MAX_CLIPBOARD,
    MAX_TEXT,
    Bell,
    ClipboardLocation,
    ClipboardWritten,
    CwdChanged,
    Inbox,
    Notification,
    Progress,
    ProgressState,
    TitleChanged,
)

CELL_WIDTH: Final = 8
CELL_HEIGHT: Final = 16

_LOCATIONS: Final[tuple[ClipboardLocation, ...]] = ("standard", "selection", "primary")
_STATES: Final[tuple[ProgressState, ...]] = ("remove", "set", "error", "indeterminate", "pause")

# C keeps pointers into these, so they live as long as the process.
_NAME: Final = ffi.new("char[]", b"agent-pty")
_VERSION: Final = ffi.new("GhosttyString *", {"ptr": ffi.cast("uint8_t *", _NAME), "len": 9})

# Option number -> the C function; filled by the decorator below.
CALLBACKS: dict[int, Any] = {}


def _quiet(_kind: object, _error: object, _traceback: object) -> None:
    """Drop the error: cffi would print it to a stderr that nobody reads."""


def _serves(option: int, signature: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CALLBACKS[option] = ffi.callback(signature, function, onerror=_quiet)
        return function

    return register


def _inbox(userdata: Any) -> Inbox:
    inbox: Inbox = ffi.from_handle(userdata)
    return inbox


def read_string(terminal: Any, data: int) -> str:
    """Copy one of the terminal's strings."""
    out = ffi.new("GhosttyString *")
    return "" if lib.ghostty_terminal_get(terminal, data, out) else string(out)


def read_title(terminal: Any) -> str:
    """Return the window title, at most as long as an event may be."""
    return without_controls(read_string(terminal, lib.GHOSTTY_TERMINAL_DATA_TITLE))[:MAX_TEXT]


@_serves(lib.GHOSTTY_TERMINAL_OPT_WRITE_PTY, "void(void *, void *, const uint8_t *, size_t)")
def _write_pty(_terminal: Any, userdata: Any, data: Any, length: int) -> None:
    _inbox(userdata).reply(bytes(ffi.buffer(data, length)))


@_serves(lib.GHOSTTY_TERMINAL_OPT_BELL, "void(void *, void *)")
def _bell(_terminal: Any, userdata: Any) -> None:
    _inbox(userdata).add(Bell())


@_serves(lib.GHOSTTY_TERMINAL_OPT_TITLE_CHANGED, "void(void *, void *)")
def _title(terminal: Any, userdata: Any) -> None:
    _inbox(userdata).add(TitleChanged(title=read_title(terminal)))


@_serves(lib.GHOSTTY_TERMINAL_OPT_PWD_CHANGED, "void(void *, void *)")
def _pwd(terminal: Any, userdata: Any) -> None:
    cwd = path_from(read_string(terminal, lib.GHOSTTY_TERMINAL_DATA_PWD))
    _inbox(userdata).add(CwdChanged(cwd=cwd))


@_serves(
    lib.GHOSTTY_TERMINAL_OPT_DESKTOP_NOTIFICATION,
    "void(void *, void *, const GhosttyTerminalDesktopNotification *)",
)
def _notify(_terminal: Any, userdata: Any, asked: Any) -> None:
    title, body = without_controls(string(asked.title)), without_controls(string(asked.body))
    _inbox(userdata).add(Notification(title=title[:MAX_TEXT], body=body[:MAX_TEXT]))


@_serves(
    lib.GHOSTTY_TERMINAL_OPT_PROGRESS_REPORT,
    "void(void *, void *, const GhosttyTerminalProgressReport *)",
)
def _progress(_terminal: Any, userdata: Any, report: Any) -> None:
    percent = None if report.progress < 0 else report.progress
    _inbox(userdata).add(Progress(state=_STATES[report.state], percent=percent))


@_serves(
    lib.GHOSTTY_TERMINAL_OPT_CLIPBOARD_WRITE,
    "void(void *, void *, const GhosttyClipboardWrite *)",
)
def _clipboard(_terminal: Any, userdata: Any, write: Any) -> None:
    data = raw(write.contents[0].data) if write.contents_len else b""
    event = ClipboardWritten(
        location=_LOCATIONS[write.location],
        data=data[:MAX_CLIPBOARD],
        truncated=len(data) > MAX_CLIPBOARD,
    )
    _inbox(userdata).add(event)
    answer = ffi.new("GhosttyClipboardWriteReply *")
    answer.size = ffi.sizeof("GhosttyClipboardWriteReply")
    write.reply(write, answer)


@_serves(lib.GHOSTTY_TERMINAL_OPT_XTVERSION, "GhosttyString(void *, void *)")
def _xtversion(_terminal: Any, _userdata: Any) -> Any:
    return _VERSION[0]


@_serves(lib.GHOSTTY_TERMINAL_OPT_SIZE, "bool(void *, void *, GhosttySizeReportSize *)")
def _size(terminal: Any, _userdata: Any, out: Any) -> bool:
    rows, cols = ffi.new("uint16_t *"), ffi.new("uint16_t *")
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_ROWS, rows)
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_COLS, cols)
    out.rows, out.columns = rows[0], cols[0]
    out.cell_width, out.cell_height = CELL_WIDTH, CELL_HEIGHT
    return True


@_serves(lib.GHOSTTY_TERMINAL_OPT_COLOR_SCHEME, "bool(void *, void *, int *)")
def _color_scheme(_terminal: Any, _userdata: Any, out: Any) -> bool:
    out[0] = 1  # dark, as the default colours are
    return True


@_serves(
    lib.GHOSTTY_TERMINAL_OPT_DEVICE_ATTRIBUTES, "bool(void *, void *, GhosttyDeviceAttributes *)"
)
def _device_attributes(_terminal: Any, _userdata: Any, out: Any) -> bool:
    # A VT220 with colour (22): what programs expect of xterm-256color. 52, the clipboard,
    # is left out because a read of it gets no answer.
    out.conformance_level = 62
    out.features[0], out.num_features = 22, 1
    out.device_type, out.firmware_version, out.rom_cartridge = 1, 10, 0
    # Left alone, DA3 would report whatever the stack held before.
    out.unit_id = 0
    return True
