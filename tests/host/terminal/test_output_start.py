"""A host begins with a terminal's output where the one before it stopped, by the same spool."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_pty.core.layout import Layout
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.output_start import Start, start_output
from agent_pty.keeper.spool import create_spool
from agent_pty.ops.model import Spec
from agent_pty.store.ring import Ring, is_unused
from support.fake_host import make_spec

LINES = "".join(f"line {number}\r\n" for number in range(1, 40)).encode()


class Session:
    """One session through the lives of several hosts: its files, its spool and its terminal."""

    def __init__(self, home: Path) -> None:
        self.layout = Layout(home=str(home), socket=f"{home}/s", log_dir=f"{home}/runs")
        self.spec: Spec = make_spec("work", nonce="5eed")
        self.directory = Path(self.layout.session(self.spec.instance))
        self.spool = create_spool()
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)

    def begins(self, *, spool: bool = True) -> Start:
        """Begin as a new host does."""
        return start_output(self.layout, self.spec, self.spool if spool else None)

    def says(self, output: TerminalOutput, data: bytes) -> None:
        """Write to the terminal, and have the host read it."""
        os.write(self._write, data)
        while output.take(self._read).count:
            pass

    def close(self) -> None:
        """Close what the keeper would."""
        for fd in (self.spool, self._read, self._write):
            os.close(fd)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session that no host has had yet."""
    made = Session(tmp_path)
    yield made
    made.close()


def text(output: TerminalOutput) -> bytes:
    """Return the whole transcript."""
    return output.log.read(0, 1 << 20).text + output.transcript.pending


def test_the_first_host_begins_with_nothing(session: Session) -> None:
    """
    The screen is empty, and no file has what the terminal will show.
    """
    start = session.begins()

    assert (start.recovered, start.owed) == (False, b"")
    session.says(start.output, b"hello")
    assert text(start.output) == b"hello"
    assert os.listdir(session.directory) == []
    start.output.close()


def test_the_next_host_goes_on_with_the_same_bytes(session: Session) -> None:
    """
    Screen, text and counts are as the dead host had them, and more can be written.
    """
    first = session.begins().output
    session.says(first, LINES + b"$ ")
    before = (text(first), first.emulator.text(), first.written)
    first.close()

    second = session.begins()

    with closing(second.output) as output:
        assert second.recovered
        assert (text(output), output.emulator.text(), output.written) == before
        session.says(output, b"more")
        assert text(output) == before[0] + b"more"


def test_no_byte_is_lost_between_the_read_and_the_count(session: Session) -> None:
    """
    What the dead host had read from the terminal, but not counted, is there.
    """
    first = session.begins().output
    session.says(first, b"counted")
    ring = Ring(session.spool)
    ring.room()[:9] = b" and read"
    ring.close()
    first.close()

    second = session.begins().output

    assert text(second) == b"counted and read"
    second.close()


def test_the_spool_outlives_the_files(session: Session) -> None:
    """
    If somebody removes the directory of a session, its next host has the text all the same.
    """
    first = session.begins().output
    session.says(first, LINES)
    before = text(first)
    first.close()
    shutil.rmtree(session.directory)

    second = session.begins()

    assert second.recovered
    assert text(second.output) == before
    second.output.close()


def as_of_the_previous_build(session: Session) -> None:
    """Put the bytes of the spool into a file, as the previous build had them."""
    (session.directory / "raw").write_bytes(os.pread(session.spool, 1 << 21, 0))
    os.close(session.spool)
    session.spool = create_spool()


@pytest.mark.parametrize("spool", [True, False], ids=["new keeper", "previous keeper"])
def test_a_session_of_the_previous_build_goes_on_with_its_file(
    session: Session, *, spool: bool
) -> None:
    """
    Every later host uses the file too; a spool that comes along stays unused.
    """
    first = session.begins().output
    session.says(first, LINES)
    first.close()
    as_of_the_previous_build(session)

    second = session.begins(spool=spool)
    session.says(second.output, b"second")
    second.output.close()
    third = session.begins(spool=spool)

    assert second.recovered
    assert third.recovered
    assert text(third.output).endswith(b"line 39\nsecond")
    assert is_unused(session.spool)
    third.output.close()


def test_a_session_from_a_keeper_without_spools_works(session: Session) -> None:
    """
    It has one of its own, which a later keeper can be given.
    """
    start = session.begins(spool=False)
    session.says(start.output, b"hello")

    given = Ring(start.output.spool)

    assert not start.recovered
    assert given.read(0, given.written) == b"hello"
    given.close()
    start.output.close()


def test_a_spool_that_cannot_be_read_is_begun_anew(
    session: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    The log says why, the files are set aside, and the host after that finds what came since.
    """
    first = session.begins().output
    session.says(first, LINES)
    first.checkpoint()
    first.close()
    os.pwrite(session.spool, (99).to_bytes(8, "little"), 0)

    second = session.begins()
    session.says(second.output, b"since")
    second.output.close()
    third = session.begins()

    assert not second.recovered
    assert text(third.output) == b"since"
    said = capfd.readouterr().err
    assert "work starts with an empty screen and spool: the spool has version 99, not 1" in said
    assert sorted(os.listdir(f"{session.layout.aside}/i-work")) == ["checkpoint", "text.0"]
    third.output.close()


def test_a_damaged_checkpoint_leaves_no_descriptor(session: Session) -> None:
    """
    A host that begins anew has closed what it had opened before it saw that.
    """
    first = session.begins().output
    first.checkpoint()
    first.close()
    (session.directory / "checkpoint").write_bytes(b"damaged")
    before = set(os.listdir("/proc/self/fd"))

    second = session.begins()
    second.output.close()

    assert not second.recovered
    assert set(os.listdir("/proc/self/fd")) == before
