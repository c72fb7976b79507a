"""`agent-pty`: parse, run, say what went wrong in one line.

Exit status: 0 done; 1 failed; 2 wrong usage; 4 timed out; 5 the session has
ended; 6 the host was lost, so whether it acted is unknown; 7 a --fail-on
condition came true; 8 the cell waits for a person; 130 interrupted. `run`,
`poll` and `exec` exit as the command did.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from agent_pty import __version__
from agent_pty.cli.command import (
    WIDTH,
    Command,
    HelpfulParser,
    Invocation,
    formatter,
    pretty,
    write,
)
from agent_pty.errors import AgentPtyError

# Which module has a command. A call imports that one and no other: agents start us at every step.
_MODULES = {
    "lifecycle": ("serve", "status", "stop", "restart"),
    "doctor": ("doctor",),
    "session": (
        "new",
        "send",
        "read",
        "wait",
        "list",
        "kill",
        "interrupt",
        "signal",
        "resize",
        "rename",
    ),
    "cell": ("run", "fire", "poll", "peek", "exec", "skill"),
    "screen": ("screen",),
    "hands": ("keys", "paste", "type", "click", "wheel", "drag", "batch"),
    "stream": ("attach", "watch"),
    "top": ("top",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


class _Commands(Mapping[str, Command]):
    """Every command by name, imported when it is looked at."""

    def __getitem__(self, name: str) -> Command:
        module = importlib.import_module(f"agent_pty.cli.{_HOME[name]}")
        found: Command = next(one for one in module.COMMANDS if one.name == name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_HOME)

    def __len__(self) -> int:
        return len(_HOME)


COMMANDS = _Commands()
_INTERRUPTED = 130


class _MainParser(HelpfulParser):
    def format_help(self) -> str:
        """List every subcommand with its first sentence."""
        width = max(map(len, COMMANDS))
        lines = [
            textwrap.fill(
                command.description.splitlines()[0],
                WIDTH,
                initial_indent=f"  {name:<{width}}  ",
                subsequent_indent=" " * (width + 4),
            )
            for name, command in COMMANDS.items()
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
                "Each command has --json, and --help with examples.",
                "",
                *(__doc__ or "").strip().split("\n\n", 1)[1:],
                "",
            ]
        )


def _named(words: Sequence[str]) -> Sequence[str]:
    """Return the command that *words* name, or all if that is not plain."""
    rest = iter(words)
    for word in rest:
        if word == "--socket":
            next(rest, None)
        elif not word.startswith("-"):
            return [word] if word in COMMANDS else list(COMMANDS)
    return list(COMMANDS)


def parser(names: Sequence[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Build the parser for these commands; help texts are read only when shown."""
    main_parser = _MainParser(prog="agent-pty", formatter_class=formatter, allow_abbrev=False)
    main_parser.add_argument("--socket", dest="global_socket", metavar="PATH")
    main_parser.add_argument("--version", action="version", version=f"agent-pty {__version__}")
    commands = main_parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=HelpfulParser
    )
    for name in names:
        command = COMMANDS[name]
        one = commands.add_parser(name, formatter_class=formatter, allow_abbrev=False)
        assert isinstance(one, HelpfulParser)  # noqa: S101  for the type checker
        one.command = command
        for wanted in command.arguments:
            one.add_argument(*wanted.names, **wanted.options)
        one.add_argument("--json", action="store_true", help="print JSON")
        one.add_argument("--socket", metavar="PATH", help="the daemon's socket")
    return main_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    options = parser(_named(words)).parse_args(words)
    call = Invocation(options)
    try:
        return COMMANDS[options.command].run(call)
    except AgentPtyError as error:
        _report(call, error)
        return error.exit_status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _report(call: Invocation, error: AgentPtyError) -> None:
    if call.json:
        failed = {"ok": False, "error": str(error), "code": error.code, "details": error.details}
        write(pretty(failed))
    sys.stderr.write(f"error: {error}\n")


if __name__ == "__main__":
    sys.exit(main())
