"""Bind a Unix socket that only this user can reach."""

from __future__ import annotations

import contextlib
import os
import socket
import struct

_BACKLOG = 512
# The kernel's limit for a path in a socket address, less the final NUL.
_LONGEST_PATH = 107
_CREDENTIALS = struct.Struct("3i")


def listen(path: str) -> socket.socket:
    """Listen at *path*; the caller must hold its lock, so a socket found there is stale."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mode must be right from the first moment: chmod after bind leaves a gap.
    umask = os.umask(0o177)
    try:
        listener.bind(path)
    except OSError as error:
        listener.close()
        if len(os.fsencode(path)) > _LONGEST_PATH:
            raise OSError(error.errno, f"{path}: longer than {_LONGEST_PATH} bytes") from error
        raise
    finally:
        os.umask(umask)
    listener.listen(_BACKLOG)
    return listener


def is_ours(sock: socket.socket) -> bool:
    """Whether the other end has our uid: a second check, the socket's mode ensures the same."""
    if not hasattr(socket, "SO_PEERCRED"):  # macOS: the mode must suffice
        return True
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(raw)
    return bool(uid == os.getuid())
