"""Journals, a key and signed checkpoints without a daemon."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_pty.core.evidence.checkpoint import Removal
from agent_pty.core.evidence.event import Exec, Exited, Notify, Recording
from agent_pty.store.checkpoints import Checkpoints, Followed
from agent_pty.store.journal import Journal
from agent_pty.store.signing_key import SigningKey, public_keys
from agent_pty.store.verification import Signed, read_signed

REMOVED = Removal(verdict="verified", forced=False, exported_to="/copy", by={"uid": 1})


class Evidence:
    """What a home records: `runs`, `keys` and `checkpoints.jsonl` in a directory."""

    def __init__(self, directory: Path) -> None:
        self.logs = directory / "runs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.checkpoints = directory / "checkpoints.jsonl"
        self.key_directory = str(directory / "keys")

    def session(
        self,
        name: str,
        instance: str,
        *,
        events: int = 3,
        sign: bool = True,
        argv: Sequence[str] = ("cat",),
        noted: Sequence[Recording] = (),
    ) -> Path:
        """Write a journal with that many events, all of them signed; return where it is."""
        journal = Journal(str(self.logs), name=name, instance=instance)
        journal.append(Exec(argv=list(argv), cwd="/"))
        for number in range(events - 2):
            journal.append(Notify(who="test", message=str(number)))
        for one in noted:
            journal.append(one)
        journal.append(Exited(exit_code=0, signal=None))
        journal.close()
        if sign:
            self.sign(name, instance)
        return Path(journal.path)

    def record(self, instance: str) -> Path:
        """Write a segment of a recording; return where it is."""
        path = self.logs / "recordings" / instance / "recording-000001.cast"
        path.parent.mkdir(parents=True)
        path.write_text("recording")
        return path

    def sign(self, name: str, instance: str) -> None:
        """Sign all that a journal has."""
        followed = Followed(instance)
        followed.call(name)
        followed.read_on(str(self.logs / f"{name}.jsonl"))
        assert followed.end is not None
        self.chain().add(followed, *followed.end, closed=True)

    def remove(self, instance: str, *, count: int, head: str) -> None:
        """Sign that a journal is removed."""
        self.chain().add_removal(instance, "gone", count=count, head=head, removed=REMOVED)

    def chain(self) -> Checkpoints:
        """Return the file of checkpoints, to write to."""
        return Checkpoints(str(self.checkpoints), SigningKey(self.key_directory))

    @property
    def keys(self) -> dict[str, bytes]:
        """The public keys."""
        return public_keys(self.key_directory)

    def signed(self) -> Signed:
        """Read and check all checkpoints."""
        return read_signed(str(self.checkpoints), self.keys)
