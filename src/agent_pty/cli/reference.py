"""The reference of all commands, from what makes their help: `python -m agent_pty.cli.reference`.

`docs/reference-cli.md` is its output; a test compares the two.
"""

from __future__ import annotations

import sys

from agent_pty.cli.main import commands
from agent_pty.core.command import Argument
from agent_pty.words.agent_pty import EXIT_STATUSES
from agent_pty.words.help import K_HELP, KM_HELP
from agent_pty.words.parser import Subcommand
from agent_pty.words.reference import listed_arguments, usage

_HEAD = """\
# Reference of commands

Written from the declarations that make `--help`, by `make reference`; do not edit.
[`agent-pty`](#agent-pty) is the whole surface, [`k`](#k) the short one for agents (also installed
as `agent-tty`), [`km`](#km) prints the events of cells.

## agent-pty

Every command also takes `--json` (`-j`), `--socket PATH` (the daemon's socket) and `--help`.

"""
_K_STATUSES = """\
Exit status: 0 done; 1 refused, or wrong usage. `run` and `answer` end with 0 also if the code
failed, timed out or waits; `-e` and `-u` change that, see below. `batch` ends as its failed step
did and `exec` as its program did. `wait` ends with 124 if it timed out, with 1 if `--fail-on` came
true or the session has ended.
"""
_KM_STATUSES = """\
Exit status: 0 what was followed has ended; 1 there is no such session or cell, or wrong usage.
"""


def command_reference() -> str:
    """Return the page."""
    found = list(commands().values())
    index = " · ".join(f"[`{one.name}`](#agent-pty-{one.name})" for one in found)
    parts = [
        f"{_HEAD}{EXIT_STATUSES}\n\n{index}\n",
        *(_section(one) for one in found),
        _help("k", K_HELP, _K_STATUSES),
        _help("km", KM_HELP, _KM_STATUSES),
    ]
    return "\n".join(parts)


def _section(one: Subcommand) -> str:
    lines = [f"### agent-pty {one.name}", "", one.summary, "", "```sh", usage(one), "```", ""]
    rows = [_row(each) for each in listed_arguments(one)]
    if rows:
        lines += ["| argument | meaning |", "|---|---|", *rows, ""]
    examples = one.command.examples
    return "\n".join([*lines, "For example:", "", "```sh", *examples, "```", ""])


def _row(argument: Argument) -> str:
    names = ", ".join(f"`{name}`" for name in argument.names)
    # A bar would end the cell of the table.
    meaning = str(argument.options.get("help", "")).replace("|", "\\|")
    choices = argument.options.get("choices")
    among = f": {', '.join(f'`{one}`' for one in choices)}" if choices else ""
    return f"| {names} | {meaning}{among} |"


def _help(name: str, text: str, statuses: str) -> str:
    return f"## {name}\n\n{statuses}\n`{name} --help`:\n\n```text\n{text}```\n"


if __name__ == "__main__":
    sys.stdout.write(command_reference())
