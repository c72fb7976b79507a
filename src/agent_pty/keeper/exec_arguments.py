"""What a process wants to execute, read from its memory while it waits for the answer.

Only an ancestor may read it where the kernel restricts that (Yama), so the keeper does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from agent_pty.keeper.seccomp import Question, is_open

_PAGE = 4096
# More than the kernel accepts with its usual limits.
_MOST_WORDS = 1 << 16
_MOST_BYTES = 1 << 21
_LONGEST_PATH = 4096
_AT_CWD = 0xFFFFFF9C  # -100


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A program and its arguments; *directory* is the descriptor that *path* is relative to.

    *problem* says why the arguments are not known, or not all of them.
    """

    path: str | None
    argv: list[str]
    directory: int | None = None
    problem: str | None = None


def read_arguments(listener: int, question: Question) -> Wanted | None:
    """Read what is asked about; None if whoever asked is gone."""
    try:
        memory = os.open(f"/proc/{question.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        found = _unknown(error)
    else:
        try:
            found = _read(_Memory(memory), question)
        except (OSError, OverflowError) as error:
            found = _unknown(error)
        finally:
            os.close(memory)
    # Only now is it certain that it was not the memory of a later process with that pid.
    return found if is_open(listener, question.id) else None


def _unknown(error: Exception) -> Wanted:
    reason = error.strerror if isinstance(error, OSError) else "no such address"
    return Wanted(path=None, argv=[], problem=f"its arguments cannot be read: {reason}")


def _read(memory: _Memory, question: Question) -> Wanted:
    given = question.arguments
    directory = None
    if question.is_at:
        directory = None if given[0] & 0xFFFFFFFF == _AT_CWD else given[0] & 0x7FFFFFFF
        given = given[1:]
    path = memory.text(given[0], _LONGEST_PATH)
    argv: list[str] = []
    size, addresses = 0, memory.pointers(given[1], question.word)
    for address in addresses:
        argv.append(memory.text(address, _MOST_BYTES - size + 1))
        size += len(argv[-1]) + 1
        if size > _MOST_BYTES:
            break
    cut = len(addresses) > _MOST_WORDS or size > _MOST_BYTES
    problem = f"only the first {len(argv)} of its arguments were read" if cut else None
    return Wanted(path=path, argv=argv, directory=directory, problem=problem)


class _Memory:
    """The memory of another process, read by pages, each of them once."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._pages: dict[int, bytes] = {}

    def _page(self, number: int) -> bytes:
        if number not in self._pages:
            self._pages[number] = os.pread(self._fd, _PAGE, number * _PAGE)
        return self._pages[number]

    def text(self, address: int, longest: int) -> str:
        """Return the text that ends with the first NUL."""
        number, offset = divmod(address, _PAGE)
        found = b""
        while len(found) < longest:
            piece = self._page(number)[offset:]
            head, end, _ = piece.partition(b"\0")
            found += head
            if end or not piece:
                break
            number, offset = number + 1, 0
        return os.fsdecode(found[:longest])

    def pointers(self, address: int, size: int) -> list[int]:
        """Return the addresses in a table that ends with 0; it may be missing altogether."""
        found: list[int] = []
        while address and len(found) <= _MOST_WORDS:
            number, offset = divmod(address, _PAGE)
            raw = self._page(number)[offset : offset + size]
            if len(raw) < size:  # a word across two pages
                raw += self._page(number + 1)[: size - len(raw)]
            pointer = int.from_bytes(raw, "little")
            if pointer == 0:
                break
            found.append(pointer)
            address += size
        return found
