"""The socket at which clients find the daemon: bound here or inherited, and held by the keeper too.

The keeper's duplicate lets clients wait while a daemon that died is followed by another one.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat

from agent_pty.errors import DaemonError, DaemonRunning
from agent_pty.keeper.listen import listen


class Listening:
    """A listening socket and its file. Close it at the end, unless a successor inherits it."""

    def __init__(self, path: str, inherited: int | None = None) -> None:
        self._path = path
        self._listener = _bound(path) if inherited is None else socket.socket(fileno=inherited)
        self._inode = _inode(path)

    @property
    def listener(self) -> socket.socket:
        """The socket itself."""
        return self._listener

    @property
    def reachable(self) -> bool:
        """Whether the file is there, and is that of this socket."""
        return self._inode is not None and _inode(self._path) == self._inode

    def bind_again(self) -> None:
        """Make the file again, with a new socket: somebody removed it."""
        self._listener = _bound(self._path)
        self._inode = _inode(self._path)

    def close(self) -> None:
        """Remove the file and refuse whoever connects."""
        if self.reachable:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        self._listener.close()


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _bound(path: str) -> socket.socket:
    """Bind the socket; what is at its path is removed only if it is a dead socket."""
    if os.path.lexists(path):
        _must_be_dead(path)
    try:
        return listen(path)
    except OSError as error:
        raise DaemonError(f"cannot listen at {path}: {error.strerror}", socket=path) from error


def _must_be_dead(path: str) -> None:
    # Connecting to a plain file is refused just like connecting to a dead socket.
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise DaemonError(f"{path} is there and is no socket: move it or choose another", path=path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return
        except FileNotFoundError:
            return
        except OSError as error:
            raise DaemonError(f"{path} is not a socket of ours: {error.strerror}") from error
    raise DaemonRunning(f"a daemon is already listening at {path}", socket=path)
