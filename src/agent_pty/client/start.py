"""Start what is missing: a daemon from the keeper's warm image, or keeper and daemon cold.

Whoever is started says through a pipe that it listens; a pipe that closes without a
word means that it could not.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import site
import socket
import sys
from collections.abc import Iterator
from typing import Any

from agent_pty import build
from agent_pty.core.frame import Frame, FrameReader, Kind, encoded
from agent_pty.core.isolation import isolated
from agent_pty.core.layout import Layout
from agent_pty.core.process_mark import RLIMIT_LOCKS, is_guarded_mark
from agent_pty.errors import DaemonError

_PATIENCE = 20.0
_LARGEST_LOG = 4 * 1024 * 1024


def start_daemon(layout: Layout) -> None:
    """Return once a daemon listens; if several clients want one, one starts it."""
    _refuse_in_guarded_session()
    isolated(os.environ)  # a wrong value is refused here, where somebody reads the error
    _make_room(layout)
    with _only_one(layout):
        # The keeper may hold the socket of a daemon that is gone: then one must be started.
        if listens(layout.socket) and _locked(layout.daemon_lock):
            return
        with _ready_pipe() as (read, write):
            if not _fork_warm(layout, write):
                _spawn(layout, "agent_pty.keeper", {"daemon": True, "ready": write})
            os.close(write)
            if not _told(read):
                raise DaemonError(f"the daemon did not start: see {layout.log}")


def _refuse_in_guarded_session() -> None:
    """Start nothing whose execs another daemon would judge, and that could not guard any itself."""
    limit, _ = resource.getrlimit(RLIMIT_LOCKS) if sys.platform == "linux" else (0, 0)
    if is_guarded_mark(limit):
        raise DaemonError(
            "no daemon can be started inside a guarded session: start it outside, or use the one "
            "that has this session"
        )


def _make_room(layout: Layout) -> None:
    for path in (layout.home, layout.run):
        try:
            os.mkdir(path, mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise DaemonError(f"cannot make {path}: {error.strerror}", path=path) from error


def start_keeper(layout: Layout) -> bool:
    """Start a keeper alone; True once it listens."""
    with _ready_pipe() as (read, write):
        _spawn(layout, "agent_pty.keeper", {"daemon": False, "ready": write})
        os.close(write)
        return _told(read)


def listens(path: str) -> bool:
    """Whether somebody accepts connections at *path*."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


@contextlib.contextmanager
def _only_one(layout: Layout) -> Iterator[None]:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    lock = os.open(layout.start_lock, flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def _ready_pipe() -> Iterator[tuple[int, int]]:
    """Give a pipe whose write end, closed by the caller, outlives exec."""
    read, low = os.pipe()
    try:
        # Above the standard streams, which the child replaces.
        write = fcntl.fcntl(low, fcntl.F_DUPFD, 10)
    finally:
        os.close(low)
    try:
        yield read, write
    finally:
        os.close(read)


def _fork_warm(layout: Layout, ready: int) -> bool:
    """Ask a living keeper of our own build for a daemon; False if there is none."""
    with _keeper_socket() as keeper:
        try:
            keeper.connect(layout.keeper_socket)
            hello = _ask(keeper, {"do": "hello", "role": "client"})
            if hello.get("build") != build.digest():
                _spawn(layout, "agent_pty.daemon", {"ready": ready})
                return True
            answer = _ask(keeper, {"do": "fork", "role": "daemon"}, ready)
        except OSError:
            return False
    return "error" not in answer


def upgrade_keeper(layout: Layout) -> None:
    """Have the keeper run our build; nothing if there is none. No daemon may run meanwhile.

    It keeps its pid, its terminals and its programs. One that cannot do that is ended: its hosts
    then give their terminals to the next keeper, which cannot know the exit codes of programs
    that were started before.
    """
    with _keeper_socket() as keeper:
        try:
            keeper.connect(layout.keeper_socket)
            hello = _ask(keeper, {"do": "hello", "role": "client"})
        except OSError:
            return
        can_upgrade = "build" in hello
        command = [sys.executable, *isolation()]
        wanted = {"do": "upgrade", "command": command} if can_upgrade else {"do": "stop"}
        # An upgrade is answered by the end of the connection.
        with contextlib.suppress(ConnectionResetError):
            answer = _ask(keeper, wanted)
            if "error" in answer:
                raise DaemonError(f"the keeper cannot be upgraded: {answer['error']['reason']}")
    if not can_upgrade:
        _wait_until_free(layout.keeper_lock)


def _locked(path: str) -> bool:
    """Whether a living process holds the lock at *path*."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _wait_until_free(path: str) -> None:
    """Return when nobody holds the lock at *path*."""
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def _keeper_socket() -> socket.socket:
    keeper = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    keeper.settimeout(_PATIENCE)
    return keeper


def _ask(keeper: socket.socket, body: dict[str, Any], *fds: int) -> dict[str, Any]:
    body = {**body, "seq": 1, "fds": len(fds)}
    frame = encoded(Frame(kind=Kind.EVENT, body=json.dumps(body).encode()))
    if fds:
        socket.send_fds(keeper, [frame], list(fds))
    else:
        keeper.sendall(frame)
    reader = FrameReader()
    while data := keeper.recv(1 << 16):
        for found in reader.feed(data):
            answer: dict[str, Any] = json.loads(found.body)
            return answer
    raise ConnectionResetError("the keeper closed the connection")


def _spawn(layout: Layout, module: str, arguments: dict[str, Any]) -> None:
    """Start a module of ours, which puts itself into the background."""
    words = json.dumps({**layout.to_wire(), **arguments})
    log = open_log(layout)
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, *isolation(), "-m", module, words],
            {**_environment(), **layout.variables},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
        )
    finally:
        os.close(log)
    os.waitpid(pid, 0)


def _environment() -> dict[str, str]:
    """Return our environment without a session's marks: killing that session must not kill us.

    Nor does the socket of another daemon concern us or our sessions.
    """
    marks = ("AGENT_PTY_SESSION", "AGENT_PTY_INSTANCE", "AGENT_PTY_SOCKET")
    return {name: value for name, value in os.environ.items() if name not in marks}


def isolation() -> list[str]:
    """Return the interpreter's flags: nothing of the environment or of this directory counts.

    `-I` also hides the user's own site directory; if we are installed there, its two
    other halves have to do.
    """
    home = site.USER_SITE if site.ENABLE_USER_SITE else None
    in_user_site = home is not None and os.path.abspath(__file__).startswith(home + os.sep)
    return ["-E", "-P"] if in_user_site else ["-I"]


def open_log(layout: Layout) -> int:
    """Open the log of daemon, hosts and keeper; one that has grown large starts anew."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    log = os.open(layout.log, flags, 0o600)
    if os.fstat(log).st_size > _LARGEST_LOG:
        os.ftruncate(log, 0)
    return log


def _told(read: int) -> bool:
    readable, _, _ = select.select([read], [], [], _PATIENCE)
    return bool(readable) and os.read(read, 1) == b"1"
