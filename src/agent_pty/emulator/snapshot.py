"""A terminal's complete state as bytes, and back.

The format is the library's and belongs to its exact version: keep snapshots no longer
than the process tree that made them, never as an archive.
"""

from __future__ import annotations

from typing import Any, Final

from agent_pty.emulator.binding import GhosttyError, check, ffi, lib, owned, take_allocated
from agent_pty.errors import Busy

# How much of a half-received sequence is kept so that a snapshot can hold it.
MAX_CONTINUATION: Final = 1024 * 1024


def encode(terminal: Any) -> bytes:
    """Return the state, a half-received escape sequence included."""
    try:
        return take_allocated(lib.ghostty_snapshot_encode_alloc, "snapshot", terminal)
    except GhosttyError as error:
        text = "the program is inside an escape sequence too long to keep; try again later"
        raise Busy(text) from error


def decode(data: bytes) -> Any:
    """Return a new terminal in the state that *data* describes; the caller owns it."""
    source = ffi.from_buffer("uint8_t[]", data)
    decoder = owned(
        lib.ghostty_snapshot_decoder_new_buf, lib.ghostty_snapshot_decoder_free, source, len(data)
    )
    try:
        return _decode(decoder, size=len(data))
    except GhosttyError as error:
        raise ValueError("this is no snapshot of this version's emulator") from error
    finally:
        ffi.release(decoder)


def _decode(decoder: Any, *, size: int) -> Any:
    limit, retain = ffi.new("size_t *", MAX_CONTINUATION), ffi.new("bool *", True)
    setting = lib.ghostty_snapshot_decoder_set
    most = lib.GHOSTTY_SNAPSHOT_DECODER_OPT_MAX_CONTINUATION_BYTES
    check(setting(decoder, most, limit), "limit")
    keep = lib.GHOSTTY_SNAPSHOT_DECODER_OPT_RETAIN_CONTINUATION
    check(setting(decoder, keep, retain), "retain")
    out = ffi.new("void **")
    check(lib.ghostty_snapshot_decoder_decode(decoder, out), "decode")
    terminal = ffi.gc(out[0], lib.ghostty_terminal_free)
    used = ffi.new("size_t *")
    offset = lib.GHOSTTY_SNAPSHOT_DECODER_DATA_SOURCE_OFFSET
    check(lib.ghostty_snapshot_decoder_get(decoder, offset, used), "offset")
    if used[0] != size:
        raise GhosttyError(f"{size - used[0]} bytes after the end")
    return terminal
