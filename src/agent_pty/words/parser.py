"""A subcommand of `agent-pty` and its parser; imports no op, as the client's own need none."""

from __future__ import annotations

import argparse
import functools
import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from agent_pty.core.command import Command, Part

WIDTH = 78
USAGE = 2


@dataclass(frozen=True, kw_only=True)
class Subcommand:
    """A subcommand: of an op, or, without one, of the client itself."""

    name: str
    summary: str
    command: Command
    parts: Sequence[Part]
    op: str | None = None


class Printed(Exception):
    """The command line asks for help, or is wrong: *text* is all there is to say."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.text = text
        self.status = status


class _Parser(argparse.ArgumentParser):
    """Raises what it would print."""

    def error(self, message: str) -> NoReturn:
        raise Printed(f"{self.format_usage()}{self.prog}: error: {message}\n", USAGE)

    def print_help(self, file: Any = None) -> NoReturn:
        del file
        raise Printed(self.format_help(), 0)


_formatter = functools.partial(argparse.RawDescriptionHelpFormatter, width=WIDTH)


def parser(one: Subcommand) -> argparse.ArgumentParser:
    """Return the parser of a subcommand."""
    made = _Parser(
        prog=f"agent-pty {one.name}",
        description="\n".join(_filled(line) for line in one.summary.splitlines()),
        epilog="examples:\n" + "\n".join(f"  {line}" for line in one.command.examples),
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    add_to(made, one.parts)
    made.add_argument("--json", "-j", action="store_true", help="print JSON")
    made.add_argument("--socket", metavar="PATH", help="the daemon's socket")
    return made


def _filled(line: str) -> str:
    return textwrap.fill(line, WIDTH)


def add_to(its_parser: argparse.ArgumentParser, parts: Sequence[Part]) -> None:
    """Add the arguments of a command to a parser."""
    for part in parts:
        for given in part.arguments:
            options = dict(given.options)
            if not given.names[0].startswith("-"):
                options.pop("dest", None)
            its_parser.add_argument(*given.names, **options)


def parse(its_parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Parse the words of one subcommand; options may stand between its other arguments.

    What follows `--` is no option, whatever it looks like. `argparse` forgets that when arguments
    are mixed, so such words are replaced while it parses.
    """
    before = list(itertools.takewhile(lambda word: word != "--", words))
    after = list(words[len(before) + 1 :])
    masked = {f"\0{number}": word for number, word in enumerate(after) if word.startswith("-")}
    unmasked = {word: mask for mask, word in masked.items()}
    options = its_parser.parse_intermixed_args(
        [*before, *(unmasked.get(word, word) for word in after)]
    )
    for name, value in vars(options).items():
        setattr(options, name, _restored(value, masked))
    return options


def _restored(value: Any, masked: dict[str, str]) -> Any:
    if isinstance(value, str):
        return masked.get(value, value)
    if isinstance(value, list):
        return [_restored(one, masked) for one in value]
    return value
