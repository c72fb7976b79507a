"""Makefiles, editors and little languages: commands that stand inside of their text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_pty.core.policy.carried_out import Argv, Call, CarriedOut, Opaque, Script
from agent_pty.core.policy.field import HOLE, Field, texts
from agent_pty.core.policy.option import Option, Prefix, read_options, values_of
from agent_pty.core.policy.program_source import program_source
from agent_pty.core.policy.shell_call import Code, calls_out

_AWK = Prefix("vfFeEil", frozenset({"--file", "--assign", "--field-separator", "--source"}))
# `s///e`, and what its delimiter divides it into.
_SHORTEST_SUBSTITUTION = 5
_SUBSTITUTION_PARTS = 3
_SED = Prefix("efl", frozenset({"--expression", "--file", "--line-length"}), attached="i")


def make(call: Call) -> Iterator[CarriedOut]:
    """Yield the recipes of a makefile that can be known."""
    for at, one in enumerate(call.rest):
        if at and call.words[at - 1] in ("-f", "--file", "--makefile"):
            text = call.stdin if one.text == "-" else one.script
            if text is not None:
                yield Script("\n".join(re.findall(r"(?m)^\t[@+-]*(.*)$", text)))
            elif one.text == "-" or one.text.startswith("/dev/fd/"):
                yield Opaque("make follows rules that are not known")
    for word in call.words:
        if word.startswith("--eval="):
            yield Script("\n".join(re.findall(r"(?:\t|;)\s*[@+-]*(.*)", word)))


def editor(call: Call) -> Iterator[CarriedOut]:
    """Yield what an editor runs by `!`."""
    for at, word in enumerate(call.words):
        given = "".join(call.words[at + 1 : at + 2]) if word in ("-c", "--cmd") else ""
        given = given or (word[1:] if word.startswith("+") else "")
        if found := re.search(r"(?:^|\|)\s*:*(?:silent!?\s+)?!(.*)", given):
            yield Script(found[1])
        elif "system(" in given:
            yield from interpreted(calls_out(given))


def awk(call: Call) -> Iterator[CarriedOut]:
    """Yield what a program of awk gives to a shell."""
    options, operands = read_options(call.rest, _AWK)
    code = values_of(options, "-e", "--source")
    for word in [*_scripts(call, options, "-f", "--file"), *texts(operands), *code]:
        if word is None:
            yield Opaque("awk runs a program that is not known")
        elif re.search(r"\bsystem\s*\(|\|\s*(?:getline|\")|\"\s*\|", word):
            yield from interpreted(calls_out(word))
            break


def sed(call: Call) -> Iterator[CarriedOut]:
    """Yield what a script of sed runs by `e`."""
    options, operands = read_options(call.rest, _SED, everywhere=True)
    given = values_of(options, "-e", "--expression")
    for word in [*_scripts(call, options, "-f", "--file"), *given, *texts(operands)]:
        if word is None:
            yield Opaque("sed follows a script that is not known")
        elif found := re.search(r"(?:^|[;{}\d$/])\s*e\s+(\S.*)", word):
            yield Script(found[1])
        elif _runs_result(word):
            yield Opaque("sed runs the text it has made")


def _runs_result(script: str) -> bool:
    """Whether a substitution has the flag `e`: `s/PATTERN/TEXT/e`."""
    if not script.startswith("s") or len(script) < _SHORTEST_SUBSTITUTION:
        return False
    parts = script[1:].split(script[1])
    return len(parts) > _SUBSTITUTION_PARTS and re.fullmatch(r"\w*e\w*", parts[-1]) is not None


def _scripts(call: Call, options: list[Option], *names: str) -> Iterator[str | None]:
    """Yield the programs that options name as files, None for one that is not known."""
    for one in options:
        if one.name in names and one.value is not None:
            source = program_source(one.value, call.stdin, piped=call.piped)
            if source is None or isinstance(source, str):
                yield source


def interpreted(code: Code) -> Iterator[CarriedOut]:
    """Yield what code of another language runs."""
    for text in code.texts:
        yield Script(text)
    if code.opaque is not None:
        yield Opaque(code.opaque)
    if code.deletes:
        yield Argv([Field("rm"), Field("-rf"), Field(HOLE)])
