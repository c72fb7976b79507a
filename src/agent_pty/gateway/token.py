"""The token of a home: made once, readable by its owner alone."""

from __future__ import annotations

import contextlib
import os
import secrets

_BYTES = 32


def token(path: str) -> str:
    """Return the token in *path*; make one if there is none."""
    with contextlib.suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with open(os.open(path, flags, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_BYTES) + "\n")
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with open(fd, encoding="ascii") as file:
        found = os.fstat(fd)
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise PermissionError(f"{path} can be read by others: remove it, another is made")
        text = file.read().strip()
    if len(text) < _BYTES:
        raise ValueError(f"{path} has no token: remove it, another is made")
    return text
