"""Frames between the script (`cli/script`) and a command line that the daemon carries out.

A frame is one byte of kind, four bytes of length (big-endian) and the payload. `docs/protocol.md`
describes the conversation.
"""

from __future__ import annotations

import enum

from agent_pty.core.frame import Garbage

_HEADER = 5
_LARGEST = 1024 * 1024


class ToCaller(enum.IntEnum):
    """What the daemon sends."""

    OUT = 1  # for standard output
    ERR = 2  # for standard error
    STATUS = 3  # the exit status in decimal: the last frame
    SEND = 4  # asks for something of the caller: stdin, env, or a file and its path
    WRITE = 5  # asks to write a file: its path, NUL, its content
    FULL = 6  # asks to run the command line in the full client instead
    BOOKMARK = 7  # where to continue if the daemon dies; everything printed before is settled
    ALIVE = 8  # says only that the daemon still works on it


class FromCaller(enum.IntEnum):
    """What the script sends."""

    INTERRUPT = 1  # Ctrl-C
    DATA = 2  # a piece of what was asked for
    END = 3  # all of it was sent, or the file was written
    FAILED = 4  # it cannot be had; the payload says why


def frame(kind: int, payload: bytes = b"") -> bytes:
    """Return the bytes of one frame."""
    return bytes([kind]) + len(payload).to_bytes(4, "big") + payload


class CallerFrames:
    """Turn what the script sends, split anywhere, into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[FromCaller, bytes]]:
        """Return the frames that *data* completes; raise `Garbage` on anything else."""
        self._buffer += data
        frames = []
        while len(self._buffer) >= _HEADER:
            size = int.from_bytes(self._buffer[1:_HEADER], "big")
            if size > _LARGEST:
                raise Garbage(f"a frame of {size} bytes")
            if len(self._buffer) < _HEADER + size:
                break
            try:
                kind = FromCaller(self._buffer[0])
            except ValueError as error:
                raise Garbage(f"a frame of unknown kind {self._buffer[0]}") from error
            frames.append((kind, bytes(self._buffer[_HEADER : _HEADER + size])))
            del self._buffer[: _HEADER + size]
        return frames
