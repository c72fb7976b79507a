"""How an op looks on the command line: what cannot be derived from its request type.

A command is made of parts. A part is one or several arguments and what they say about the
request. Every field of the request that no part fills gets an option automatically: its name,
type, default and description are in the request type already (`words/arguments.py`).
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_pty.core.budget import BYTES_PER_TOKEN, fitted
from agent_pty.core.duration import long_seconds, seconds
from agent_pty.core.layout import expanded
from agent_pty.core.short_json import shortened
from agent_pty.errors import Usage

Fields = dict[str, Any]


class Call(Protocol):
    """One command line that is being carried out, and its caller."""

    @property
    def options(self) -> Any:
        """The arguments as they were parsed: an attribute for each."""

    @property
    def json(self) -> bool:
        """Whether the answer must be printed as JSON."""

    @property
    def cwd(self) -> str:
        """The caller's directory."""

    @property
    def terminal(self) -> bool:
        """Whether standard output is a terminal: a person reads it."""

    @property
    def watched(self) -> bool:
        """Whether standard error is a terminal: a person sees how long work goes on."""

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return an op's answer, or raise its error; fields that are None are left out."""

    async def events(self, **fields: Any) -> int:
        """Print the events that `watch` yields until the caller disconnects; return the status."""

    async def approval_events(self, name: str | None) -> int:
        """Print the requests for approval of a session or of all, until the caller disconnects."""

    async def print(self, text: str) -> None:
        """Write to the caller's standard output, as it is."""

    async def show(self, answer: Any, text: str) -> None:
        """Print an answer as JSON if that was asked for, else *text* and a line end."""

    async def show_json(self, answer: Any) -> None:
        """Print an answer as JSON."""

    def encoded(self, answer: Any) -> str:
        """Return an answer as `show_json` prints it."""

    async def warn(self, text: str) -> None:
        """Write a line to the caller's standard error."""

    async def stdin(self) -> bytes:
        """Return all of the caller's standard input."""

    async def environment(self) -> Mapping[str, str]:
        """Return the caller's environment."""

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file as the caller sees it."""

    async def write_file(self, path: str, data: bytes) -> None:
        """Write a file for the caller."""


Fill = Callable[[Call], Awaitable[Fields]]
Run = Callable[[Call, Fields], Awaitable[int]]
Finish = Callable[[Call, Any], Awaitable[int]]


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument as `argparse` takes it."""

    names: tuple[str, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Part:
    """Arguments, the fields that they stand for, and how to fill those."""

    arguments: tuple[Argument, ...]
    fields: tuple[str, ...] = ()
    fill: Fill | None = None


@dataclass(frozen=True, kw_only=True)
class Command:
    """A subcommand of `agent-pty`.

    It sends one request and prints *text* of the answer; *finish* does the printing itself and
    returns the exit status; *run* does everything. *name* and *summary* are those of the op unless
    given. With *local* it runs in the client, which needs the caller's own terminal. Fields in
    *hidden* are not on the command line.
    """

    examples: Sequence[str]
    parts: Sequence[Part] = ()
    text: str | Callable[[Call, Any], str] = ""
    finish: Finish | None = None
    run: Run | None = None
    name: str | None = None
    summary: str | None = None
    local: bool = False
    hidden: frozenset[str] = field(default_factory=frozenset)


# -- parts that many commands share


def argument(*names: str, **options: Any) -> Argument:
    """Describe an argument."""
    return Argument(names=names, options=options)


def part(name: str, *flags: str, into: str | None = None, **options: Any) -> Part:
    """Return one argument, *flags* or positional, for the field *into* (None: for *run* alone)."""
    names = flags or (name,)
    if flags:
        options.setdefault("dest", name)
    fields = (into,) if into is not None else ()

    async def fill(call: Call) -> Fields:
        return {} if into is None else {into: getattr(call.options, name)}

    return Part(arguments=(argument(*names, **options),), fields=fields, fill=fill)


NAME = part("name", into="id", help="the session")
TOKENS = part(
    "max_tokens",
    "--max-tokens",
    type=int,
    metavar="N",
    help="fit the answer into a budget: its beginning and its end",
)

STATUS = part(
    "own_status", "-e", action="store_true", help="exit as the command did, which it always does"
)


def duration(
    into: str, flag: str = "--timeout", *, default: str | None = None, note: str = ""
) -> Part:
    """Return an option such as `--timeout 5m` for a field in milliseconds."""
    shown = f" (default: {default})" if default else ""
    text = f"500ms, 30s, 5m{note}{shown}"
    return _duration(into, flag, seconds, default=default, help=text)


def long_duration(into: str, flag: str, *, note: str) -> Part:
    """Return an option such as `--older-than 30d` for a field in milliseconds."""
    return _duration(into, flag, long_seconds, help=f"90s, 12h, 30d: {note}")


def _duration(into: str, flag: str, read: Callable[..., float], **options: Any) -> Part:
    name = flag.removeprefix("--")

    async def fill(call: Call) -> Fields:
        given = getattr(call.options, name)
        return {into: None if given is None else round(read(given, what=name) * 1000)}

    flags = (flag, "-t") if flag == "--timeout" else (flag,)
    given = argument(*flags, dest=name, metavar="DUR", **options)
    return Part(arguments=(given,), fields=(into,), fill=fill)


def text_or_file(into: str = "text") -> Part:
    """Return a positional text, `-` for standard input, and `--file`."""

    async def fill(call: Call) -> Fields:
        text, path = call.options.text, call.options.file
        if (text is None) == (path is None):
            raise Usage("give the text, or --file FILE, or `-` to read standard input")
        if path is not None:
            return {into: await _file_text(call, path)}
        return {into: await _text(call, text)}

    return Part(
        arguments=(
            argument("text", nargs="?", help="the text; `-` reads standard input"),
            argument("--file", metavar="FILE", help="take the content of a file"),
        ),
        fields=(into,),
        fill=fill,
    )


def text_or_stdin(into: str, **options: Any) -> Part:
    """Return a positional text, `-` for standard input."""

    async def fill(call: Call) -> Fields:
        return {into: await _text(call, getattr(call.options, into))}

    return Part(arguments=(argument(into, **options),), fields=(into,), fill=fill)


async def _text(call: Call, given: str) -> str:
    if given != "-":
        return given
    return (await call.stdin()).decode(errors="surrogateescape")


async def _file_text(call: Call, path: str) -> str:
    try:
        return (await call.read_file(path)).decode()
    except UnicodeDecodeError as error:
        raise Usage(f"cannot read {path}: {error}") from error


def directory(into: str = "repo") -> Part:
    """Return `--repo DIR`, by default the caller's directory."""

    async def fill(call: Call) -> Fields:
        given = await expand(call, call.options.repo or ".")
        return {into: _joined(call.cwd, given)}

    given = argument("--repo", metavar="DIR", help="directory to start in (default: here)")
    return Part(arguments=(given,), fields=(into,), fill=fill)


def path_option(into: str, flag: str, **options: Any) -> Part:
    """Return an option for a path, which begins at the caller's directory; none by default."""

    async def fill(call: Call) -> Fields:
        given = getattr(call.options, into)
        return {into: None if given is None else _joined(call.cwd, await expand(call, given))}

    given = argument(flag, dest=into, metavar="DIR", **options)
    return Part(arguments=(given,), fields=(into,), fill=fill)


def _joined(cwd: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, path))


async def expand(call: Call, path: str) -> str:
    """Replace a leading `~` by the caller's HOME; only then is the environment requested."""
    return expanded(path, await call.environment()) if path.startswith("~") else path


def screen_cell(name: str, *flags: str, row: str, col: str, **options: Any) -> Part:
    """Return `ROW,COL` for two fields."""

    async def fill(call: Call) -> Fields:
        given = getattr(call.options, name)
        return {} if given is None else dict(zip((row, col), _cell(given), strict=True))

    if flags:
        options.setdefault("dest", name)
    shown = argument(*(flags or (name,)), metavar="ROW,COL", **options)
    return Part(arguments=(shown,), fields=(row, col), fill=fill)


def _cell(text: str) -> tuple[int, int]:
    row, comma, col = text.partition(",")
    if not (comma and row.isdigit() and col.isdigit()):
        raise Usage(f"cell {text!r}: write ROW,COL counted from 0")
    return int(row), int(col)


def assignments(into: str, flag: str, **options: Any) -> Part:
    """Return an option `K=V` that may be repeated."""
    name = flag.removeprefix("--")

    async def fill(call: Call) -> Fields:
        return {into: dict(_assignment(flag, text) for text in getattr(call.options, name))}

    given = argument(flag, dest=name, action="append", default=[], metavar="K=V", **options)
    return Part(arguments=(given,), fields=(into,), fill=fill)


def _assignment(flag: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Usage(f"{flag} {text!r}: write NAME=VALUE")
    return name, value


def json_list(into: str, example: str, **options: Any) -> Part:
    """Return a positional JSON array, `-` for standard input."""

    async def fill(call: Call) -> Fields:
        try:
            value = json.loads(await _text(call, getattr(call.options, into)))
        except ValueError as error:
            raise Usage(f"{into} are no JSON: {error}") from error
        if not isinstance(value, list):
            raise Usage(f"{into} must be a JSON array: {example}")
        return {into: value}

    return Part(arguments=(argument(into, **options),), fields=(into,), fill=fill)


def program(into: str = "argv", *, required: bool) -> Part:
    """Return a program and its arguments, after `--`."""

    async def fill(call: Call) -> Fields:
        return {into: getattr(call.options, into) or None}

    given = argument(
        into, nargs="+" if required else "*", help="after --: a program and its arguments, no shell"
    )
    return Part(arguments=(given,), fields=(into,), fill=fill)


def text_room(call: Call) -> int | None:
    """Return how many bytes `--max-tokens` allows; None if it was not given."""
    budget: int | None = getattr(call.options, "max_tokens", None)
    if budget is not None and budget < 1:
        raise Usage(f"--max-tokens {budget}: give a number from 1 on")
    return None if budget is None else budget * BYTES_PER_TOKEN


async def fitted_text(call: Call, text: str, *, rest: str) -> str:
    """Cut text to the budget of `--max-tokens`; *rest* says how to get all of it."""
    room = text_room(call)
    if room is None:
        return text
    short = fitted(text, room, rest=f"all of it: {rest}")
    if short.rest:
        await call.warn(short.rest)
    return short.text


async def show_fitted_json(call: Call, answer: dict[str, Any], *, rest: str) -> None:
    """Print an answer as JSON, cut to the budget of `--max-tokens`."""
    room = text_room(call)
    short = answer if room is None else shortened(answer, room, rest=f"all of it: {rest}")
    await call.show_json(short)
