"""The file of checkpoints: a failed write and a torn end spoil nothing."""

from __future__ import annotations

import itertools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from msgspec import UNSET

from agent_pty.core.evidence.checkpoint import Checkpoint, KeyChange, checked
from agent_pty.core.evidence.event import Kill
from agent_pty.errors import BadConfig
from agent_pty.store import append_lines, checkpoints
from agent_pty.store.checkpoints import Checkpoints, Followed
from agent_pty.store.journal import Journal
from agent_pty.store.signing_key import SigningKey, is_signed, public_keys
from agent_pty.store.verification import read_signed


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

    monkeypatch.setattr(append_lines, "write_all", half)
    with pytest.raises(OSError, match="No space"):
        home.sign()
    monkeypatch.undo()
    assert home.followed.unsigned == 1
    home.sign()

    assert [one.count for one in home.found()] == [1, 3]


def test_a_key_file_is_what_other_programs_read(tmp_path: Path) -> None:
    """
    It is a usual PEM file: the library reads ours, and we read one that it wrote.
    """
    ours = SigningKey(str(tmp_path / "ours"))
    signature = ours.sign(b"data")
    loaded = load_pem_private_key((tmp_path / "ours/signing.pem").read_bytes(), password=None)
    assert isinstance(loaded, Ed25519PrivateKey)
    theirs = Ed25519PrivateKey.generate()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/signing.pem").write_bytes(
        theirs.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )

    assert loaded.sign(b"data") == signature
    assert SigningKey(str(tmp_path / "theirs")).sign(b"data") == theirs.sign(b"data")


@pytest.mark.parametrize("lost", [False, True], ids=["rotated", "lost"])
def test_a_change_of_keys_is_in_the_chain(tmp_path: Path, *, lost: bool) -> None:
    """
    The first line of another key says whether the one before has named it.
    """
    home = Home(tmp_path)
    home.sign()
    before = SigningKey(home.keys)
    old = before.id
    if lost:
        (Path(home.keys) / "signing.pem").unlink()
    else:
        before.rotate()

    home.sign()
    home.sign()

    first, changed, after = home.found()
    assert (first.key, first.key_change, first.version) == (old, UNSET, 1)
    assert changed.key_change == KeyChange(before=old, reason="lost" if lost else "rotated")
    assert (after.key, after.key_change) == (changed.key, UNSET)
    assert list(read_signed(str(home.path), public_keys(home.keys)).lost_keys) == (
        [old] if lost else []
    )


def test_a_key_that_somebody_else_named_is_not_the_successor(tmp_path: Path) -> None:
    """
    Only the old key's own signature counts.
    """
    key = SigningKey(str(tmp_path / "keys"))
    key.rotate()
    named = next((tmp_path / "keys").glob("*.named-by"))
    before = list(key.predecessors())
    name, _, signature = named.read_text().partition(" ")
    named.write_text(f"{name} {'0' * len(signature.strip())}\n")

    assert before == [name]
    assert not list(key.predecessors())


def test_two_rotations_without_a_signature_between_them_lose_no_key(tmp_path: Path) -> None:
    """
    The key that signed before has named one that has named the present one.
    """
    home = Home(tmp_path)
    home.sign()
    key = SigningKey(home.keys)
    (old, between), (_, new) = key.rotate(), key.rotate()

    home.sign()

    changed = home.found()[-1]
    assert changed.key_change == KeyChange(before=old, reason="rotated")
    assert (changed.key, list(key.predecessors())) == (new, [between, old])


def test_rotations_at_the_same_time_follow_one_another(tmp_path: Path) -> None:
    """
    Each key names one successor, so that the chain of keys leads back to the first one.
    """
    home = Home(tmp_path)
    home.sign()
    first = SigningKey(home.keys).id
    begin = threading.Barrier(8)

    def rotate(_number: int) -> tuple[str, str]:
        begin.wait(60)
        return SigningKey(home.keys).rotate()

    with ThreadPoolExecutor(8) as pool:
        steps = list(pool.map(rotate, range(8)))

    key = SigningKey(home.keys)
    chain = list(key.predecessors())
    assert len(chain) == 8
    assert chain[-1] == first
    assert set(steps) == set(itertools.pairwise(reversed([key.id, *chain])))


def test_a_damaged_key_is_named_with_a_remedy(tmp_path: Path) -> None:
    """
    Neither is it replaced, nor does its library's message stand alone.
    """
    home = Home(tmp_path)
    home.sign()
    path = Path(home.keys) / "signing.pem"
    for content in ("garbage", "", "-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n"):
        path.write_text(content)
        with pytest.raises(BadConfig, match=f"{path} is no signing key .*move it away"):
            _ = SigningKey(home.keys).id
        assert path.read_text() == content


def test_a_file_that_is_no_public_key_does_not_hide_the_others(tmp_path: Path) -> None:
    """
    What they signed can still be checked.
    """
    home = Home(tmp_path)
    home.sign()
    (Path(home.keys) / "0123456789abcdef.pub").write_text("zz")

    assert list(public_keys(home.keys)) == [SigningKey(home.keys).id]


def test_a_journal_is_followed_from_what_was_signed_of_it(tmp_path: Path) -> None:
    """
    Another daemon goes on where the one before stopped, and signs nothing twice.
    """
    home = Home(tmp_path)
    home.sign()
    chain = Checkpoints(str(home.path), SigningKey(home.keys))
    followed = Followed("one")

    followed.expect(chain.known("one"))
    followed.read_on(home.journal.path)
    before = followed.end
    home.journal.append(Kill())
    followed.read_on(home.journal.path)

    assert before is None
    assert followed.is_what_was_signed
    assert followed.end is not None
    assert followed.end[0] == 2


@pytest.mark.parametrize("damage", ["rewritten", "shorter"])
def test_what_is_not_what_was_signed_is_not_signed(tmp_path: Path, damage: str) -> None:
    """
    A signature under another record would make it good.
    """
    home = Home(tmp_path)
    home.sign()
    home.sign()
    (tmp_path / "other").mkdir()
    other = Journal(str(tmp_path / "other"), name="work", instance="one")
    for _ in range(3 if damage == "rewritten" else 1):
        other.append(Kill())
    followed = Followed("one")

    followed.expect(Checkpoints(str(home.path), SigningKey(home.keys)).known("one"))
    followed.read_on(other.path)

    assert not followed.is_what_was_signed
    assert followed.end is None
    assert followed.whole_bytes is None
