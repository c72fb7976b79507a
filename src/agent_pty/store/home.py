"""The home directory: made private, checked before use."""

from __future__ import annotations

import os
import stat
import sys

from agent_pty import log
from agent_pty.core.layout import Layout
from agent_pty.errors import DaemonError
from agent_pty.store import atomic
from agent_pty.store.lock import held

# The layout of a home; later versions read earlier ones.
FORMAT = 1
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LONGEST_SOCKET = 103 if sys.platform == "darwin" else 107


def prepare(layout: Layout) -> None:
    """Make the directories of a home, or raise an error of one line that says why not."""
    for path in (layout.socket, layout.keeper_socket):
        _check_length(path)
    if layout.base:
        _private_directory(layout.base)
    _private_directory(layout.home)
    _check_format(layout.format)
    for path in (layout.run, layout.sessions, layout.log_dir):
        _private_directory(path)
    _safe_parent(layout.socket)


def left_behind(layout: Layout) -> bool:
    """Whether a dead daemon left a keeper or sessions, which only a new one can end."""
    try:
        return held(layout.keeper_lock) or bool(os.listdir(layout.sessions))
    except OSError:
        return False


def _check_length(socket: str) -> None:
    """Refuse a path too long for the kernel: a daemon in the background could not report it."""
    if len(os.fsencode(socket)) > _LONGEST_SOCKET:
        raise DaemonError(
            f"{socket}: the path of a socket has at most {_LONGEST_SOCKET} bytes: "
            "set AGENT_PTY_HOME to a shorter one",
            path=socket,
        )


def _check_format(path: str) -> None:
    """Refuse a home written by a later version before anything in it is touched."""
    try:
        with open(path, encoding="ascii") as file:
            found = file.read().strip()
    except FileNotFoundError:
        _write_format(path)
        return
    except (OSError, UnicodeDecodeError) as error:
        raise DaemonError(f"cannot read {path}: {error}", path=path) from error
    if not found.isdigit() or int(found) > FORMAT:
        raise DaemonError(
            f"{path} says format {found!r}, this version knows up to {FORMAT}: "
            "use the version that wrote it, or another AGENT_PTY_HOME",
            path=path,
        )


def _write_format(path: str) -> None:
    """Write the format; several clients may be first at once, so each writes a file of its own.

    The last one stays.
    """
    own = f"{path}.{os.getpid()}"
    try:
        atomic.replace(own, f"{FORMAT}\n".encode())
        os.replace(own, path)
    except OSError as error:
        raise DaemonError(f"cannot write {path}: {error.strerror}", path=path) from error


def _private_directory(path: str) -> None:
    try:
        make_private(path)
        found = os.stat(path, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            found = os.stat(path)
    except OSError as error:
        raise DaemonError(f"cannot use {path}: {error.strerror}", path=path) from error
    if found.st_uid != os.getuid():
        raise DaemonError(f"{path} belongs to uid {found.st_uid}, not to you: choose another home")
    if found.st_mode & _OTHERS_WRITE:
        log.line(f"warning: {path} was writable by others, now it is not: look what is in it")
    if found.st_mode & _OTHERS:
        # It is ours, so its mode can be corrected. What others may have put there is checked
        # file by file.
        os.chmod(path, 0o700)
    if not os.access(path, os.W_OK | os.X_OK):
        raise DaemonError(f"{path} is not writable", path=path)


def make_private(path: str) -> None:
    """Make a directory and its missing parents, all private: makedirs is less strict."""
    if os.path.isdir(path):
        return
    make_private(os.path.dirname(path))
    try:
        os.mkdir(path, mode=0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def _safe_parent(socket: str) -> None:
    """Refuse a socket in a directory where another user could replace it."""
    parent = os.path.dirname(socket)
    try:
        found = os.stat(parent)
    except FileNotFoundError:
        _private_directory(parent)
        return
    if found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise DaemonError(
            f"{parent} is writable by others: a socket there is not safe (chmod go-w {parent})",
            path=parent,
        )
    if found.st_uid not in (os.getuid(), 0):
        raise DaemonError(f"{parent} belongs to uid {found.st_uid}: a socket there is not safe")
