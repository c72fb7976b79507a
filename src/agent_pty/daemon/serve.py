"""A daemon's process, in the background or, for `serve`, in the foreground."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import stat
from collections.abc import Callable
from typing import Any

from agent_pty.core.layout import Layout
from agent_pty.daemon.daemon import Daemon
from agent_pty.errors import DaemonError, DaemonRunning
from agent_pty.keeper.listen import listen
from agent_pty.store import home
from agent_pty.store.lock import Lock
from agent_pty.transports.unix import UnixServer

# Clients that still wait for an answer when the daemon stops get this long.
_LAST_WORDS = 0.2
_PREDECESSOR_SECONDS = 15.0


def main(arguments: dict[str, Any]) -> None:
    """Serve in the background; tell through the pipe *ready* that we listen."""
    ready = arguments["ready"]

    def tell() -> None:
        os.write(ready, b"1")
        os.close(ready)

    # Who starts us has seen that nobody listens: a daemon that holds the lock is on its way out.
    run(Layout(**arguments["layout"]), on_listening=tell, patience=_PREDECESSOR_SECONDS)


def run(layout: Layout, *, on_listening: Callable[[], None], patience: float = 0.0) -> None:
    """Be the daemon of a home until told to stop; refuse if it has one."""
    home.prepare(layout)
    lock = Lock(layout.daemon_lock)
    if not lock.acquire(patience=patience):
        raise DaemonRunning(f"a daemon is already running for {layout.home}", home=layout.home)
    with _bound(layout.socket) as listener:
        isolated = os.environ.get("AGENT_PTY_ISOLATION", "on") != "off"
        asyncio.run(_serve(layout, listener, isolated=isolated, on_listening=on_listening))
    lock.release()


@contextlib.contextmanager
def _bound(path: str) -> Any:
    """Bind the socket; what is at its path is removed only if it is a dead socket."""
    if os.path.lexists(path):
        _must_be_dead(path)
    try:
        listener = listen(path)
    except OSError as error:
        raise DaemonError(f"cannot listen at {path}: {error.strerror}", socket=path) from error
    inode = os.stat(path).st_ino
    try:
        yield listener
    finally:
        listener.close()
        with contextlib.suppress(FileNotFoundError):
            if os.stat(path).st_ino == inode:
                os.unlink(path)


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


async def _serve(
    layout: Layout, listener: socket.socket, *, isolated: bool, on_listening: Callable[[], None]
) -> None:
    daemon = Daemon(layout, isolated=isolated)
    await daemon.start()
    _obey_signals(daemon)
    server = UnixServer(daemon.handle)
    await server.start(listener)
    on_listening()
    keep = await daemon.stopping
    server.stop_accepting()
    await daemon.close(keep=keep)
    await asyncio.sleep(_LAST_WORDS if server.clients else 0)
    server.close()
    if not keep or not os.listdir(layout.sessions):
        _clean(layout)


def _obey_signals(daemon: Daemon) -> None:
    """SIGTERM and Ctrl-C mean `stop`; a closed terminal means nothing to a daemon."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: daemon.shut_down(keep=False))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _clean(layout: Layout) -> None:
    """Leave nothing in `run` but the locks: removing those would split them."""
    shutil.rmtree(layout.sessions, ignore_errors=True)
    for name in os.listdir(layout.run):
        if not name.endswith(".lock"):
            with contextlib.suppress(OSError):
                os.unlink(f"{layout.run}/{name}")
