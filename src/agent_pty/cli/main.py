"""`agent-pty`: parse, run, say what went wrong in one line.

Exit status: 0 done; 1 failed; 2 wrong usage; 4 timed out; 5 the session has
ended; 6 the host was lost, so whether it acted is unknown; 7 a --fail-on
condition came true; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Sequence

from agent_pty import __version__
from agent_pty.cli import doctor, hands, lifecycle, screen, session, stream, top
from agent_pty.cli.command import WIDTH, Command, HelpfulParser, Invocation, pretty, write
from agent_pty.errors import AgentPtyError

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        *lifecycle.COMMANDS,
        *doctor.COMMANDS,
        *session.COMMANDS,
        *screen.COMMANDS,
        *hands.COMMANDS,
        *stream.COMMANDS,
        *top.COMMANDS,
    )
}
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


def parser() -> argparse.ArgumentParser:
    """Build the parser; help texts are read only when shown."""
    main_parser = _MainParser(prog="agent-pty", allow_abbrev=False)
    main_parser.add_argument("--socket", dest="global_socket", metavar="PATH")
    main_parser.add_argument("--version", action="version", version=f"agent-pty {__version__}")
    commands = main_parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=HelpfulParser
    )
    for name, command in COMMANDS.items():
        one = commands.add_parser(
            name, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        assert isinstance(one, HelpfulParser)  # noqa: S101  for the type checker
        one.command = command
        for wanted in command.arguments:
            one.add_argument(*wanted.names, **wanted.options)
        one.add_argument("--json", action="store_true", help="print JSON")
        one.add_argument("--socket", metavar="PATH", help="the daemon's socket")
    return main_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    options = parser().parse_args(argv)
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
