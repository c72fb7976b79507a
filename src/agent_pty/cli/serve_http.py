"""`serve-http`: HTTP as long as this command runs."""

from __future__ import annotations

import contextlib
import json
import os
import sys

from agent_pty.cli.command import Invocation, client_command
from agent_pty.cli.policy_option import POLICY, offer_policy
from agent_pty.core.command import Command, part
from agent_pty.core.layout import Layout
from agent_pty.errors import DaemonUnreachable
from agent_pty.store.lock import Lock

_DEFAULT = "127.0.0.1:4319"
# Daemons that go away one after the other, before they have said anything.
_MOST_FAILURES = 10
_GONE_SECONDS = 15.0
ALLOW_REMOTE = part(
    "allow_remote",
    "--allow-remote",
    action="store_true",
    help="also listen beyond this machine, without encryption",
)


def serve_http(call: Invocation) -> int:
    """Have the daemon serve HTTP until Ctrl-C; a daemon that dies is followed by the next one."""
    offer_policy(call.layout, call.options.policy)
    wanted = {"addr": call.options.addr, "allow_remote": call.options.allow_remote}
    failures, shown, crashed = 0, "", False
    while failures < _MOST_FAILURES:
        try:
            # A daemon that was stopped shall stay so.
            with call.connect(start=not shown or crashed) as connection:
                stream, _ = connection.stream("serve_http", **wanted)
                with stream.makefile("rb") as lines:
                    for line in lines:
                        told = json.loads(line)
                        # Port 0 was a wish for any port; from now on it must be this one.
                        wanted["addr"] = told["url"].removeprefix("http://")
                        shown = _say(call, told) if told["url"] != shown else shown
                        failures, crashed = 0, False
        except DaemonUnreachable:
            if not shown:
                raise
            crashed = _crashed(call.layout)
            if crashed:
                failures += 1
                continue
            sys.stderr.write("the daemon was stopped\n")
            return 0
        except ConnectionError:
            pass  # killed; the keeper holds its socket, and the next one will answer there
        failures += 1
    sys.stderr.write("error: the daemon goes away again and again: see agent-pty doctor\n")
    return 1


def _crashed(where: Layout) -> bool:
    """Whether daemon and keeper died and left sessions: only a client starts the next ones."""
    # A process that is being killed closes its socket before its lock.
    for path, patience in ((where.daemon_lock, _GONE_SECONDS), (where.keeper_lock, 1.0)):
        lock = Lock(path)
        if not lock.acquire(patience=patience):
            return False
        lock.release()
    with contextlib.suppress(OSError):
        return bool(os.listdir(where.sessions))
    return False


def _say(call: Invocation, told: dict[str, object]) -> str:
    if call.options.json:
        sys.stdout.write(json.dumps(told) + "\n")
    else:
        sys.stdout.write(f"agent-pty listening on {told['url']}\n")
        sys.stdout.write(f"token for other users and machines: {told['token_file']}\n")
    sys.stdout.flush()
    return str(told["url"])


COMMANDS = (
    client_command(
        "serve-http",
        "Serve HTTP and WebSocket in front of the same sessions, until Ctrl-C.\n\n"
        "The same user on this machine needs no token. Anybody else sends\n"
        "`Authorization: Bearer` with the content of the file that is printed.\n"
        "Ending this command ends no session.",
        Command(
            parts=(
                part(
                    "addr",
                    "--addr",
                    default=_DEFAULT,
                    metavar="ADDRESS:PORT",
                    help=f"where to listen (default {_DEFAULT}; port 0: a free one)",
                ),
                ALLOW_REMOTE,
                part("log_dir", "--log-dir", metavar="DIR", help="as for serve"),
                POLICY,
            ),
            examples=(
                "agent-pty serve-http --addr 127.0.0.1:4319",
                "agent-pty serve-http --addr 127.0.0.1:0 --json",
            ),
        ),
    ),
)
