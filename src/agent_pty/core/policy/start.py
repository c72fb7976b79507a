"""The start of a program: its arguments, and variables that make it run something else. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from agent_pty.core.policy.policy_file import Policy
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.verdict import ALLOWED, OPAQUE, Verdict, asking, judged, stricter

# Run by shells as they start or prompt.
_COMMANDS = frozenset({"PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4"})
# What every shell runs and every program loads, whatever it was started for.
_LOADED = frozenset({"BASH_ENV", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"})
# Files that shells and interpreters run, and libraries that are loaded into every program.
_FILES = frozenset(
    {
        "BASH_ENV",
        "ENV",
        "ZDOTDIR",
        "PYTHONSTARTUP",
        "LD_PRELOAD",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
    }
)


def judged_start(
    argv: Sequence[str],
    added: Mapping[str, str],
    policy: Policy,
    *,
    shell_in: str | None = None,
) -> Verdict:
    """Judge a program that would be started with variables that were *added* for it.

    *shell_in*: the directory of the work that the shell itself is from; None: it is not.
    """
    command = shlex.join(argv)
    verdict = judged(command, Scope(), policy)
    for name, value in added.items():
        verdict = stricter(verdict, _variable(name, value, policy))
    if shell_in is not None and policy.builtin:
        reason = f"the shell {argv[0]} is from {shell_in}, where anybody who works may change it"
        verdict = stricter(verdict, asking(OPAQUE, (0, len(command)), reason))
    return verdict


def _variable(name: str, value: str, policy: Policy) -> Verdict:
    if name in _COMMANDS:
        return judged(value, Scope(), policy)
    if name in _FILES and "/" in value and policy.builtin:
        reason = f"the variable {name} makes programs run {value}"
        return asking(OPAQUE, (0, 0), reason)
    return ALLOWED


def runs_something(name: str) -> bool:
    """Whether a variable can make a program run something else."""
    return name in _COMMANDS or name in _FILES


def is_suspicious(name: str) -> bool:
    """Whether a variable that a caller has anyway is judged: start-up files are everybody's own."""
    return name in _COMMANDS or name in _LOADED
