"""`serve-http`: HTTP as long as this command runs."""

from __future__ import annotations

import json
import sys

from agent_pty.cli.command import Invocation, client_command
from agent_pty.core.command import Command, part
from agent_pty.errors import DaemonUnreachable

_DEFAULT = "127.0.0.1:4319"
# Daemons that go away one after the other, before they have said anything.
_MOST_FAILURES = 10


def serve_http(call: Invocation) -> int:
    """Have the daemon serve HTTP until Ctrl-C; a daemon that dies is followed by the next one."""
    wanted = {"addr": call.options.addr, "allow_remote": call.options.allow_remote}
    failures, shown = 0, ""
    while failures < _MOST_FAILURES:
        try:
            # Started only once: a daemon that was stopped shall stay so.
            with call.connect(start=not shown) as connection:
                stream, _ = connection.stream("serve_http", **wanted)
                with stream.makefile("rb") as lines:
                    for line in lines:
                        told = json.loads(line)
                        # Port 0 was a wish for any port; from now on it must be this one.
                        wanted["addr"] = told["url"].removeprefix("http://")
                        shown = _say(call, told) if told["url"] != shown else shown
                        failures = 0
        except DaemonUnreachable:
            if not shown:
                raise
            sys.stderr.write("the daemon was stopped\n")
            return 0
        except ConnectionError:
            pass  # killed; the keeper holds its socket, and the next one will answer there
        failures += 1
    sys.stderr.write("error: the daemon goes away again and again: see agent-pty doctor\n")
    return 1


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
                part(
                    "allow_remote",
                    "--allow-remote",
                    action="store_true",
                    help="also listen beyond this machine, without encryption",
                ),
                part("log_dir", "--log-dir", metavar="DIR", help="as for serve"),
            ),
            examples=(
                "agent-pty serve-http --addr 127.0.0.1:4319",
                "agent-pty serve-http --addr 127.0.0.1:0 --json",
            ),
        ),
    ),
)
