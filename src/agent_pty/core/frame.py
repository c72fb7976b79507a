"""Frames between our own processes: a length, a kind, a number, a body.

The number pairs a response with its request, so one connection carries many at once.
"""

from __future__ import annotations

import enum
import struct
from typing import NamedTuple

HEADER = struct.Struct(">IBI")
# Far above what any op may ask or answer (8 MiB, 256 KiB pages): a larger frame is garbage.
LARGEST = 64 * 1024 * 1024


class Kind(enum.IntEnum):
    """What a frame is for."""

    REQUEST = 1
    RESPONSE = 2
    CANCEL = 3
    EVENT = 4
    PING = 5
    PONG = 6
    # A stream belongs to the request that opened it. Its reader grants credit, in bytes, and
    # the writer never sends more than that: the amount in transit is always bounded.
    STREAM = 7
    CREDIT = 8
    INPUT = 9
    END = 10


class Frame(NamedTuple):
    """One message; *number* is the request it belongs to, 0 if to none."""

    kind: Kind
    number: int = 0
    body: bytes = b""


class Garbage(ValueError):
    """The peer does not speak this protocol; nothing after this can be trusted."""


def encoded(frame: Frame) -> bytes:
    """Return the bytes of *frame*."""
    return HEADER.pack(len(frame.body), frame.kind, frame.number) + frame.body


class FrameReader:
    """Turn a byte stream, split anywhere, into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that *data* completes; raise `Garbage` on anything else."""
        self._buffer += data
        frames = []
        while (frame := self._take()) is not None:
            frames.append(frame)
        return frames

    def _take(self) -> Frame | None:
        if len(self._buffer) < HEADER.size:
            return None
        size, kind, number = HEADER.unpack_from(self._buffer)
        if size > LARGEST:
            raise Garbage(f"a frame of {size} bytes")
        end = HEADER.size + size
        if len(self._buffer) < end:
            return None
        try:
            with memoryview(self._buffer) as view:  # a slice would be one more copy
                body = bytes(view[HEADER.size : end])
            frame = Frame(kind=Kind(kind), number=number, body=body)
        except ValueError as error:
            raise Garbage(f"a frame of unknown kind {kind}") from error
        del self._buffer[:end]
        return frame
