"""Read a journal in pages: any place of a large one is found by halving, not by reading."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterator
from typing import BinaryIO

import msgspec
from msgspec import Struct

_LONGEST_LINE = 64 << 20
_PIECE = 1 << 18
_MOST_LOOKED_AT = 100


def page(path: str, *, after: int, most_bytes: int) -> list[bytes]:
    """Return the whole lines of the events after number *after*, at least one if there is any.

    A line that is damaged is returned as it is: it is evidence, too. Of an unfinished one at the
    end, which may be just being written, nothing is.
    """
    lines: list[bytes] = []
    size, begun = 0, not after
    with open(path, "rb") as file:
        file.seek(_start(file, after))
        for line in whole_lines(file):
            number = _sequence(line)
            if number is not None:
                begun = number > after
            if not begun:
                continue
            size += len(line)
            if lines and size > most_bytes:
                break
            lines.append(line)
    return lines


def lines(path: str) -> Iterator[bytes]:
    """Yield every whole line, in bounded memory."""
    with open(path, "rb") as file:
        yield from whole_lines(file)


def prefix_lines(path: str, most_bytes: int | None) -> Iterator[bytes]:
    """Yield the whole lines of the first *most_bytes*; None: of what is there now."""
    with open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size if most_bytes is None else most_bytes
        for line in whole_lines(file):
            left -= len(line) + 1
            if left < 0:
                return
            yield line


def first_instance(path: str) -> str | None:
    """Return whose journal it is by the first of its lines that says so; None: none does."""
    for line in itertools.islice(lines(path), _MOST_LOOKED_AT):
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            return str(json.loads(line)["instance"])
    return None


def torn_tail(path: str) -> int:
    """Return how many bytes stand behind the last whole line."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        for step in (min(size, 1), min(size, 1 << 20)):  # nearly always there are none
            file.seek(size - step)
            torn = step - (file.read(step).rfind(b"\n") + 1)
            if not torn:
                return 0
    return torn


def whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines from here on that have an end.

    They are read in large pieces: each read lets other threads run, and the daemon's own must not
    wait in a row with those that read.
    """
    begun: list[bytes] = []
    while piece := file.read(_PIECE):
        first, *others = piece.split(b"\n")
        begun.append(first)
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun = others[-1:]
        elif len(begun) * _PIECE > _LONGEST_LINE:
            return


def _start(file: BinaryIO, after: int) -> int:
    """Return a place before the first event after *after*, and not far before it."""
    low, high = 0, file.seek(0, os.SEEK_END)
    while high - low > (1 << 16) and after:
        middle = (low + high) // 2
        file.seek(middle)
        file.readline(_LONGEST_LINE)
        begin = file.tell()
        number = _sequence(file.readline(_LONGEST_LINE))
        if begin >= high or number is None or number > after:
            high = middle
        else:
            low = begin
    return low


def is_event(line: bytes) -> bool:
    """Whether a line is JSON of an event, as far as `page` looks at it."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return _sequence(line) is not None


class _Numbered(Struct):
    sequence: int


_numbered = msgspec.json.Decoder(_Numbered)


def _sequence(line: bytes) -> int | None:
    try:
        return _numbered.decode(line).sequence
    except (ValueError, RecursionError):  # msgspec's own error is a ValueError
        return None
