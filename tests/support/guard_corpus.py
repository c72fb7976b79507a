"""The corpus of dangerous and harmless inputs, tried in guarded sessions of a throw-away tree.

Cloud tools are shims that only write down how they were called. Real are the shells, rm, and git,
whose remote is a directory that notes every push.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_pty.errors import AgentPtyError, ApprovalRequired
from support.agent import Agent

CORPUS = Path(__file__).parents[1] / "corpora" / "policy.jsonl"
_BORDER = "\x1e"
_TOOLS = (
    *("terraform", "tofu", "terragrunt", "kubectl", "oc", "vault", "bao", "gh", "curl", "docker"),
    *("ssh", "helm"),
)
_SHIM = '#!/bin/sh\necho "${0##*/} $*" >> "$SHIM_LOG"\n'
# They run what follows their own options, as the real ones do.
_RUNNER = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in -u) shift 2;; exec) shift 2;; run|-*) shift;; *) break;; esac
done
exec "$@"
"""
_DONE = {
    "rm_rf": re.compile(r"(?m)^(docker|kubectl|ssh) .*rm -rf"),
    "terraform_apply": re.compile(r"(?m)^(terraform|tofu|terragrunt) .*\bapply\b"),
    "kubectl_delete": re.compile(r"(?m)^(kubectl|oc|ssh) .*\b(delete|replace)\b"),
    "vault_write": re.compile(r"(?m)^(vault|bao) .*\bwrite\b"),
    "gh_pr_merge": re.compile(r"(?m)^(gh (.* )?(merge|m) \d|curl .*merge)"),
}


@dataclass(frozen=True)
class Row:
    """One input; *gate*: it needs an approval."""

    command: str
    family: str
    gate: bool
    technique: str

    @property
    def is_plain(self) -> bool:
        """Whether it is text that a script may have, without keys."""
        return all(c.isprintable() or c in "\n\t" for c in self.command)


def rows() -> list[Row]:
    """Return the corpus."""
    found = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    return [
        Row(one["command"], one["family"], one["should_gate"], one["technique"]) for one in found
    ]


class Tree:
    """A repository with everything that the rows of the corpus mention."""

    def __init__(self, place: Path) -> None:
        self.work, self.shims, self.log = place / "work", place / "shims", place / "log"
        self._origin = place / "origin.git"
        self.shims.mkdir()
        for tool in _TOOLS:
            self._program(self.shims / tool, _SHIM)
        for tool in ("sudo", "doas", "aws-vault", "op"):
            self._program(self.shims / tool, _RUNNER)
        self._template = place / "template"
        self._make(place)

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def _make(self, place: Path) -> None:
        self._template.mkdir()
        git = ["git", "-c", "init.defaultBranch=main", "-c", "user.name=t", "-c", "user.email=t@t"]

        def run(*words: str, where: Path = self._template) -> None:
            subprocess.run([*git, *words], cwd=where, check=True, capture_output=True)

        run("init", "-q", "--bare", str(self._origin), where=place)
        run("init", "-q")
        run("config", "user.name", "t")
        run("config", "user.email", "t@t")
        for name in ("build/deep", "build_empty", "src", "docs", "infra", "k8s", "terraform"):
            (self._template / name).mkdir(parents=True)
        for name in ("notes.txt", "old.txt", "docs/rm_rf.txt", "src/a.c", "terraform/main.tf"):
            (self._template / name).write_text("text\n")
        run("add", ".")
        run("commit", "-qm", "one")
        run("remote", "add", "origin", str(self._origin))
        run("push", "-q", "-u", "origin", "main")
        # Every push from here on has something to do, is noted, and changes nothing.
        run("commit", "-q", "--amend", "-m", "two")
        noting = f"#!/bin/sh\necho push >> {self.log}\nexit 1\n"
        self._program(self._origin / "hooks/pre-receive", noting)

    def restore(self) -> None:
        """Make the tree as it was; its directory stays, because sessions are in it."""
        self.work.mkdir(exist_ok=True)
        for one in self.work.iterdir():
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
        shutil.copytree(self._template, self.work, dirs_exist_ok=True)
        (self.work / "build/deep").mkdir(parents=True, exist_ok=True)
        (self.work / "build_empty").mkdir(exist_ok=True)
        self.log.write_text("")

    def executed(self, row: Row) -> bool:
        """Whether what a row wants was done."""
        log = self.log.read_text()
        if row.family == "git_push_force":
            return "push\n" in log
        gone = row.family == "rm_rf" and not (self.work / "build").exists()
        return gone or _DONE[row.family].search(log) is not None


class Trial:
    """Tries rows, one after the other, in guarded sessions that are replaced when they hang."""

    def __init__(self, agent: Agent, tree: Tree, *, guard: str | None = "strict") -> None:
        self._guard = guard
        self._agent = agent
        self._tree = tree
        self._number = 0
        self._name = ""

    def _session(self) -> str:
        if not self._name:
            self._number += 1
            self._name = f"c{self._number}"
            path = f"{self._tree.shims}:{self._agent.env['PATH']}"
            self._agent.ask(
                "new",
                id=self._name,
                repo=str(self._tree.work),
                argv=["/bin/bash", "--norc", "--noprofile"],
                env={"PATH": path, "SHIM_LOG": str(self._tree.log), "GH_TOKEN": "x"},
                guard=self._guard,
            )
            self._agent.ask("ready", id=self._name)
        return self._name

    def typed(self, row: Row) -> bool:
        """Type a row as an agent would; return whether it was refused at the door."""
        self._tree.restore()
        try:
            *first, last = row.command.split(_BORDER)
            for piece in first:
                self._agent.ask("send", id=self._session(), text=piece, enter=False)
            self._agent.ask("send", id=self._session(), text=last, enter=True)
        except ApprovalRequired:
            self._replace(unless=row.is_plain)  # of keys, something may stand on the line
            return True
        self._settle()
        return False

    def sourced(self, row: Row) -> None:
        """Have the session's own shell read a row from a file: no line shows it."""
        self._tree.restore()
        (self._tree.work / "row.sh").write_text(row.command + "\n")
        name = self._session()
        fields: dict[str, Any] = {"id": name, "code": ". ./row.sh", "timeout_ms": 4000}
        try:
            done = self._agent.ask("run", **fields)["status"] == "done"
        except AgentPtyError:
            done = False
        self._replace(unless=done)

    def held_any(self) -> bool:
        """Whether the guard stopped something in the last session."""
        journal = Path(self._agent.layout.log_dir) / f"c{self._number}.jsonl"
        return '"type":"guarded_exec"' in journal.read_text()

    def _settle(self) -> None:
        """Wait until the shell has done what was typed."""
        with contextlib.suppress(AgentPtyError):
            self._agent.ask("wait", id=self._name, until="prompt", timeout_ms=4000)
        # What a row defines must not reach the next one.
        self._replace()

    def _replace(self, *, unless: bool = False) -> None:
        if not unless and self._name:
            self._agent.ask("kill", id=self._name)
            self._name = ""


def table(title: str, tried: Iterable[tuple[Row, bool]]) -> str:
    """Return how many rows of each technique went wrong."""
    wrong: Counter[str] = Counter()
    total: Counter[str] = Counter()
    names: list[str] = []
    for row, bad in tried:
        total[row.technique] += 1
        wrong[row.technique] += bad
        names += [f"    {row.technique}: {row.command!r}"] if bad else []
    lines = [
        f"  {name:32} {total[name] - wrong[name]:4} of {total[name]:4}" for name in sorted(total)
    ]
    good, all_rows = total.total() - wrong.total(), total.total()
    head = f"{title}: {good} of {all_rows} ({100 * good / all_rows:.1f} %)"
    return "\n".join([head, *lines, *names])
