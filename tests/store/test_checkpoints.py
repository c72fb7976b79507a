"""The file of checkpoints: a failed write and a torn end spoil nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_pty.core.evidence.checkpoint import Checkpoint, checked
from agent_pty.core.evidence.event import Kill
from agent_pty.store import checkpoints
from agent_pty.store.checkpoints import Checkpoints, Followed
from agent_pty.store.journal import Journal
from agent_pty.store.signing_key import SigningKey, is_signed, public_keys


class Home:
    """A journal, a key and the file of checkpoints."""

    def __init__(self, directory: Path) -> None:
        self.journal = Journal(str(directory), name="work", instance="one")
        self.followed = Followed("one")
        self.path = directory / "checkpoints.jsonl"
        self.keys = str(directory / "keys")
        self.chain = Checkpoints(str(self.path), SigningKey(self.keys))

    def sign(self) -> None:
        """Write an event, and sign it."""
        self.journal.append(Kill())
        self.followed.read_on(self.journal.path)
        assert self.followed.end is not None
        self.chain.add(self.followed, *self.followed.end, closed=False)

    def found(self) -> list[Checkpoint]:
        """Check the whole chain."""
        keys = public_keys(self.keys)
        lines = checkpoints.lines(str(self.path))
        return list(checked(lines, lambda *one: is_signed(keys, *one)))


def test_a_torn_end_is_cut_off(tmp_path: Path) -> None:
    """
    Half a line that a crash left does not become the beginning of the next one.
    """
    home = Home(tmp_path)
    home.sign()
    with home.path.open("ab") as file:
        file.write(b'{"origin":"half')

    home.chain = Checkpoints(str(home.path), SigningKey(home.keys))
    home.sign()

    assert [one.count for one in home.found()] == [1, 2]


def test_what_could_not_be_written_is_signed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    After a failed write the chain is as it was, and the same events are still to be signed.
    """
    home = Home(tmp_path)
    home.sign()

    def half(fd: int, data: bytes) -> None:
        os.write(fd, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "write_all", half)
    with pytest.raises(OSError, match="No space"):
        home.sign()
    monkeypatch.undo()
    assert home.followed.unsigned == 1
    home.sign()

    assert [one.count for one in home.found()] == [1, 3]
