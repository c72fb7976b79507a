"""How interpreters of other languages are given their code: as an option, or to read."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent_pty.core.policy.field import Field, texts
from agent_pty.core.policy.option import Option, Prefix, read_options, values_of
from agent_pty.core.policy.program_source import program_source
from agent_pty.core.policy.shell_call import UNKNOWN, Code, of_code


class _Language(NamedTuple):
    """How an interpreter is called: options that are *code*, and those that take any value."""

    name: re.Pattern[str]
    code: tuple[str, ...]
    options: Prefix


_LANGUAGES = (
    _Language(re.compile(r"python[\d.]*|pypy[\d.]*"), ("-c",), Prefix("cmXWQ")),
    _Language(
        re.compile("node|nodejs|bun|deno"),
        ("-e", "--eval"),
        Prefix("erC", frozenset({"--eval", "--require", "--import"})),
    ),
    _Language(re.compile(r"perl[\d.]*"), ("-e", "-E"), Prefix("eEI", attached="iMmFxCDV:")),
    _Language(re.compile(r"ruby[\d.]*"), ("-e",), Prefix("eIrCE", attached="FiKTWx")),
    _Language(
        re.compile(r"php[\d.]*"),
        ("-r", "-B", "-R", "-E", "--run", "--process-begin", "--process-code", "--process-end"),
        Prefix(
            "rBREdcfFzSt",
            frozenset({"--run", "--process-begin", "--process-code", "--process-end"}),
        ),
    ),
    _Language(
        re.compile("julia"),
        ("-e", "-E", "--eval", "--print"),
        Prefix("eEpJLtCH", frozenset({"--eval", "--print"})),
    ),
    _Language(
        re.compile(r"lua[\d.]*|osascript|Rscript|groovy|elixir|tclsh"),
        ("-e", "--eval"),
        Prefix("el", frozenset({"--eval"})),
    ),
)
# With these an interpreter reads no program.
_READS_NONE = frozenset({"-m", "-V", "-v", "-h", "--version", "--help"})


def is_interpreter(name: str) -> bool:
    """Whether a program runs code of another language."""
    return any(one.name.fullmatch(name) for one in _LANGUAGES)


def interpreter_code(
    name: str, rest: list[Field], stdin: str | None, *, piped: bool
) -> Code | None:
    """Return what an interpreter is told to do; None: it is none, or it runs a file."""
    language = next((one for one in _LANGUAGES if one.name.fullmatch(name)), None)
    if language is None:
        return None
    options, operands = read_options(rest, language.options)
    code = _given_code(language, options, operands)
    if code:
        return of_code("\n".join(code))
    if _READS_NONE & {one.name for one in options}:
        return None
    source = program_source(operands[0] if operands else None, stdin, piped=piped)
    if source is None:
        return UNKNOWN
    return of_code(source) if isinstance(source, str) else None


def _given_code(language: _Language, options: list[Option], operands: list[Field]) -> list[str]:
    """Return the code that stands on the command line itself."""
    code = values_of(options, *language.code)
    prints = any(one.name in ("-p", "--print") for one in options) and "-p" not in language.code
    if operands and not code and (operands[0].text == "eval" or prints):
        _, code_first = read_options(operands[operands[0].text == "eval" :], language.options)
        return texts(code_first[:1])
    # A long option that is not known may have taken the first operand as its value.
    last = options[-1] if options else None
    if last is not None and last.name.startswith("--") and last.value is None and not code:
        return _given_code(language, *read_options(operands[1:], language.options))
    return code
