"""The full client of `agent-pty`: help, and commands that run in the client or in the daemon.

Each command is imported when it is called: most need neither the ops nor an event loop.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from collections.abc import Sequence

from agent_pty.cli import full
from agent_pty.cli.command import Invocation, Run, pretty, write
from agent_pty.cli.list_nothing import list_nothing, nothing_to_list
from agent_pty.client.directory import here
from agent_pty.core.command import Command
from agent_pty.errors import AgentPtyError, Usage
from agent_pty.store.log_dir import locate
from agent_pty.words.parser import Printed, Subcommand, parse, parser

_INTERRUPTED = 130
# Commands that run in the client: module and function. All others run in the daemon.
_RUNS = {
    "serve": ("lifecycle", "serve"),
    "serve-http": ("serve_http", "serve_http"),
    "mcp-stdio": ("mcp_stdio", "mcp_stdio"),
    "mcp": ("mcp_install", "install"),
    "tools": ("tools", "tools"),
    "demo": ("demo", "demo"),
    "diff": ("diff", "diff"),
    "record": ("record", "record"),
    "redact": ("redact", "redact"),
    "policy": ("policy", "policy"),
    "verify": ("verify", "verify"),
    "key": ("key", "key"),
    "status": ("lifecycle", "status"),
    "stop": ("lifecycle", "stop"),
    "restart": ("lifecycle", "restart"),
    "doctor": ("doctor.command", "doctor"),
    "attach": ("attach", "attach"),
    "secret": ("secret", "secret"),
    "top": ("top.command", "top"),
    "skill": ("skill", "skill"),
}
# One word more makes these run in the client.
_RUNS_WITH = {("replay", "--play"): ("play", "play")}
_HELP = ("-h", "--help")
# `list` with one of these shows more than the sessions of a daemon.
_MORE_THAN_LIVING = frozenset({"--all", "--tmux"})


def commands() -> dict[str, Subcommand]:
    """Return every subcommand by name: those of ops first."""
    from agent_pty.words.agent_pty import subcommands  # noqa: PLC0415  imports every op

    modules = (importlib.import_module(f"agent_pty.cli.{module}") for module, _ in _RUNS.values())
    ours = {one.name: one for module in modules for one in getattr(module, "COMMANDS", ())}
    return {**subcommands(), **ours}


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
        notes = "".join(f"hint: {note}\n" for note in getattr(error, "__notes__", ()))
        sys.stderr.write(f"error: {error}\n{notes}")
        return error.exit_status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone; Python would report that again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(words: list[str], socket: str | None) -> int:
    words = _asked(words)
    name = words[0]
    if name in _RUNS:
        return _run_here(name, words[1:], socket, *_RUNS[name])
    for (command, option), where_it_runs in _RUNS_WITH.items():
        if name == command and option in words and not _asks_for_help(words):
            return _run_here(name, words[1:], socket, *where_it_runs)
    if name in (*_HELP, "--version") or _asks_for_help(words):
        _print(name, words)
    where = locate(os.environ, cwd=here(), socket=socket)
    if name == "list" and not _MORE_THAN_LIVING.intersection(words) and nothing_to_list(where):
        return list_nothing(words)
    return full.send(where, "agent-pty", words)


def _asked(words: list[str]) -> list[str]:
    """Return the words with `--help` where help is asked for by `help` or by no word at all."""
    if not words:
        return ["--help"]
    return [*words[1:2], "--help"] if words[0] == "help" else words


def _asks_for_help(words: list[str]) -> bool:
    return any(word in _HELP for word in itertools.takewhile(lambda one: one != "--", words))


def _print(name: str, words: list[str]) -> None:
    """Raise help or a usage error, to be printed; no daemon is started for that."""
    from agent_pty.words import agent_pty  # noqa: PLC0415  imports every op

    if name in _HELP:
        raise Printed(agent_pty.overview(list(commands().values())), 0)
    if name == "--version":
        raise Printed(agent_pty.version(), 0)
    agent_pty.parsed(words)


def _run_here(name: str, words: list[str], socket: str | None, module: str, function: str) -> int:
    imported = importlib.import_module(f"agent_pty.cli.{module}")
    run: Run = getattr(imported, function)
    call = Invocation(parse(parser(_subcommand(name, words, imported)), words), socket=socket)
    try:
        return run(call)
    except AgentPtyError as error:
        if call.json:
            failed = {"ok": False, "error": str(error), "code": error.code}
            write(pretty({**failed, "details": error.details}))
        from agent_pty.cli.hint import hint  # noqa: PLC0415  most calls do not fail

        if (line := hint(call, error)) is not None:
            error.add_note(line)
        raise


def _subcommand(name: str, words: list[str], module: object) -> Subcommand:
    """Return how a command is parsed; `status` has only the options that every command has."""
    ours: dict[str, Subcommand] = {one.name: one for one in getattr(module, "COMMANDS", ())}
    if name in ours:
        return ours[name]
    if name == "status" and not _asks_for_help(words):
        return Subcommand(name=name, summary="", command=Command(examples=()), parts=())
    return commands()[name]


def _socket(words: list[str]) -> tuple[str | None, list[str]]:
    """Remove `--socket PATH` from the words, wherever it is; the last one is used."""
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
