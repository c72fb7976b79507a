"""Subcommands that act on the daemon itself."""

from __future__ import annotations

import os
import sys
from typing import Any

from agent_pty.cli.command import Invocation, client_command
from agent_pty.cli.policy_option import POLICY
from agent_pty.cli.serve_http import ALLOW_REMOTE
from agent_pty.client.connection import connect
from agent_pty.core.command import Command, part
from agent_pty.core.layout import Layout
from agent_pty.core.status import status_object, status_text
from agent_pty.errors import AgentPtyError, DaemonUnreachable
from agent_pty.keeper.libc import name_process
from agent_pty.store import home, log_dir
from agent_pty.store.lock import Lock

_LOG_DIR = part(
    "log_dir",
    "--log-dir",
    metavar="DIR",
    help="where evidence is stored (default: as before, at first ~/.agent-pty/runs)",
)
_HTTP = part(
    "http",
    "--http",
    metavar="ADDRESS:PORT",
    help="also serve HTTP there, as long as the daemon lives (see serve-http)",
)
_GONE_SECONDS = 15.0
# Longer than a daemon needs to notice that a host does not answer.
_STATUS_SECONDS = 10.0
_KEEP = part("keep", "--keep", action="store_true", help="keep every session for the next daemon")


def serve(call: Invocation) -> int:
    """Run the daemon in this process."""
    from agent_pty.daemon.own_http import OwnHttp  # noqa: PLC0415  the whole daemon: 150 ms,
    from agent_pty.daemon.serve import run  # noqa: PLC0415  only here
    from agent_pty.ops.http import allowed_place  # noqa: PLC0415

    name_process("daemon")  # so that it is recognised as one inside a session of another home
    where = call.layout
    remote = call.options.allow_remote
    place = call.options.http and allowed_place(call.options.http, remote=remote)
    home.prepare(where)
    log_dir.check(where)

    def say(url: str = where.socket) -> None:
        sys.stdout.write(f"agent-pty listening on {url}\n")
        sys.stdout.flush()

    http = OwnHttp(address=place[0], port=place[1], remote=remote, say=say) if place else None
    policy = call.options.policy
    run(where, on_listening=say, http=http, policy=policy and os.path.abspath(policy))
    return 0


def status_of(where: Layout) -> dict[str, Any]:
    """Return the contract's status object; that nothing runs is an answer, not a failure."""
    try:
        with connect(where, start=False, patience=_STATUS_SECONDS) as connection:
            running = {**_stopped(where.socket, None), **connection.ask("status"), "running": True}
    except AgentPtyError as error:
        return _stopped(where.socket, error)
    return running


def _stopped(socket: str | None, error: AgentPtyError | None) -> dict[str, Any]:
    return status_object(socket, error=None if error is None else str(error))


def status(call: Invocation) -> int:
    """Print whether a daemon runs; that none runs is an answer, not a failure."""
    try:
        found = status_of(call.layout)
    except AgentPtyError as error:  # not even the path of the socket is known
        found = _stopped(None, error)
    if not found["running"]:
        return call.show(found, f"agent-pty daemon not running: {found['error']}")
    return call.show(found, status_text(found))


def stop_daemon(where: Layout, *, keep: bool, successor: bool = False) -> dict[str, Any]:
    """Stop the daemon, and return what is left when it is gone.

    With *successor*, clients wait for the next one.
    """
    with connect(where, start=home.left_behind(where)) as connection:
        left = connection.ask("shutdown", keep=keep, successor=successor)
        connection.until_closed()
    # Its lock is free when its process has ended. One that is known by its socket alone may have
    # another home than follows from that.
    if os.path.isdir(where.run):
        lock = Lock(where.daemon_lock)
        lock.acquire(patience=_GONE_SECONDS)
        lock.release()
    return {"survivors": [], "spared": [], **(left or {})}  # an older daemon says nothing


def stop(call: Invocation) -> int:
    """Stop the daemon."""
    try:
        left = stop_daemon(call.layout, keep=call.options.keep)
    except DaemonUnreachable:
        if not sys.stderr.isatty():  # programs know the words of the contract
            raise
        raise DaemonUnreachable(f"not running: no daemon at {call.layout.socket}") from None
    call.show({"stopped": True, "kept": call.options.keep, **left}, "stopped")
    for one in left["survivors"]:
        sys.stderr.write(f"survived: {one['pid']} {one['command']}\n")
    for one in left["spared"]:
        sys.stderr.write(f"not ended: {one['pid']} {one['command']}\n")
    return 1 if left["survivors"] else 0


def restart(call: Invocation) -> int:
    """Stop the daemon and start it again."""
    where = call.layout
    try:
        stop_daemon(where, keep=call.options.keep, successor=call.options.keep)
    except DaemonUnreachable:
        sys.stderr.write("no daemon was running\n")
    home.prepare(where)
    if call.options.keep:
        from agent_pty.client.start import start_daemon, upgrade_keeper  # noqa: PLC0415  only here

        upgrade_keeper(where)
        start_daemon(where)
    connect(where).close()
    found = status_of(where)
    return call.show(found, f"restarted: {found['session_count']} session(s)")


COMMANDS = (
    client_command(
        "serve",
        "Run the daemon in the foreground until `stop`; other commands start one if needed.\n\n"
        "Each socket has a daemon of its own, and a log directory belongs to one\n"
        "daemon; with --log-dir alone the socket follows from the directory.\n\n"
        "A daemon that a command started ends after ten minutes without session and\n"
        "client, or after AGENT_PTY_IDLE (90s, 30m; 0: never).",
        Command(
            parts=(_LOG_DIR, POLICY, _HTTP, ALLOW_REMOTE),
            examples=(
                "agent-pty serve --socket ~/.agent-pty.sock",
                "agent-pty serve --http 127.0.0.1:4319 --policy agent-pty-policy.json",
                "agent-pty serve --socket /tmp/ci.sock --log-dir ./logs",
            ),
        ),
    ),
    client_command(
        "stop",
        "Stop the daemon and end its sessions; with --keep, the sessions keep running.",
        Command(parts=(_KEEP,), examples=("agent-pty stop", "agent-pty stop --keep")),
    ),
    client_command(
        "restart",
        "Restart the daemon; with --keep, upgrade it and keep its sessions running.",
        Command(parts=(_KEEP,), examples=("agent-pty restart --keep",)),
    ),
)
