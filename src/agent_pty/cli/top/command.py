"""`top`: a table of all sessions, for people. Live, or once."""

from __future__ import annotations

import dataclasses
import os
import sys

from agent_pty.cli.command import Invocation, client_command, pretty, write
from agent_pty.cli.top import full_screen, sessions, table
from agent_pty.cli.top.sorting import DEFAULT, SORTS, arranged
from agent_pty.client.terminal import raw_mode, size
from agent_pty.core.command import Command, part
from agent_pty.errors import Usage

_COLUMNS = 80


def top(call: Invocation) -> int:
    """Show the table, live or once."""
    call.connect().close()  # starts the daemon if none runs
    if call.json or call.options.once:
        return _snapshot(call)
    stdin, stdout = sys.stdin.fileno(), sys.stdout.fileno()
    if not (os.isatty(stdin) and os.isatty(stdout)):
        raise Usage("top needs a terminal: use --once or --json")
    with raw_mode(stdin, stdout):
        full_screen.run(call, stdin=stdin, stdout=stdout)
    return 0


def _snapshot(call: Invocation) -> int:
    rows = sessions.snapshot(call.layout.socket, here=os.environ.get("AGENT_PTY_INSTANCE"))
    rows = arranged(rows, call.options.sort)
    if call.json:
        write(pretty([dataclasses.asdict(row) for row in rows]))
        return 0
    _, cols = size(sys.stdout.fileno()) or (0, _COLUMNS)
    write("".join(f"{line}\n" for line in table.plain(rows, cols)))
    return 0


COMMANDS = (
    client_command(
        "top",
        "Show all sessions live, with a preview of the selected one, and attach to it.\n\n"
        "Keys: up/down or j/k select, enter attaches (ctrl-] detaches), i interrupts,\n"
        "x kills after a question, / filters by name, q or ctrl-c quits. Sort by s: state\n"
        "(who waits for a person comes first), n: name, c: CPU, m: memory, t: time of\n"
        "the last output.",
        Command(
            parts=(
                part("once", "--once", action="store_true", help="print the table once"),
                part(
                    "sort",
                    "--sort",
                    choices=tuple(SORTS),
                    default=DEFAULT,
                    help=f"order of the rows (default: {DEFAULT})",
                ),
            ),
            examples=("agent-pty top", "agent-pty top --once", "agent-pty top --json"),
        ),
    ),
)
