"""Replace a file so that a crash leaves the old or the new one, never a partial one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable


def replace(path: str, data: bytes, *, durable: bool = True) -> None:
    """Write *data* to *path*, private to this user; for *durable* see `replace_by`."""
    replace_by(path, [data], durable=durable)


def replace_by(path: str, pieces: Iterable[bytes], *, durable: bool = True) -> None:
    """Write *pieces* to *path*, private to this user.

    Without *durable* the file survives a crash of this process but not of the machine,
    which is enough for state that means nothing after a reboot.
    """
    temporary = f"{path}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600)
    try:
        for piece in pieces:
            write_all(fd, piece)
        if durable:
            os.fsync(fd)
    except BaseException:
        os.close(fd)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    os.close(fd)
    os.replace(temporary, path)
    if durable:
        sync_directory(os.path.dirname(path))


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write every byte: a full disk may take only some of them and report it at the next call."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_directory(path: str) -> None:
    """Make names that were given or removed in a directory survive the machine's death."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
