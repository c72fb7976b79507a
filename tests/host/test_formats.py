"""What earlier builds left on disk is read, whatever has changed since."""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from agent_pty.core.layout import Layout
from agent_pty.host.cells.results import Results
from agent_pty.host.terminal import pages
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.keeper.spool import create_spool
from agent_pty.ops.model import Spec
from agent_pty.store import home, session_index
from agent_pty.store.ledger import Ledger
from agent_pty.store.ring import Ring

FORMATS = Path(__file__).parents[1] / "formats"
BUILDS = sorted(path.parent.name for path in FORMATS.glob("*/session"))


@pytest.fixture(params=BUILDS)
def left(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The files of one build, as its host left them."""
    copy = tmp_path / "left"
    shutil.copytree(FORMATS / request.param, copy)
    packed = copy / "session" / "raw.gz"
    (copy / "session" / "raw").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    return copy


@pytest.fixture
def spec(left: Path) -> Spec:
    """What the build noted about the session."""
    return msgspec.json.decode((left / "session" / "spec.json").read_bytes(), type=Spec)


@pytest.fixture(params=["file", "memory"])
def ring(left: Path, request: pytest.FixtureRequest) -> Ring:
    """The spool: in a file, or as another build's keeper hands it over after an upgrade."""
    path = left / "session" / "raw"
    if request.param == "file":
        return Ring.of_file(str(path))
    made = create_spool()
    os.write(made, path.read_bytes())
    path.unlink()
    found = Ring(made)
    os.close(made)
    return found


@pytest.fixture
def output(left: Path, spec: Spec, ring: Ring) -> Iterator[TerminalOutput]:
    """The terminal's output, recovered from spool and checkpoint."""
    recovered, _ = TerminalOutput.recover(
        str(left / "session"),
        ring,
        rows=spec.rows,
        cols=spec.cols,
        keep=1 << 30,
        nonce=spec.nonce,
    )
    with closing(recovered):
        yield recovered


def test_screen_and_transcript_are_rebuilt(output: TerminalOutput, left: Path) -> None:
    """
    The text is what the build itself read, and the screen has its last size and lines.
    """
    text = pages.page(output, since=None, limit=1 << 20).text

    assert text == (left / "expected.txt").read_text()
    assert (output.emulator.rows, output.emulator.cols) == (12, 40)
    assert "after the checkpoint" in output.emulator.text()
    assert output.last_mark is not None
    assert output.event_number >= 0


def test_cells_that_ended_and_the_one_that_runs_are_known(output: TerminalOutput) -> None:
    """
    A result that nobody collected can be, and the running cell can be seen to end.
    """
    results = Results(output.directory, output)

    newest, running = results.newest(), results.take_running()

    assert newest is not None
    assert newest.result is not None
    assert newest.result.output.read(output.log, 0, 1000).text == "collected-later"
    assert running is not None
    assert running.start is not None
    assert running.start.lines == ["sleep 1000"]


def test_keys_are_remembered(left: Path) -> None:
    """
    A request that was answered is not carried out a second time.
    """
    ledger = Ledger(str(left / "session" / "keys.jsonl"))
    line = ledger._lines["greeting"]

    assert asyncio.run(ledger._kept(line)).startswith(b'{"ok":true')


def test_the_index_is_read(left: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """
    It is not taken for a damaged one.
    """
    path = left / "sessions.json"

    (one,) = session_index.read(str(path))

    assert path.exists()
    assert capfd.readouterr().err == ""
    assert one.id == "work"


def test_the_home_is_accepted(left: Path, tmp_path: Path) -> None:
    """
    The version of its layout is one that we know.
    """
    where = tmp_path / "home"
    where.mkdir(mode=0o700)
    shutil.copy(left / "format", where / "format")

    home.prepare(Layout(home=str(where), socket=f"{where}/s", log_dir=f"{where}/runs"))
