"""Read a journal in pages: any place of a large one is found by halving, not by reading."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import BinaryIO

_LONGEST_LINE = 64 << 20


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


def torn_tail(path: str) -> int:
    """Return how many bytes stand behind the last whole line."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        step = min(size, 1 << 20)
        file.seek(size - step)
        return step - (file.read(step).rfind(b"\n") + 1) if size else 0


def whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines from here on that have an end."""
    while (line := file.readline(_LONGEST_LINE)).endswith(b"\n"):
        yield line[:-1]


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


def _sequence(line: bytes) -> int | None:
    try:
        return int(json.loads(line)["sequence"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
