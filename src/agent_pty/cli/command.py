"""What a subcommand is, and a parser that reads its help text from the op it stands for."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from agent_pty.client.connection import Connection, connect
from agent_pty.core.layout import Layout, layout
from agent_pty.store import home

WIDTH = 78
# argparse makes one at every argument, and to ask for the terminal's width takes it 5 ms.
formatter = partial(argparse.RawDescriptionHelpFormatter, width=WIDTH)
Run = Callable[["Invocation"], int]


class Argument(NamedTuple):
    """One argument, as `argparse` wants it."""

    names: Sequence[str]
    options: dict[str, Any]


class Command(NamedTuple):
    """One subcommand. Its help is the docstring of *op*'s request unless *text* is given."""

    name: str
    run: Run
    examples: Sequence[str]
    arguments: Sequence[Argument] = ()
    op: str | None = None
    text: str = ""

    @property
    def description(self) -> str:
        """The first sentence is the summary; ops are imported only to show it."""
        if self.op is None:
            return self.text
        from agent_pty import ops  # noqa: PLC0415  imports msgspec and asyncio: 60 ms for --help alone

        return (ops.TABLE[self.op].request.__doc__ or "").strip()


def argument(*names: str, **options: Any) -> Argument:
    """Describe an argument."""
    return Argument(names=names, options=options)


class Invocation:
    """One run of a subcommand: its arguments, and the way to the daemon."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.json: bool = options.json

    @property
    def layout(self) -> Layout:
        """Where the daemon of this user is."""
        options = self.options
        return layout(
            os.environ,
            cwd=_here(),
            socket=options.socket or options.global_socket,
            log_dir=getattr(options, "log_dir", None),
        )

    def connect(self, *, start: bool = True) -> Connection:
        """Connect to the daemon; unless told not to, start it if it is not there."""
        where = self.layout
        if start:
            home.prepare(where)
        return connect(where, start=start)

    def ask(self, op: str, **fields: Any) -> Any:
        """Ask one question and hang up."""
        with self.connect() as connection:
            return connection.ask(op, **fields)

    def show(self, result: Any, text: str) -> int:
        """Print the result as JSON if asked for, else *text*; return success."""
        write(pretty(result) if self.json else text + "\n")
        return 0


def _here() -> str:
    """Return the current directory; one that was removed has no name, and only needs one rarely."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def pretty(value: Any) -> str:
    """Return JSON for people and programs, one value, with a newline."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write(text: str) -> None:
    """Write to standard output whatever the locale thinks of it."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


class HelpfulParser(argparse.ArgumentParser):
    """Fills in description and examples when, and only when, help is shown."""

    command: Command | None = None

    def format_help(self) -> str:
        """Return the help page of one subcommand."""
        if self.command is not None:
            self.description = textwrap.fill(self.command.description, WIDTH)
            self.epilog = "examples:\n" + "\n".join(f"  {line}" for line in self.command.examples)
        return super().format_help()
