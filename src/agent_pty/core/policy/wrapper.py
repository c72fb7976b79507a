"""Programs that run other programs or shell text: what a command carries out in its turn."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator

from agent_pty.core.policy import (
    embedded_command,
    git_wrapper,
    prefix,
    shell_invocation,
    text_option,
)
from agent_pty.core.policy.carried_out import Argv, Call, CarriedOut, Script, base
from agent_pty.core.policy.field import HOLE, Field, texts
from agent_pty.core.policy.interpreter import interpreter_code, is_interpreter
from agent_pty.core.policy.option import Prefix, after_options, operands_of
from agent_pty.core.policy.prefix import PREFIXES
from agent_pty.core.policy.shell_invocation import SHELLS
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.text_option import option_text

# What stands for a program in a row of words whose meaning is not known.
_PROGRAMS = SHELLS | frozenset(
    {"rm", "git", "terraform", "tofu", "terragrunt", "kubectl", "oc", "vault", "bao", "gh", "sudo"}
    | {"doas", "env", "xargs", "find", "busybox"}
)
# Their words are data, or words of their own that are looked at elsewhere.
_DATA = frozenset(
    """
    echo printf grep egrep fgrep rg ag ack man info apropos whatis which whereis type help tldr cat
    ls cp mv ln mkdir touch git gh npm pnpm yarn apt apt-get dnf yum brew pip pip3 docker podman
    nerdctl kubectl oc helm terraform tofu terragrunt vault bao rm rmdir test [ [[ jq yq sed awk
    gawk mawk tr cut sort uniq head tail wc diff cmp file stat du df basename dirname realpath
    readlink date seq cargo go tee less more vi vim nvim nano emacs code tar zip unzip gzip curl
    wget alias unalias export set unset read local declare typeset hash history complete compgen let
    : true false logger notify-send wall write mail pass task todo note jrnl say espeak cowsay
    figlet banner find gfind fd fdfind pgrep pkill killall xdotool shellcheck shfmt bat comm paste
    nl agent-pty k km print string
    """.split()  # noqa: SIM905  a paragraph reads better
)
# Options of many programs whose value is prose.
_PROSE = frozenset(
    {"-m", "--message", "--title", "--body", "--description", "--comment", "--subject", "--note"}
)
_TMUX_RUNS = frozenset(
    {"new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane"}
    | {"run-shell", "run", "popup", "display-popup"}
)
# So many values of a list are looked at.
_MOST_VALUES = 64
# They run something inside of a container or a machine, after one of these words.
_REMOTE = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "crictl", "ctr"})
_REMOTE_VERBS = frozenset({"exec", "run", "debug", "rsh"})


def program_names(field: Field) -> list[str]:
    """Return what a command may be: its name, or every name that its wildcards may mean."""
    name = base(field.text)
    if not field.glob:
        return [name]
    known = sorted(_PROGRAMS | set(PREFIXES))
    return [one for one in known if fnmatch.fnmatchcase(one, name)] or [name]


def carried_out(
    fields: list[Field], scope: Scope, *, stdin: str | None, piped: bool
) -> Iterator[CarriedOut]:
    """Yield what a command runs; *piped*: it reads something, which is *stdin* if it is known."""
    if not fields[0].glob and base(fields[0].text) in _INERT:
        return
    call = Call(fields, scope, stdin, piped)
    yield from shell_invocation.by_path(call)
    for name in program_names(fields[0]):
        yield from _of_program(name, call)


def _of_program(name: str, call: Call) -> Iterator[CarriedOut]:
    """Yield what a program runs; if nothing tells, what it perhaps runs."""
    known = False
    for one in _surely(name, call):
        known = True
        yield one
    if name in _REMOTE or (name not in _DATA and not known):
        yield from _perhaps(name, call)


def _surely(name: str, call: Call) -> Iterator[CarriedOut]:
    if name in SHELLS:
        yield from shell_invocation.shell(call)
    elif name in ("busybox", "toybox"):
        yield Argv(call.rest)
    elif name in _OTHERS:
        yield from _OTHERS[name](call)
    elif name in PREFIXES:
        yield from _prefixed(name, call)
    elif (code := interpreter_code(name, call.rest, call.stdin, piped=call.piped)) is not None:
        yield from embedded_command.interpreted(code)


def _prefixed(name: str, call: Call) -> Iterator[CarriedOut]:
    if name == "command" and {"-v", "-V"} & set(call.words[:1]):
        return
    inner = after_options(call.rest, PREFIXES[name])
    if inner:
        yield Argv(inner)
    if name == "runuser":
        yield from shell_invocation.su(call)


def _perhaps(name: str, call: Call) -> Iterator[CarriedOut]:
    """Yield rows of words inside of a command whose meaning is not known."""
    begin = 0
    if name in _REMOTE:
        runs = [at for at, word in enumerate(call.words) if word in _REMOTE_VERBS]
        if not runs:
            return
        begin = runs[0] + 1
    for at, one in enumerate(call.rest):
        program = _image(one.text) if name in _REMOTE else base(one.text)
        before = call.fields[at].text
        if at >= begin and (program in _PROGRAMS or is_interpreter(program)):
            yield Argv([Field(program), *call.rest[at + 1 :]], guess=True)
        elif at >= begin and before not in _PROSE:
            yield from _perhaps_text(one.text)


def _perhaps_text(word: str) -> Iterator[CarriedOut]:
    """Yield a word, or the value of an option, that looks like a command with its arguments."""
    text = word.partition("=")[2] if word.startswith("-") else word
    first, blank, _ = text.strip().partition(" ")
    if blank and (base(first) in _PROGRAMS or first in PREFIXES):
        yield Script(text)


def _image(text: str) -> str:
    """Return the program that an image is named after, without registry, tag and digest."""
    return base(text.partition("@")[0]).partition(":")[0]


# -- one function for each kind of program


def _xargs(call: Call) -> Iterator[CarriedOut]:
    inner, words = after_options(call.rest, prefix.XARGS), call.words
    if not inner:
        return
    at = next((number for number, word in enumerate(words) if word.startswith("-I")), None)
    replaced = "" if at is None else words[at][2:] or "".join(words[at + 1 : at + 2])
    given = [HOLE] if call.stdin is None else call.stdin.replace("\0", "\n").split()
    if replaced:
        value = " ".join(given)
        yield Argv([Field(one.text.replace(replaced, value)) for one in inner])
    else:
        yield Argv([*inner, *map(Field, given)])


def _find(call: Call) -> Iterator[CarriedOut]:
    words, at = call.words, 0
    while at < len(words):
        if words[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while end < len(words) and words[end] not in (";", "+"):
                end += 1
            inner = [Field(one.text.replace("{}", HOLE)) for one in call.rest[at + 1 : end]]
            if inner:
                yield Argv(inner)
            at = end
        at += 1


def _fd(call: Call) -> Iterator[CarriedOut]:
    for flag in ("-x", "--exec", "-X", "--exec-batch"):
        if flag in call.words:
            yield Argv(call.rest[call.words.index(flag) + 1 :])


def _watch(call: Call) -> Iterator[CarriedOut]:
    yield from shell_invocation.joined(after_options(call.rest, prefix.WATCH))


def _flock(call: Call) -> Iterator[CarriedOut]:
    inner = after_options(call.rest, prefix.FLOCK)
    if inner and inner[0].text in ("-c", "--command"):
        yield from shell_invocation.joined(inner[1:])
    elif inner:
        yield Argv(inner)


def _parallel(call: Call) -> Iterator[CarriedOut]:
    words = call.words
    cut = next((at for at, word in enumerate(words) if re.fullmatch(r":::+\+?", word)), len(words))
    values = words[cut + 1 :] or ([HOLE] if call.stdin is None else call.stdin.split("\n"))
    if any(one.startswith(":::") for one in values):  # every value of one list with every other
        values = [HOLE]
    command = " ".join(texts(after_options(call.rest[:cut], prefix.PARALLEL)))
    if not command:
        for value in values:
            yield from shell_invocation.joined([Field(value)])
    for value in values[:_MOST_VALUES] if command else ():
        yield Script(_with_value(command, value))


def _with_value(command: str, value: str) -> str:
    """Put a value into a command of `parallel`, at its end unless it has a place."""
    if "{" not in command:
        return f"{command} {value}"
    return re.sub(r"\{[^{}]*\}", lambda _found: value, command)


def _tmux(call: Call) -> Iterator[CarriedOut]:
    words = call.words
    for at, word in enumerate(words):
        if word in ("send-keys", "send"):
            keys = " ".join(operands_of(words[at + 1 :], short="tNc"))
            yield Script(keys.replace(" Enter", "\n").replace(" C-m", "\n"))
            return
        if word in _TMUX_RUNS:
            yield from shell_invocation.joined(after_options(call.rest[at + 1 :], prefix.TMUX))
            return


def _screen(call: Call) -> Iterator[CarriedOut]:
    if "stuff" in call.words:
        yield Script(" ".join(call.words[call.words.index("stuff") + 1 :]))
        return
    inner = after_options(call.rest, prefix.SCREEN)
    if inner:
        yield Argv(inner)


def _expect(call: Call) -> Iterator[CarriedOut]:
    for word in [*call.words, call.stdin or ""]:
        for found in re.finditer(r"\b(?:spawn|exec|system)\s+([^\n;\]]*)", word):
            yield Script(found[1])


def _gdb(call: Call) -> Iterator[CarriedOut]:
    for word in call.words:
        if found := re.match(r"(?:shell|!)\s*(.*)", word):
            yield Script(found[1])
    if "--args" in call.words:
        yield Argv(call.rest[call.words.index("--args") + 1 :])


def _after_dashes(call: Call) -> Iterator[CarriedOut]:
    if "--" in call.words:
        yield Argv(call.rest[call.words.index("--") + 1 :])


def _after_verb(*verbs: str) -> Callable[[Call], Iterator[CarriedOut]]:
    """Return what yields the program after a verb: `poetry run CMD`."""

    def inner(call: Call) -> Iterator[CarriedOut]:
        verb = next((one for one in verbs if one in call.words), None)
        if verb is not None:
            found = after_options(call.rest[call.words.index(verb) + 1 :], Prefix())
            if found:
                yield Argv(found)

    return inner


_OTHERS: dict[str, Callable[[Call], Iterator[CarriedOut]]] = {
    "env": shell_invocation.env,
    "xargs": _xargs,
    **dict.fromkeys(("find", "gfind"), _find),
    **dict.fromkeys(("fd", "fdfind"), _fd),
    **dict.fromkeys(("ssh", "mosh"), shell_invocation.ssh),
    "su": shell_invocation.su,
    "sudo": shell_invocation.sudo,
    "script": shell_invocation.script,
    "sg": shell_invocation.sg,
    **dict.fromkeys(("pwsh", "powershell"), shell_invocation.pwsh),
    "watch": _watch,
    "flock": _flock,
    "parallel": _parallel,
    "tmux": _tmux,
    "screen": _screen,
    **dict.fromkeys(("tar", "gtar"), text_option.tar),
    "git": git_wrapper.git,
    "gh": git_wrapper.gh,
    **dict.fromkeys(("make", "gmake"), embedded_command.make),
    **dict.fromkeys(("vi", "vim", "nvim", "ex", "view"), embedded_command.editor),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), embedded_command.awk),
    **dict.fromkeys(("sed", "gsed"), embedded_command.sed),
    **dict.fromkeys(("at", "batch"), shell_invocation.standard_input),
    "expect": _expect,
    "gdb": _gdb,
    "rsync": option_text("-e", "--rsh", "--rsync-path"),
    "nix-shell": option_text("--run", "--command"),
    "ansible": option_text("-a", "--args"),
    "vagrant": option_text("-c", "--command"),
    "gcloud": option_text("--command"),
    "split": option_text("--filter"),
    "zip": text_option.zip_test,
    "hyperfine": text_option.hyperfine,
    "entr": text_option.entr,
    "crontab": text_option.crontab,
    "psql": text_option.database_client("psql"),
    "sqlite3": text_option.database_client("sqlite3"),
    **dict.fromkeys(("mysql", "mariadb"), text_option.database_client("mysql")),
    **dict.fromkeys(("npm", "pnpm", "yarn"), text_option.package_manager),
    **dict.fromkeys(("npx", "bunx", "pnpx"), text_option.npx),
    **dict.fromkeys(
        ("aws-vault", "op", "doppler", "chamber", "dotenv", "teller", "infisical"), _after_dashes
    ),
    **dict.fromkeys(("poetry", "pipenv", "uv", "hatch", "pdm", "rye"), _after_verb("run")),
    "bundle": _after_verb("exec"),
    "mise": _after_verb("exec", "x"),
    "nix": _after_verb("-c", "--command"),
}
# They run nothing: what follows their name is data.
_INERT = _DATA - _REMOTE - SHELLS - PREFIXES.keys() - _OTHERS.keys()
