"""The number that every process of a session carries in a limit. Pure.

A process can leave its parent, its kernel session, its terminal and its environment behind. Limits
it inherits through fork and exec all the same. Linux keeps RLIMIT_LOCKS for each process and has
not used it since version 2.4.25: its soft limit is free to say which session a process is from.
"""

from __future__ import annotations

import hashlib

RLIMIT_LOCKS = 10
_BYTES = 7
# Above every limit that somebody would set, and below the largest, which means "unlimited".
_MARK = 1 << 8 * _BYTES


# Of a session whose execs are judged: no daemon can work inside of it.
_GUARDED = 1 << (8 * _BYTES + 1)


def process_mark(instance: str, *, guarded: bool = False) -> int:
    """Return the number of a session, from its instance."""
    digest = hashlib.blake2b(instance.encode(), digest_size=_BYTES).digest()
    return _MARK | int.from_bytes(digest, "big") | (_GUARDED if guarded else 0)


def is_mark(limit: int) -> bool:
    """Whether a limit is the mark of some session.

    >>> is_mark(process_mark("any")), is_mark(1024)
    (True, False)
    """
    return _MARK <= limit & ~_GUARDED < 2 * _MARK


def plain_mark(limit: int) -> int:
    """Return a mark as it is without a guard.

    >>> plain_mark(process_mark("any", guarded=True)) == process_mark("any")
    True
    """
    return limit & ~_GUARDED


def is_guarded_mark(limit: int) -> bool:
    """Whether a limit is the mark of a session whose execs are judged."""
    return is_mark(limit) and bool(limit & _GUARDED)
