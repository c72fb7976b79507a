"""How shells are started: with text as an argument, with a file, or reading standard input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_pty.core.policy import prefix
from agent_pty.core.policy.carried_out import (
    UNNAMED,
    Argv,
    Call,
    CarriedOut,
    Opaque,
    Script,
    base,
)
from agent_pty.core.policy.field import HOLE, Field, texts
from agent_pty.core.policy.followed import Nothing, Stdin
from agent_pty.core.policy.option import after_options, read_options, values_of
from agent_pty.core.policy.program_source import program_source

SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "yash", "csh", "tcsh"}
    | {"nu", "xonsh", "elvish"}
)
UNKNOWN_SHELL_TEXT = Opaque("a shell runs text that is not known")
_START_FILES = frozenset({"--rcfile", "--init-file"})
_TEXT_OPTIONS = frozenset({"--command", "--commands", "--init-command", "--execute"})
_SSH_RUNS = re.compile(
    r"(?i)(?:proxycommand|localcommand|remotecommand|knownhostscommand)[=\s]+(.*)"
)
_SSH_READS_NOTHING = frozenset({"-N", "-n", "-f", "-W", "-O", "-Q", "-V"})


def shell(call: Call) -> Iterator[CarriedOut]:
    """Yield what a shell runs: the text of -c, standard input, or a file that can be known."""
    at, words, letters = 0, call.words, ""
    while at < len(words) and words[at].startswith(("-", "+")) and words[at] not in ("-", "--"):
        word, following = words[at], call.rest[at + 1 : at + 2]
        if word.startswith("--"):
            yield from _long_option(word, following)
            at += 2 if word in _START_FILES | _TEXT_OPTIONS else 1
            continue
        if attached := re.fullmatch(r"-[a-zA-Z]*c([a-zA-Z]*[^a-zA-Z].*)", word, re.DOTALL):
            yield Script(attached[1])  # as fish takes it
            return
        letters += word[1:] if word.startswith("-") else ""
        at += 1 + len(re.findall("[oO]", word))  # each has a word of its own
    at += at < len(words) and words[at] in ("-", "--") and (words[at] == "--" or "c" in letters)
    rest = call.rest[at:]
    if "c" in letters:
        yield from _text_of_c(call, texts(rest))
        return
    file = rest[0] if rest and "s" not in letters else None
    yield from of_source(program_source(file, call.stdin, piped=call.piped), texts(rest[1:]))
    if file is not None and "n" not in letters:  # which only checks a script
        yield from _written(call, file.text, texts(rest[1:]))


def by_path(call: Call) -> Iterator[CarriedOut]:
    """Yield the text of a script that is called by its path, if it was written in this session."""
    path = call.fields[0].text
    if "/" in path:
        yield from _written(call, path, call.words)


def _written(call: Call, path: str, positional: list[str]) -> Iterator[CarriedOut]:
    text = call.scope.files.text_of(path)
    if text is not None and _is_shell_text(text):
        yield Script(text, tuple(positional), call.stdin, reads=call.piped, name=path)


def _is_shell_text(text: str) -> bool:
    """Whether a shell runs a script, and not the program that its first line names."""
    first = text.partition("\n")[0].split()
    if not text.startswith("#!"):
        return True
    return any(base(word.removeprefix("#!")) in SHELLS for word in first)


def _long_option(word: str, following: list[Field]) -> Iterator[CarriedOut]:
    """Yield the text, or the file to begin with, that a long option names."""
    name, sign, value = word.partition("=")
    given = [Field(value)] if sign else following
    if name in _TEXT_OPTIONS:
        yield from joined(given)
    elif name in _START_FILES and given:
        yield from of_source(program_source(given[0], None, piped=False))


def of_source(source: Stdin, positional: list[str] | None = None) -> Iterator[CarriedOut]:
    """Yield text that a shell reads."""
    if source is None:
        yield UNKNOWN_SHELL_TEXT
    elif isinstance(source, str):
        yield Script(source, tuple(positional or ()))


def _text_of_c(call: Call, words: list[str]) -> Iterator[CarriedOut]:
    if not words:
        return
    if HOLE in words[0]:
        yield UNKNOWN_SHELL_TEXT
    name = words[1] if words[1:] else UNNAMED
    yield Script(words[0], tuple(words[2:]), call.stdin, reads=call.piped, name=name)


def joined(fields: list[Field]) -> Iterator[CarriedOut]:
    """Yield words that a shell reads again as one text."""
    text = " ".join(texts(fields))
    if text.strip(HOLE + " "):
        yield Script(text)
    elif text:
        yield UNKNOWN_SHELL_TEXT


def standard_input(call: Call) -> Iterator[CarriedOut]:
    """Yield standard input as shell text, as `at` takes it."""
    yield from of_source(call.stdin if call.piped else Nothing)


def sudo(call: Call) -> Iterator[CarriedOut]:
    """Yield the program that sudo runs; a shell that it starts by -s or -i reads its input."""
    options, _ = read_options(call.rest, prefix.PREFIXES["sudo"])
    inner = after_options(call.rest, prefix.PREFIXES["sudo"])
    if inner:
        yield Argv(inner)
    elif {"-s", "-i", "--shell", "--login"} & {one.name for one in options}:
        yield from standard_input(call)


def su(call: Call) -> Iterator[CarriedOut]:
    """Yield what su and its like give to a shell, wherever the option stands."""
    fields = [one for one in call.rest if one.text != "--"]
    options, _ = read_options(fields, prefix.SU, everywhere=True)
    given = values_of(options, "-c", "--command", "--session-command")
    for text in given:
        yield from joined([Field(text)])
    if not given:
        yield from standard_input(call)


def script(call: Call) -> Iterator[CarriedOut]:
    """Yield what `script` runs while it records; without a command, that is a shell."""
    options, operands = read_options(call.rest, prefix.SCRIPT, everywhere=True)
    given = values_of(options, "-c", "--command")
    for text in given:
        yield from joined([Field(text)])
    if not given and len(operands) < 2:  # noqa: PLR2004  elsewhere a command follows the file
        yield from standard_input(call)


def sg(call: Call) -> Iterator[CarriedOut]:
    """Yield what runs with another group: `sg GROUP [-c] TEXT`."""
    yield from joined([one for one in call.rest[1:] if one.text != "-c"])


def ssh(call: Call) -> Iterator[CarriedOut]:
    """Yield the command for the other machine, or what its shell reads, and commands of options."""
    options, _ = read_options(call.rest, prefix.SSH)
    for setting in values_of(options, "-o"):
        if found := _SSH_RUNS.fullmatch(setting.strip()):
            yield Script(found[1])
    command = after_options(call.rest, prefix.SSH)
    if command:
        # The program that runs there reads what is given here.
        for one in joined(command):
            if isinstance(one, Script):
                yield Script(one.text, (), call.stdin, reads=call.piped)
            else:
                yield one
    elif not _SSH_READS_NOTHING & {one.name for one in options}:
        yield from standard_input(call)


def pwsh(call: Call) -> Iterator[CarriedOut]:
    """Yield the text for PowerShell, whose options may be abbreviated."""
    for at, word in enumerate(call.words):
        name = word.lower().lstrip("-")
        if not word.startswith("-") or not name:
            continue
        if "command".startswith(name):
            yield from joined(call.rest[at + 1 :])
            return
        if name in ("e", "ec") or (len(name) > 1 and "encodedcommand".startswith(name)):
            yield UNKNOWN_SHELL_TEXT
            return
    yield from standard_input(call)


def env(call: Call) -> Iterator[CarriedOut]:
    """Yield the program of env, or the text that -S splits into one."""
    options, rest = read_options(call.rest, prefix.ENV)
    for text in values_of(options, "-S", "--split-string"):
        yield Script(" ".join([text, *texts(rest)]))
    inner = after_options(call.rest, prefix.ENV)
    if inner:
        yield Argv(inner)
