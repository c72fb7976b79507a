"""Programs that take shell text: as the value of an option, an operand, or inside of a script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agent_pty.core.policy import prefix
from agent_pty.core.policy.carried_out import Argv, Call, CarriedOut, Script
from agent_pty.core.policy.field import Field
from agent_pty.core.policy.option import Prefix, read_options, values_of
from agent_pty.core.policy.shell_invocation import UNKNOWN_SHELL_TEXT, joined

_Handler = Callable[[Call], Iterator[CarriedOut]]
_PACKAGE_VERBS = frozenset({"exec", "x", "dlx"})
# Five fields or a word such as @daily, and then the command.
_CRONTAB_LINE = re.compile(r"(?m)^[ \t]*(?:@\w+|(?:[^\s#]+[ \t]+){4}[^\s#]+)[ \t]+(.*)$")
_CLIENT_ESCAPES = {
    "psql": re.compile(r"\\!\s*(.*)|\\[ogw]x?\s*\|(.*)|\bprogram\s+'([^']*)'", re.IGNORECASE),
    "sqlite3": re.compile(r"^\s*\.(?:shell|system|sh)\s+(.*)", re.MULTILINE),
    "mysql": re.compile(r"(?:^\s*|;\s*|\\)(?:system\s+|!\s*)(.*)", re.MULTILINE),
}


def option_text(*names: str) -> _Handler:
    """Return what yields the values of some options as shell text, wherever they stand."""
    short = "".join(one[1] for one in names if not one.startswith("--"))
    reads = Prefix(short, frozenset(one for one in names if one.startswith("--")))

    def values(call: Call) -> Iterator[CarriedOut]:
        options, _ = read_options(call.rest, reads, everywhere=True)
        for text in values_of(options, *names):
            yield from joined([Field(text)])

    return values


def tar(call: Call) -> Iterator[CarriedOut]:
    """Yield the commands that tar runs for an archive."""
    for word in call.words:
        name, _, value = word.partition("=")
        if name.startswith("--checkpoint-a"):
            yield Script(value.removeprefix("exec="))
        elif name.startswith(("--to-c", "--use-c", "--rsh-c", "--rmt-c", "--info-s", "--new-vol")):
            yield Script(value)
    yield from option_text("-I", "-F")(call)


def zip_test(call: Call) -> Iterator[CarriedOut]:
    """Yield the command by which zip tests an archive; its option has two letters."""
    for at, word in enumerate(call.words):
        if word in ("-TT", "--unzip-command"):
            yield from joined(call.rest[at + 1 : at + 2])


def hyperfine(call: Call) -> Iterator[CarriedOut]:
    """Yield what hyperfine measures, and what it runs before and after."""
    options, operands = read_options(call.rest, prefix.HYPERFINE, everywhere=True)
    around = ("-p", "--prepare", "-s", "--setup", "-c", "--cleanup", "-C", "--conclude")
    for text in [*map(Field, values_of(options, *around)), *operands]:
        yield from joined([text])


def entr(call: Call) -> Iterator[CarriedOut]:
    """Yield what runs when a file changes: a program, or with -s shell text."""
    options, operands = read_options(call.rest, Prefix())
    if any(one.name == "-s" for one in options):
        yield from joined(operands[:1])
    elif operands:
        yield Argv(operands)


def crontab(call: Call) -> Iterator[CarriedOut]:
    """Yield the commands of a table that is read from standard input."""
    if not call.piped or not set(call.words) <= {"-"}:
        return
    if call.stdin is None:
        yield UNKNOWN_SHELL_TEXT
    else:
        yield Script("\n".join(_CRONTAB_LINE.findall(call.stdin)))


def database_client(name: str) -> _Handler:
    """Return what yields the commands by which statements for a database leave its client."""

    def escapes(call: Call) -> Iterator[CarriedOut]:
        given = [re.sub(r"^(?:-\w|--\w+=)", "", word) for word in call.words]
        for text in [*given, call.stdin or ""]:
            for found in _CLIENT_ESCAPES[name].finditer(text):
                yield Script("".join(one or "" for one in found.groups()))

    return escapes


def package_manager(call: Call) -> Iterator[CarriedOut]:
    """Yield what npm and its like run: `npm exec [--] CMD`, `npm exec -c TEXT`."""
    _, operands = read_options(call.rest, prefix.PACKAGE_MANAGER)
    if operands and operands[0].text in _PACKAGE_VERBS:
        yield from _package_program(operands[1:])


def npx(call: Call) -> Iterator[CarriedOut]:
    """Yield what npx runs."""
    yield from _package_program(call.rest)


def _package_program(fields: list[Field]) -> Iterator[CarriedOut]:
    options, operands = read_options(fields, prefix.PACKAGE_MANAGER)
    for text in values_of(options, "-c", "--call"):
        yield from joined([Field(text)])
    if operands:
        yield Argv(operands)
