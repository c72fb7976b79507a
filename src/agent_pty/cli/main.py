"""`agent-pty` in full: help, the commands that run in the client, and the way to the daemon."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence

from agent_pty.cli import attach, full, lifecycle, skill
from agent_pty.cli.command import Invocation, Run, write
from agent_pty.cli.doctor import command as doctor
from agent_pty.cli.top import command as top
from agent_pty.client.directory import here
from agent_pty.core.layout import layout
from agent_pty.errors import AgentPtyError, Usage
from agent_pty.words import agent_pty
from agent_pty.words.agent_pty import Printed, Subcommand
from agent_pty.words.run import pretty

_INTERRUPTED = 130
# What runs here; everything else is for the daemon.
_RUNS: dict[str, Run] = {
    "serve": lifecycle.serve,
    "status": lifecycle.status,
    "stop": lifecycle.stop,
    "restart": lifecycle.restart,
    "doctor": doctor.doctor,
    "attach": attach.attach,
    "top": top.top,
    "skill": skill.skill,
}


@functools.cache
def commands() -> dict[str, Subcommand]:
    """Return every subcommand by name: the daemon's first."""
    ours = (*lifecycle.COMMANDS, doctor.COMMAND, top.COMMAND, skill.COMMAND)
    return {**agent_pty.subcommands(), **{one.name: one for one in ours}}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        socket, words = _socket(words)
        return _run(words, socket)
    except Printed as printed:
        (sys.stdout if printed.status == 0 else sys.stderr).write(printed.text)
        return printed.status
    except AgentPtyError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(words: list[str], socket: str | None) -> int:
    name = words[0] if words else None
    if name in ("-h", "--help"):
        raise Printed(agent_pty.overview(list(commands().values())), 0)
    if name == "--version":
        raise Printed(agent_pty.version(), 0)
    if name is None or name not in commands():
        raise agent_pty.wrong_command(name)
    options = agent_pty.parse(agent_pty.parser(commands()[name]), words[1:])
    if name not in _RUNS:
        where = layout(os.environ, cwd=here(), socket=socket)
        return full.send(where, "agent-pty", words)
    call = Invocation(options, socket=socket)
    try:
        return _RUNS[name](call)
    except AgentPtyError as error:
        if call.json:
            failed = {"ok": False, "error": str(error), "code": error.code}
            write(pretty({**failed, "details": error.details}))
        raise


def _socket(words: list[str]) -> tuple[str | None, list[str]]:
    """Take `--socket PATH` out of the words, wherever it stands; the last one counts."""
    found, rest, given = None, list[str](), iter(words)
    for word in given:
        if word == "--":
            return found, [*rest, word, *given]
        if word == "--socket":
            found = next(given, None)
            if found is None:
                raise Usage("--socket needs a path")
        elif word.startswith("--socket="):
            found = word.partition("=")[2]
        else:
            rest.append(word)
    return found, rest


if __name__ == "__main__":
    sys.exit(main())
