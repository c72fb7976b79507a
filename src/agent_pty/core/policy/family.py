"""The built-in rules: families of commands that need an approval, by what they do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agent_pty.core.policy.field import HOLE
from agent_pty.core.policy.followed import SubCommand
from agent_pty.core.policy.git_setting import (
    LONG_WITH_VALUE,
    SHORT_WITH_VALUE,
    forces_pushes,
    settings_before,
)
from agent_pty.core.policy.option import (
    abbreviates,
    is_dry_run,
    letters_of,
    long_options,
    operands_of,
    verb_places,
)
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.wrapper import program_names

RM = "rm -rf"
PUSH = "git push --force"
TERRAFORM = "terraform apply"
KUBECTL = "kubectl delete"
VAULT = "vault write"
MERGE = "gh pr merge"
LABELS = (RM, PUSH, TERRAFORM, KUBECTL, VAULT, MERGE)

_HELP = frozenset({"-h", "-help", "--help"})
# Judges the words after a program's name.
_Judge = Callable[[list[str], Scope], str | None]


def families(command: SubCommand, scope: Scope) -> Iterator[str]:
    """Yield the labels of the families that a command belongs to."""
    names = program_names(command.fields[0])
    if any(HOLE in name for name in names):  # it may be any of them
        names = [] if command.guess else list(_PROGRAMS)
    for judge in filter(None, map(_PROGRAMS.get, names)):
        label = judge(command.argv[1:], scope)
        if label is not None:
            yield label


def _asks_for_help(words: list[str]) -> bool:
    """Whether a tool only explains itself: by its first word, or by an option before `--`."""
    options = words[: words.index("--")] if "--" in words else words
    return words[:1] == ["help"] or bool(_HELP & set(options))


# -- recursive and forced deletion

_NAME_TEST = re.compile(r"-i?(?:name|path|regex|wholename)")
_ANY_NAME = re.compile(r"[*?./]*")
_NOT = ("!", "-not")


def _rm(words: list[str], _scope: Scope) -> str | None:
    if "--help" in words[: words.index("--") if "--" in words else None]:
        return None
    letters, long = letters_of(words), long_options(words)
    recursive = bool(letters & {"r", "R"}) or abbreviates(long, "--recursive")
    never = any(one.startswith("--interactive=n") for one in words)
    forced = "f" in letters or abbreviates(long, "--force") or never
    return RM if recursive and forced else None


def _find(words: list[str], _scope: Scope) -> str | None:
    """`find DIR -delete` is `rm -rf`, unless names say which files are meant."""
    tests: list[str] = []
    for word in words:
        if word == "-delete" and not _names_files(tests):
            return RM
        tests = [] if word in ("-delete", ",") else [*tests, word]
    return None


def _names_files(tests: list[str]) -> bool:
    """Whether tests before a deletion name files, and not only those to be kept."""
    named = kept = False
    for before, test, value in zip(["", *tests], tests, [*tests[1:], ""], strict=False):
        kept |= before in _NOT and (test == "(" or _NAME_TEST.fullmatch(test) is not None)
        if _NAME_TEST.fullmatch(test) and before not in _NOT:
            named |= _ANY_NAME.fullmatch(value) is None
    either = kept and bool({"-o", "-or", "("} & set(tests))
    return named and not either and "d" not in tests


def _git_clean(words: list[str]) -> str | None:
    letters, long = letters_of(words, short_with_value="e"), long_options(words)
    if is_dry_run(words, short_with_value="e"):
        return None
    forced = "f" in letters or abbreviates(long, "--force")
    return RM if forced and letters & {"d", "x", "X"} else None


# -- pushes

_PUSH_VALUES = frozenset({"--repo", "--receive-pack", "--exec", "--push-option"})


def _git(words: list[str], scope: Scope) -> str | None:
    for at in verb_places(words, short=SHORT_WITH_VALUE, long=LONG_WITH_VALUE):
        settings = settings_before(words[:at])
        forced = scope.push_is_forced or any(forces_pushes(*one) for one in settings)
        label = _git_verb(words[at], words[at + 1 :], forced=forced)
        if label is not None:
            return label
    return None


def _git_verb(verb: str, rest: list[str], *, forced: bool) -> str | None:
    if verb == "clean":
        return _git_clean(rest)
    pushes = verb in ("push", "send-pack") or HOLE in verb
    return PUSH if pushes and ((forced and verb == "push") or _is_forced(rest)) else None


def _is_forced(words: list[str]) -> bool:
    long = long_options(words)
    letters = letters_of(words, short_with_value="o")
    if is_dry_run(words, short_with_value="o"):
        return False
    given = operands_of(words, short="o", long=_PUSH_VALUES)
    return bool(
        "f" in letters
        or any(one.startswith("--force") or one in ("--forc", "--for", "--fo") for one in long)
        or abbreviates(long, "--mirror")
        or any(one.startswith("+") for one in given[1:] or given)
    )


def _git_push(words: list[str], scope: Scope) -> str | None:
    return _git(["push", *words], scope)


# -- tools whose verb says what they do


def _terraform(words: list[str], _scope: Scope) -> str | None:
    if _asks_for_help(words):
        return None
    return (
        TERRAFORM if any(_applies(words, at) for at in verb_places(words, one_dash=True)) else None
    )


def _applies(words: list[str], at: int) -> bool:
    verb, rest = words[at], words[at + 1 :]
    if verb in ("run-all", "run", "stack") and rest:
        return any(_applies(rest, inner) for inner in verb_places(rest, one_dash=True))
    if verb in ("apply", "apply-all") or HOLE in verb:
        return True
    approved = any(one.lstrip("-").startswith("auto-approve") for one in words)
    return approved and verb in ("destroy", "destroy-all")


_KUBECTL_LONG = frozenset(
    {"--namespace", "--context", "--cluster", "--kubeconfig", "--user", "--as", "--as-group"}
    | {"--server", "--token", "--cache-dir", "--certificate-authority", "--client-key", "--v"}
    | {"--client-certificate", "--request-timeout", "--tls-server-name", "--profile"}
)


def _kubectl(words: list[str], _scope: Scope) -> str | None:
    dry = [one.partition("=")[2] for one in words if one.startswith("--dry-run=")]
    if _asks_for_help(words) or dry[-1:] in (["client"], ["server"]):
        return None
    forced = any(one == "--force" or one.startswith("--force=t") for one in words)
    for at in verb_places(words, short="nsvl", long=_KUBECTL_LONG):
        if words[at] == "delete" or HOLE in words[at] or (words[at] == "replace" and forced):
            return KUBECTL
    return None


_VAULT_VERBS = (
    *(("write",), ("delete",), ("kv", "put"), ("kv", "patch"), ("kv", "delete"), ("kv", "destroy")),
    *(("kv", "metadata", "delete"), ("kv", "metadata", "put"), ("kv", "rollback")),
    *(("policy", "write"), ("policy", "delete"), ("kv", "undelete")),
)


def _vault(words: list[str], _scope: Scope) -> str | None:
    if _asks_for_help(words):
        return None
    for at in verb_places(words, one_dash=True):
        verbs = operands_of(words[at:])
        if any(tuple(verbs[: len(one)]) == one for one in _VAULT_VERBS) or HOLE in words[at]:
            return VAULT
    return None


_GH_VALUES = frozenset({"--repo", "--hostname"})
_MERGE_PATH = re.compile(r"(?:^|/)repos/[^/]+/[^/]+/pulls/[^/]+/merge\b")


def _gh(words: list[str], _scope: Scope) -> str | None:
    if _asks_for_help(words):
        return None
    for at in verb_places(words, short="R", long=_GH_VALUES):
        verbs = operands_of(words[at:], short="R", long=_GH_VALUES)
        if verbs[:1] == ["pr"] and len(verbs) > 1 and (verbs[1] == "merge" or HOLE in verbs[1]):
            return MERGE
        if verbs[:1] == ["api"] and _is_merge_request(words):
            return MERGE
    return None


def _request(words: list[str], _scope: Scope) -> str | None:
    return MERGE if _is_merge_request(words) else None


def _is_merge_request(words: list[str]) -> bool:
    """Whether a request merges a pull request: by its path, or by a GraphQL mutation."""
    joined = " ".join(words)
    if "mergePullRequest" in joined:
        return True
    method = re.search(r"(?:^| )(?:-X|--request|--method)[ =]?(\w+)", joined)
    puts = (method is not None and method[1].upper() == "PUT") or "PUT" in words
    return puts and any(_MERGE_PATH.search(one) for one in words)


_PROGRAMS: dict[str, _Judge] = {
    "rm": _rm,
    "grm": _rm,
    "find": _find,
    "gfind": _find,
    "git": _git,
    "hub": _git,
    "git-push": _git_push,
    "git-send-pack": _git_push,
    **dict.fromkeys(("terraform", "tofu", "terragrunt", "opentofu"), _terraform),
    **dict.fromkeys(("kubectl", "oc", "kubecolor", "k3s"), _kubectl),
    **dict.fromkeys(("vault", "bao"), _vault),
    "gh": _gh,
    **dict.fromkeys(("curl", "wget", "http", "https", "xh", "curlie"), _request),
}

# -- declared intent

_INTENTS = (
    (TERRAFORM, re.compile(r"\bterraform\s+apply\b", re.IGNORECASE)),
    (KUBECTL, re.compile(r"\bkubectl\s+delete\b", re.IGNORECASE)),
    (VAULT, re.compile(r"\bvault\s+write\b", re.IGNORECASE)),
    (MERGE, re.compile(r"\bgh\s+pr\s+merge\b", re.IGNORECASE)),
    (PUSH, re.compile(r"\bgit\s+push\b.*\s--force", re.IGNORECASE)),
)


def declared(comment: str) -> str | None:
    """Return the family that a comment names, as the seed's own example does; never `rm`."""
    return next((label for label, pattern in _INTENTS if pattern.search(comment)), None)
