"""The command line of `agent-pty`, derived from the op table.

The daemon, where the parsers stay in memory, carries out what the script sends it. The full
client uses the same parsers for help, and for the commands that run there.

Exit status: 0 done; 1 failed; 2 wrong usage; 3 refused by the policy, or only
an operator may do it, and of `verify`, `gc`, `proof`: not all of it; 4 timed
out; 5 the session has ended; 6 the host was lost, so whether it acted is
unknown; 7 a --fail-on condition came true; 8 the cell waits for a person;
9 `run --until`: it ended and no condition came true; 130 interrupted. `run`,
`poll` and `exec` exit as the command did.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import textwrap
from collections.abc import Sequence

from agent_pty import __version__, ops
from agent_pty.core.command import Command
from agent_pty.core.did_you_mean import did_you_mean
from agent_pty.ops.op import Op
from agent_pty.words.arguments import parts_of
from agent_pty.words.parser import USAGE, WIDTH, Printed, Subcommand, parse, parser

EXIT_STATUSES = (__doc__ or "").strip().split("\n\n")[-1]
# Commands that belong to no op: they start, stop or examine the daemon, or need none.
CLIENT_COMMANDS = (
    "serve",
    "serve-http",
    "mcp-stdio",
    "mcp",
    "stop",
    "restart",
    "doctor",
    "top",
    "skill",
    "tools",
    "record",
    "redact",
    "policy",
    "diff",
    "demo",
    "verify",
    "key",
    "help",
)


def of_op(op: Op, command: Command) -> Subcommand:
    """Return a subcommand that an op declares."""
    summary = command.summary or inspect.cleandoc(op.request.__doc__ or "")
    return Subcommand(
        name=command.name or op.name,
        summary=summary,
        command=command,
        parts=parts_of(op, command),
        op=op.name,
    )


def subcommands() -> dict[str, Subcommand]:
    """Return every subcommand that an op declares, in the order of the table."""
    found = (of_op(op, command) for op in ops.TABLE.values() for command in op.commands)
    return {one.name: one for one in found}


@functools.cache
def _known() -> dict[str, tuple[Subcommand, argparse.ArgumentParser]]:
    return {name: (one, parser(one)) for name, one in subcommands().items()}


def parsed(argv: Sequence[str]) -> tuple[Subcommand, argparse.Namespace]:
    """Return the subcommand that *argv* begins with and its options, or raise `Printed`."""
    if not argv or argv[0] not in _known():
        raise wrong_command(argv[0] if argv else None)
    one, its_parser = _known()[argv[0]]
    return one, parse(its_parser, argv[1:])


def runs_in_client(argv: Sequence[str]) -> bool:
    """Whether a command line is for the full client."""
    if not argv or argv[0] in CLIENT_COMMANDS:
        return True
    known = _known().get(argv[0])
    return known is not None and known[0].command.local


def wrong_command(given: str | None) -> Printed:
    """Say which command may be meant."""
    usage = "usage: agent-pty [--socket PATH] COMMAND ...\n"
    if given is None:
        return Printed(f"{usage}agent-pty: error: give a command: see agent-pty --help\n", USAGE)
    meant = did_you_mean(given, [*_known(), *CLIENT_COMMANDS])
    question = f"did you mean {meant}? " if meant else ""
    message = f"unknown command {given!r}: {question}agent-pty --help shows all"
    return Printed(f"agent-pty: error: {message}\n", USAGE)


def overview(commands: Sequence[Subcommand]) -> str:
    """Return the first help page: every subcommand with its first sentence."""
    width = max(len(one.name) for one in commands)
    lines = [
        textwrap.fill(
            one.summary.splitlines()[0],
            WIDTH,
            initial_indent=f"  {one.name:<{width}}  ",
            subsequent_indent=" " * (width + 4),
        )
        for one in commands
    ]
    return "\n".join(
        [
            "usage: agent-pty [--socket PATH] COMMAND ...",
            "",
            "Persistent terminal sessions for agents.",
            "",
            "commands:",
            *lines,
            "",
            "options:",
            "  --socket PATH  the daemon's socket (default: ~/.agent-pty.sock)",
            "  --version      print the version",
            "",
            "Each command has --json (-j), and --help (or `agent-pty help COMMAND`) with examples.",
            "",
            EXIT_STATUSES,
            "",
        ]
    )


def version() -> str:
    """Return the line that `--version` prints."""
    return f"agent-pty {__version__}\n"
