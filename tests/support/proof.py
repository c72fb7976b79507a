"""Proofs of journals that a test writes itself, without a daemon."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agent_pty.core.evidence.claim import parsed_claim
from agent_pty.core.evidence.event import (
    CellFinished,
    CellStarted,
    Exec,
    GateStands,
    Recording,
    SendKeys,
    SnapshotFiles,
)
from agent_pty.core.evidence.git_snapshot import GitSnapshot
from agent_pty.core.layout import Layout
from agent_pty.core.policy.policy_file import BUILT_IN, Policy
from agent_pty.daemon.proof_work import ProofWork, Subject
from agent_pty.ops.proof_model import Bundle
from agent_pty.store import recording
from agent_pty.store.journal import Journal, Payload
from support.evidence import Evidence

INSTANCE = "00112233aabbccdd"
BY_AGENT = {"kind": "agent", "transport": "unix", "uid": 7, "pid": 1}
BY_HUMAN = {"kind": "human", "transport": "unix", "uid": 7, "pid": 2}


class ProvedSession:
    """A journal in a directory, and proofs of it."""

    def __init__(self, directory: Path, *, start: bool = True) -> None:
        self.evidence = Evidence(directory)
        self.layout = Layout(
            home=str(directory), socket=f"{directory}/s", log_dir=str(self.evidence.logs)
        )
        self.journal = Journal(str(self.evidence.logs), name="work", instance=INSTANCE)
        # In force when a proof is made.
        self.policy = BUILT_IN
        self._cells = 0
        if start:
            self.note(Exec(argv=["bash"], cwd="/src"))

    @property
    def path(self) -> Path:
        """The journal."""
        return self.evidence.logs / "work.jsonl"

    @property
    def proofs(self) -> Path:
        """Where proofs are written."""
        return self.evidence.logs / "proofs"

    def note(self, action: Payload, by: dict[str, Any] | None = None, **facts: Any) -> int:
        """Record an event."""
        return self.journal.append(action, by, **facts)

    def typed(self, text: str, by: dict[str, Any] = BY_AGENT) -> int:
        """Record a line that was typed."""
        keys = SendKeys(bytes=list(f"{text}\r".encode()), input="text", entered=True)
        return self.note(keys, by)

    def ran(
        self, code: str, exit_code: int | None = 0, *, output: str = "", status: str = "done"
    ) -> tuple[int, int]:
        """Record a cell; return the events of its beginning and its end."""
        self._cells += 1
        cell = f"cell{self._cells}"
        begun = self.note(CellStarted(cell_id=cell, code=code))
        pasted = f"\x1b[200~{code}\x1b[201~\r"
        self.note(SendKeys(bytes=list(pasted.encode()), input="cell", entered=True), BY_AGENT)
        ended = self.note(
            CellFinished(
                cell_id=cell,
                status=status,
                exit_code=exit_code,
                duration_ms=12,
                output=output,
                output_bytes=len(output),
            )
        )
        return begun, ended

    def tree(self, status: str = "", diff: str = "", head: str = "c0ffee", **more: Any) -> int:
        """Record a snapshot of the work tree."""
        snapshot = GitSnapshot(
            workspace="/src",
            head=head[:7],
            clean=not status,
            status_short=status,
            diff=diff,
            staged_diff="",
            head_commit=head,
            branch="main",
            taken_at="2026-11-17T10:00:00Z",
            left_out=more.get("left_out", {}),
            unfiltered=[],
            warnings=[],
        )
        return self.note(
            SnapshotFiles(globs=[], changed=0), git_snapshot=msgspec.to_builtins(snapshot)
        )

    def guarded(self, guard: str | None = "strict", policy: Policy = BUILT_IN) -> int:
        """Record which fences stand."""
        digest = policy.digest
        gate = GateStands(line="asked", guard=guard, policy_hash=digest)  # type: ignore[arg-type]
        return self.note(gate)

    def recorded(self, text: bytes) -> Path:
        """Write a segment of the recording that is finished and compressed; return its file."""
        kept = recording.directory_of(str(self.evidence.logs), INSTANCE)
        segment = recording.SegmentFile.create(kept, 1, text)
        self.note(Recording(segment=1, bytes=segment.size, sha256=segment.sha256, sealed=True))
        recording.compress(segment.path)
        return Path(f"{segment.path}.gz")

    def prove(self, *claims: str, sign: bool = True, screen: str | None = None) -> Bundle:
        """Write a proof of what is recorded so far."""
        if sign:
            self.evidence.sign("work", INSTANCE)
        subject = Subject(name="work", instance=INSTANCE, journal=str(self.path))
        parsed = [parsed_claim(one) for one in claims]
        work = ProofWork(self.layout, subject, parsed, self.policy)
        work.read(None)
        return work.write(screen).bundle

    def answers(self, *claims: str) -> list[str]:
        """Return the answers to claims."""
        return [one.result for one in self.prove(*claims).claims]

    def text(self, ending: str) -> str:
        """Return the content of a part of the proof."""
        return (self.proofs / f"work.proof.{ending}").read_text()


def flags(found: Bundle, begin: str) -> Sequence[str]:
    """Return the risk flags that begin so."""
    return [one for one in found.risk_flags if one.startswith(begin)]
