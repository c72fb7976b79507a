"""A subcommand that runs in the client: its options, and its connection to the daemon."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

from agent_pty.client.connection import Connection, connect
from agent_pty.client.directory import here
from agent_pty.core.command import Command
from agent_pty.core.compact_json import json_line
from agent_pty.core.layout import Layout
from agent_pty.store import home, log_dir
from agent_pty.words.parser import Subcommand

Run = Callable[["Invocation"], int]


class Invocation:
    """One run of a subcommand."""

    def __init__(self, options: argparse.Namespace, *, socket: str | None = None) -> None:
        self.options = options
        self.json: bool = options.json
        self._socket = socket

    @property
    def layout(self) -> Layout:
        """Where the daemon of this user is."""
        logs = getattr(self.options, "log_dir", None)
        return log_dir.locate(os.environ, cwd=here(), socket=self._socket, log_dir=logs)

    def connect(self, *, start: bool = True) -> Connection:
        """Connect to the daemon; with *start*, start it if none runs."""
        where = self.layout
        if start:
            home.prepare(where)
            log_dir.check(where)
        return connect(where, start=start)

    def ask(self, op: str, **fields: Any) -> Any:
        """Send one request on a connection of its own and return the answer."""
        with self.connect() as connection:
            return connection.ask(op, **fields)

    def show(self, result: Any, text: str) -> int:
        """Print the result as JSON if asked for, else *text*; return success."""
        write(pretty(result) if self.json else text + "\n")
        return 0


def client_command(name: str, summary: str, command: Command) -> Subcommand:
    """Return a subcommand that belongs to no op."""
    return Subcommand(name=name, summary=summary, command=command, parts=list(command.parts))


def pretty(value: Any) -> str:
    """Return JSON, one value, with a line end: indented if a person reads it."""
    return json_line(value, for_people=sys.stdout.isatty())


def write(text: str) -> None:
    """Write UTF-8 to standard output, whatever the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
