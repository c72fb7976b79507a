"""`secret`: ask a person for a secret at this terminal and type it into a session."""

from __future__ import annotations

import getpass
import sys

from agent_pty.cli.command import Invocation
from agent_pty.errors import Usage


def secret(call: Invocation) -> int:
    """Ask without echo; the value goes to the session's terminal and nowhere else."""
    name = call.options.name
    if not sys.stdin.isatty():
        raise Usage(
            "a secret is entered by a person at a terminal: standard input is none, and what comes "
            "through a pipe may have been seen by a model"
        )
    value = getpass.getpass(f"secret for session {name}: ")
    with call.connect(start=False) as connection:
        entered = connection.ask("secret", id=name, value=value)
    return call.show(entered, "entered")
