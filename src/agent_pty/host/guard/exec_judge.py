"""What is to be done with an exec: looked at where it happens, and judged by the policy's rules.

Rule of this file: nothing is answered here. What cannot be seen or judged needs an approval.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent_pty import log
from agent_pty.core.guard_mode import GuardMode
from agent_pty.core.policy.carried_out import base
from agent_pty.core.policy.exec_verdict import judged_exec, runs_others, unknown
from agent_pty.core.policy.family import RM
from agent_pty.core.policy.policy_file import Policy
from agent_pty.core.policy.verdict import ALLOWED, Verdict
from agent_pty.host.guard.deleted_paths import is_build_output
from agent_pty.keeper.message import ExecAsked
from agent_pty.process import exec_look, table
from agent_pty.process.exec_look import Ancestor


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An exec with its *verdict*. *tolerated*: a rule is about it, but builds may do it.

    *file* is what will be executed; None: there is none, or it cannot be seen. *row* is the process
    *pid* and its ancestors below the session's program; it and the directory are not looked up for
    what is allowed.
    """

    verdict: Verdict
    pid: int
    file: str | None = None
    row: Sequence[Ancestor] = ()
    cwd: str | None = None
    tolerated: bool = False


class ExecJudge:
    """Judges the execs of one session, whose own program is *root*; *policy* returns the rules."""

    def __init__(
        self, mode: GuardMode, policy: Callable[[], Policy], *, root: int, workspace: str
    ) -> None:
        self._mode = mode
        self._policy = policy
        self._root = root
        self._workspace = workspace

    def judge(self, asked: ExecAsked) -> Judged:
        """Judge an exec, whatever happens."""
        file, typed = None, True
        try:
            file, missing = _file(asked)
            names = _names(asked, file)
            verdict = self._verdict(asked, names, typed=False)
            if verdict.action != "allow" or runs_others(names, asked.argv):
                # What has executed a program is no longer the session's own shell.
                typed = not any(one.executed for one in self._row(asked))
                verdict = self._verdict(asked, names, typed=True) if typed else verdict
            if verdict.action != "allow" and missing and exec_look.sees_our_files(asked.pid):
                # A search through PATH tries one directory after another: the kernel says so.
                verdict = ALLOWED
        except Exception as error:  # noqa: BLE001  a mistake of ours must not let anything through
            log.error(error)
            verdict = unknown(f"it could not be judged: {type(error).__name__}")
        if verdict.action == "allow":
            return Judged(verdict=verdict, pid=asked.pid, file=file)
        row, cwd = list(self._row(asked)), table.directory(asked.pid)
        return Judged(
            verdict=verdict,
            pid=row[0].pid if row else asked.pid,
            file=file,
            row=row,
            cwd=cwd,
            tolerated=not typed and self._is_build_step(verdict, asked, cwd),
        )

    def _row(self, asked: ExecAsked) -> Iterator[Ancestor]:
        return exec_look.ancestry(asked.pid, self._root)

    def _verdict(self, asked: ExecAsked, names: Sequence[str], *, typed: bool) -> Verdict:
        if asked.path is None or asked.problem is not None:
            return unknown(asked.problem or "its path is not known")
        return judged_exec(names, asked.argv, typed=typed, policy=self._policy())

    def _is_build_step(self, verdict: Verdict, asked: ExecAsked, cwd: str | None) -> bool:
        """Whether it is an rm that needs no approval in a build."""
        if self._mode != "builds" or verdict.action != "require_approval" or verdict.rule != RM:
            return False
        is_rm = os.path.basename(asked.path or "") in ("rm", "grm")
        if not is_rm or cwd is None or not os.path.isdir(cwd):
            return False
        if not exec_look.sees_our_files(asked.pid):
            return False
        return is_build_output(asked.argv, cwd, self._workspace, os.path.expanduser("~"))


def _names(asked: ExecAsked, file: str | None) -> list[str]:
    """Return every name of the program, each once: the one it is given, and those of its file."""
    names = [*asked.argv[:1], base(asked.path or ""), base(file or "")]
    return [one for one in dict.fromkeys(names) if one]


def _file(asked: ExecAsked) -> tuple[str | None, bool]:
    """Return the file that is meant, and whether there certainly is none."""
    if asked.path is None:
        return None, False
    try:
        return exec_look.file_of(asked.pid, asked.path, asked.directory), False
    except FileNotFoundError:
        return None, True
