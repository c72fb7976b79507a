"""Programs with a deadline and a bound: real processes."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agent_pty.process import bounded_run
from agent_pty.process.bounded_run import (
    Bounds,
    Command,
    Expired,
    Output,
    Surroundings,
    run_all,
)
from support.agent import alive, eventually

ROOT = Surroundings(cwd="/", environment={"PATH": os.defpath, "ONLY": "this"})


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    before = psutil.Process().num_fds()
    yield
    assert psutil.Process().children() == []
    assert psutil.Process().num_fds() == before


def bounds(*, kept: int = 1000, read: int = 1 << 30, seconds: float = 60.0) -> Bounds:
    """Return bounds that are not reached."""
    return Bounds(kept=kept, read=read, until=time.monotonic() + seconds)


def shell(script: str) -> Command:
    """Return a command that runs a script."""
    return Command(argv=["/bin/sh", "-c", script])


def test_programs_run_side_by_side(tmp_path: Path) -> None:
    """
    Each can wait for the other; outputs come in the order of the commands.
    """
    os.mkfifo(tmp_path / "pipe")
    writer = shell(f"echo sent > {tmp_path}/pipe; echo written")
    reader = shell(f"cat {tmp_path}/pipe")

    outputs = run_all([writer, reader], ROOT, bounds())

    assert [output.kept for output in outputs] == [b"written\n", b"sent\n"]


def test_an_output_is_whole_with_its_digest_and_the_status() -> None:
    """
    What a program wrote, to which end it came, and what it complained of are told apart.
    """
    [output] = run_all([shell("echo out; echo wrong >&2; exit 3")], ROOT, bounds())

    assert output == Output(
        kept=b"out\n",
        read=4,
        sha256=hashlib.sha256(b"out\n").hexdigest(),
        error=b"wrong\n",
        status=3,
    )


def test_a_program_gets_its_input_and_no_other_environment(tmp_path: Path) -> None:
    """
    Nothing of our own environment reaches it; its standard input is the file that was named.
    """
    (tmp_path / "input").write_text("told\n")
    told = Command(argv=["/bin/cat"], stdin=str(tmp_path / "input"))
    environment = Command(argv=["/usr/bin/env"])

    outputs = run_all([told, environment], ROOT, bounds())

    assert outputs[0].kept == b"told\n"
    assert set(outputs[1].kept.split()) == {f"PATH={os.defpath}".encode(), b"ONLY=this"}


def test_only_the_beginning_is_kept_and_the_digest_is_that_of_everything() -> None:
    """
    A complaint of any length does not block the program, either.
    """
    whole = b"line\n" * 100_000
    script = "yes line | head -n 100000; yes wrong | head -n 100000 >&2"

    [output] = run_all([shell(script)], ROOT, bounds(kept=12))

    assert (output.kept, output.read) == (b"line\nline\nli", len(whole))
    assert output.sha256 == hashlib.sha256(whole).hexdigest()
    assert output.error.startswith(b"wrong\n")
    assert len(output.error) < 10_000


def test_a_program_that_writes_without_end_is_killed() -> None:
    """
    Its digest and its status are unknown; a program beside it comes to its own end.
    """
    endless = shell("yes; echo never")

    outputs = run_all([endless, shell("echo done")], ROOT, bounds(read=1 << 20))

    assert outputs[0].read > 1 << 20
    assert (outputs[0].sha256, outputs[0].status) == (None, None)
    assert (outputs[1].kept, outputs[1].status) == (b"done\n", 0)


@pytest.mark.parametrize(
    "ending", ["wait", "exit 0", "exec >&- 2>&-; wait", "trap '' TERM HUP INT; wait"]
)
def test_after_the_deadline_no_process_is_left(tmp_path: Path, ending: str) -> None:
    """
    The whole group is killed: also what the program has started, and whatever it ignores.
    """
    said = tmp_path / "child"
    said.touch()
    script = shell(f"sleep 1000 & echo $! > {said}; {ending}")

    # On a busy machine it may not even have begun by then.
    for seconds in (0.5, 2, 8, 32):
        with pytest.raises(Expired):
            run_all([script, shell("exit 0")], ROOT, bounds(seconds=seconds))
        if said.read_text():
            break

    eventually(lambda: not alive(int(said.read_text())))


def test_a_process_that_does_not_die_at_once_is_no_zombie_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    A file system that does not answer can hold a killed process; the caller does not wait for it.
    """
    monkeypatch.setattr(bounded_run, "_GRACE", 0.0)
    monkeypatch.setattr(bounded_run, "_kill", lambda _child: None)

    with pytest.raises(Expired):
        run_all([shell("exec sleep 1000")], ROOT, bounds(seconds=0.1))

    [held] = psutil.Process().children()
    held.kill()
    eventually(lambda: psutil.Process().children() == [])


def test_a_program_that_cannot_be_started_leaves_nothing_of_the_others() -> None:
    """
    What was started before it is ended.
    """
    with pytest.raises(FileNotFoundError):
        run_all([shell("sleep 1000"), Command(argv=["/no/such/program"])], ROOT, bounds())


def test_no_program_is_no_output() -> None:
    """
    Nothing to run is done at once.
    """
    assert run_all([], ROOT, bounds()) == []
