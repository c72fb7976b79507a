"""The files of a proof: `proofs/<name>.proof.json`, `.md`, `.html`, and the signed statement."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass

from agent_pty.core.evidence.statement import Subject
from agent_pty.store import atomic
from agent_pty.store.home import make_private

STATEMENT = ".proof.intoto.jsonl"
# In the order in which they are written; the statement follows them.
PARTS = (".proof.json", ".proof.md", ".proof.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofFiles:
    """The paths of one proof; *stem* is that of the session's journal."""

    directory: str
    stem: str

    def path(self, ending: str) -> str:
        """Return where a part is."""
        return f"{self.directory}/{self.stem}{ending}"

    @property
    def statement(self) -> str:
        """Where the signed statement is."""
        return self.path(STATEMENT)

    def write(self, parts: Mapping[str, bytes]) -> list[Subject]:
        """Replace the parts, given by their endings; return what a statement says of them."""
        make_private(self.directory)
        for ending, data in parts.items():
            atomic.replace(self.path(ending), data)
        return [
            Subject(
                name=os.path.basename(self.path(ending)),
                digest={"sha256": hashlib.sha256(data).hexdigest()},
                annotations={"bytes": len(data)},
            )
            for ending, data in parts.items()
        ]

    def remove_statement(self) -> None:
        """Remove the statement about what was here before."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.statement)

    def write_statement(self, line: bytes) -> None:
        """Replace the signed statement."""
        atomic.replace(self.statement, line)
