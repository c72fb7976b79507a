"""A user of guarded sessions: a workspace of their own, what is held, and who decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.agent import Agent, eventually


class GuardedAgent:
    """Starts guarded shells in a throw-away *workspace* and decides on what is held in them."""

    def __init__(self, agent: Agent, workspace: Path) -> None:
        self.agent = agent
        self.workspace = workspace

    def new(self, name: str, mode: str = "strict", **fields: Any) -> dict[str, Any]:
        """Start a guarded shell and wait for its prompt."""
        shell = ["/bin/bash", "--norc", "--noprofile"]
        asked = {"id": name, "repo": str(self.workspace), "argv": shell, "guard": mode}
        made: dict[str, Any] = self.agent.ask("new", **{**asked, **fields})
        self.agent.ask("ready", id=name)
        return made

    def script(self, name: str, text: str) -> str:
        """Write a file into the workspace; return a line that no rule is about and that runs it."""
        (self.workspace / name).write_text(text)
        return f"sh ./{name}"

    def run(self, name: str, code: str) -> dict[str, Any]:
        """Run a cell until it ends or waits."""
        report: dict[str, Any] = self.agent.ask("run", id=name, code=code, timeout_ms=30_000)
        return report

    def held(self, count: int = 1) -> list[dict[str, Any]]:
        """Return what waits for an operator, once it is so many."""
        eventually(lambda: len(self.agent.ask("approvals")) == count)
        found: list[dict[str, Any]] = self.agent.ask("approvals")
        return found

    def approve(self, request: str) -> None:
        """Say yes, as an operator."""
        done = self.agent.cli("approve", "--request", request)
        assert done.returncode == 0, done.stderr

    def deny(self, request: str) -> None:
        """Say no, as an operator."""
        done = self.agent.cli("deny", "--request", request)
        assert done.returncode == 0, done.stderr

    def finished(self, name: str) -> dict[str, Any]:
        """Return the last cell once it has ended."""
        self.agent.ask("wait", id=name, until="prompt", timeout_ms=60_000)
        report: dict[str, Any] = self.agent.ask("peek", id=name)
        return report
