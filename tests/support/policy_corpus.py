"""The labelled lines of the policy corpus, typed into real sessions in a tree that may be lost."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_pty.errors import Refused
from support.agent import Agent

CORPUS = Path(__file__).parents[1] / "corpora" / "policy.jsonl"
# In a row: here one send ended and the next began.
BORDER = "\x1e"
# Programs that reach out of the machine, or need another user; here they only note their arguments.
_SHIMS = (
    *("terraform", "tofu", "terragrunt", "kubectl", "oc", "vault", "bao", "gh", "helm", "docker"),
    *("podman", "ssh", "sudo", "doas", "su", "npm", "curl", "wget", "ansible-playbook", "go", "jq"),
    *("parallel", "watch", "busybox", "chroot", "runuser", "hub"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line, or several sends, and whether it must be stopped."""

    command: str
    should_gate: bool
    family: str | None = None
    technique: str = ""

    @property
    def demanded(self) -> bool:
        """Whether the line gate alone must stop it: nobody can see through the others."""
        return self.should_gate and not self.technique.startswith(("opaque:", "equivalent:"))


def rows() -> list[Row]:
    """Read the corpus."""
    found = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    return [
        Row(
            command=one["command"],
            should_gate=one["should_gate"],
            family=one.get("family"),
            technique=one.get("technique") or "",
        )
        for one in found
    ]


class Workshop:
    """A tree that may be lost, and programs that only note what they were asked for."""

    def __init__(self, directory: Path) -> None:
        self.log = directory / "asked"
        self.shims = directory / "shims"
        self.tree = directory / "tree"
        self.shims.mkdir(parents=True)
        for name in _SHIMS:
            shim = self.shims / name
            shim.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.log}\n')
            shim.chmod(0o755)
        (self.tree / "build").mkdir(parents=True)
        (self.tree / "build" / "kept").touch()
        (self.tree / "notes.txt").write_text("notes\n")
        self._git("init", "-q")
        self._git("add", ".")
        self._git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first")

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.tree, check=True, capture_output=True)

    def env(self, agent: Agent) -> dict[str, str]:
        """Return the variables of a session in the tree."""
        return {"PATH": f"{self.shims}:{agent.env['PATH']}", "HOME": str(self.tree.parent)}


def typed(agent: Agent, session: str, row: Row) -> dict[str, Any] | None:
    """Type a row, send by send, and Enter; return the details of its refusal, if it was refused."""
    for keys in row.command.split(BORDER):
        refused = _sent(agent, session, keys, enter=False)
        if refused is not None:
            return refused
    return _sent(agent, session, "", enter=True)


def _sent(agent: Agent, session: str, keys: str, *, enter: bool) -> dict[str, Any] | None:
    try:
        agent.ask("send", id=session, text=keys, enter=enter, raw=True)
    except Refused as error:
        return error.details
    return None


def table(judged: Iterable[tuple[Row, bool]]) -> str:
    """Return how many rows of each technique were stopped, for whoever reads the test's output."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row, stopped in judged:
        name = row.technique if row.should_gate else "harmless"
        counts[name][0] += stopped
        counts[name][1] += 1
    lines = [f"{name:<28} {one:>4} of {all_:>4}" for name, (one, all_) in sorted(counts.items())]
    return "\n".join(lines)
