"""A daemon's process, in the background or, for `serve`, in the foreground."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any

from agent_pty import log
from agent_pty.core.isolation import isolated
from agent_pty.core.layout import Layout
from agent_pty.core.redaction.redactor import redacted
from agent_pty.daemon import idle
from agent_pty.daemon.daemon import Daemon, Stopping
from agent_pty.daemon.listening import Listening
from agent_pty.daemon.own_http import OwnHttp, served
from agent_pty.errors import AgentPtyError, DaemonRunning
from agent_pty.host.idle_timer import IdleTimer
from agent_pty.keeper.signals import pass_over_foreign
from agent_pty.store import home, log_dir, policy_store
from agent_pty.store.lock import Lock
from agent_pty.store.policy_store import KeptPolicy
from agent_pty.transports.caller import Caller
from agent_pty.transports.unix import UnixServer

# Clients that still wait for an answer when the daemon stops get this long.
_LAST_WORDS = 0.2
_PREDECESSOR_SECONDS = 15.0
# Python's 5 ms are what the event loop waits after each of its system calls while a thread makes a
# proof: a request has several.
_SWITCH_SECONDS = 0.0005


def main(arguments: dict[str, Any]) -> None:
    """Serve in the background; tell through the pipe *ready* that we listen."""
    ready, inherited = arguments["ready"], arguments.get("listener")

    def tell() -> None:
        os.write(ready, b"1")
        os.close(ready)

    # Who starts us has seen that nobody listens: a daemon that holds the lock is on its way out.
    layout = Layout(**arguments["layout"])
    run(
        layout,
        on_listening=tell,
        patience=_PREDECESSOR_SECONDS,
        inherited=inherited,
        idle_limit=idle.limit(os.environ),
    )


def run(
    layout: Layout,
    *,
    on_listening: Callable[[], None],
    patience: float = 0.0,
    inherited: int | None = None,
    idle_limit: float | None = None,
    http: OwnHttp | None = None,
    policy: str | None = None,
) -> None:
    """Be the daemon of a home until somebody stops it; refuse if it has one.

    *inherited* is the listening socket of the daemon before. After *idle_limit* seconds in which
    nobody has used it, the daemon stops by itself. *http* is served as long as it lives. *policy*
    is the path of a policy file; without one, the rules are those of before, or as configured.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    log.clean_by(redacted)
    in_own_processes = isolated(os.environ)
    home.prepare(layout)
    lock = Lock(layout.daemon_lock)
    if not lock.acquire(patience=patience):
        raise DaemonRunning(f"a daemon is already running for {layout.home}", home=layout.home)
    log_lock = log_dir.claim(layout)
    try:
        kept = policy_store.begin(layout, policy)
    except BaseException:
        log_lock.release()
        lock.release()
        raise
    listening = Listening(layout.socket, inherited)
    daemon = _serve(
        layout,
        listening,
        in_own_processes=in_own_processes,
        on_listening=on_listening,
        idle_limit=idle_limit,
        http=http,
        policy=kept,
    )
    try:
        asyncio.run(daemon)
    finally:
        log_lock.release()
        lock.release()


async def _serve(
    layout: Layout,
    listening: Listening,
    *,
    in_own_processes: bool,
    on_listening: Callable[[], None],
    idle_limit: float | None,
    http: OwnHttp | None,
    policy: KeptPolicy,
) -> None:
    async def relisten() -> None:
        if not listening.reachable:
            listening.bind_again()
            await listen()

    async def listen() -> None:
        await server.start(listening.listener)
        await daemon.hold(listening.listener)

    async def adopt(sock: socket.socket, caller: Caller) -> None:
        await server.adopt(sock, caller)

    daemon = Daemon(
        layout, isolated=in_own_processes, relisten=relisten, adopt=adopt, policy=policy
    )
    server = UnixServer(daemon.handle)
    await daemon.start()
    daemon.checkpoints.start()
    _obey_signals(daemon)
    await listen()
    on_listening()
    failed: AgentPtyError | None = None
    with _stopped_when_idle(daemon, server, idle_limit):
        try:
            async with served(daemon, http):
                stopping = await daemon.stopping
        except AgentPtyError as error:
            failed = error
    await _end(layout, listening, daemon, server, stopping)
    if failed is not None:
        raise failed


async def _end(
    layout: Layout, listening: Listening, daemon: Daemon, server: UnixServer, stopping: Stopping
) -> None:
    """End what the daemon has, and let callers have their last answers."""
    server.stop_accepting()
    if stopping.keep:
        server.abandon()  # and cancel nothing: they ask the next daemon again
    daemon.checkpoints.follow()  # they are forgotten when they have ended
    await daemon.close(stopping)
    await daemon.checkpoints.close()
    await asyncio.sleep(_LAST_WORDS if server.clients else 0)
    server.close()
    if not stopping.successor:
        listening.close()
    if not stopping.keep or not (stopping.successor or os.listdir(layout.sessions)):
        _clean(layout, staying={instance for instance, _ in daemon.sessions})


@contextlib.contextmanager
def _stopped_when_idle(daemon: Daemon, server: UnixServer, limit: float | None) -> Iterator[None]:
    """Stop a daemon that nobody has used for *limit* seconds; None: never."""
    if limit is None:
        yield
        return

    timer = IdleTimer(
        limit,
        in_use=lambda: bool(server.clients) or daemon.has_sessions,
        last_use=lambda: server.last_use,
        end=daemon.shut_down,
    )
    with contextlib.closing(timer):
        yield


def _obey_signals(daemon: Daemon) -> None:
    """SIGTERM and Ctrl-C mean `stop`; a closed terminal means nothing to a daemon."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.shut_down)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    pass_over_foreign()


def _clean(layout: Layout, *, staying: Collection[str]) -> None:
    """Leave nothing in `run` but the locks, and the files of sessions that live on in tmux.

    Removing locks would split them.
    """
    ended = [one for one in os.listdir(layout.sessions) if one not in staying]
    for directory in (layout.looks, *map(layout.session, ended)):
        shutil.rmtree(directory, ignore_errors=True)
    if not staying:
        shutil.rmtree(layout.sessions, ignore_errors=True)
    for name in os.listdir(layout.run):
        if not name.endswith(".lock"):
            with contextlib.suppress(OSError):
                os.unlink(f"{layout.run}/{name}")
