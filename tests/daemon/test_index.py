"""`sessions.json`: written a moment after a change, and again if it could not be written then."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agent_pty.daemon.index import Index
from agent_pty.daemon.record import Record
from agent_pty.ops.model import SessionInfo
from support.fake_host import (
    advance,
    begin,
    in_frozen_time,
    make_spec,
    still_waits,
    temporary_layout,
)

A_MOMENT = 2.0


async def later() -> None:
    """Let a moment pass, and let the timers run that are due."""
    advance(A_MOMENT)
    waiting = begin(asyncio.Event().wait())
    await still_waits(waiting)
    waiting.cancel()


def sessions(*names: str) -> list[SessionInfo]:
    """Return what is known of some sessions."""
    with temporary_layout() as layout:
        return [Record(make_spec(name)).info(layout, None) for name in names]


def listed(path: Path) -> list[str]:
    """Return the names in an index."""
    return [one["id"] for one in json.loads(path.read_text())]


@in_frozen_time
async def test_many_changes_cost_one_write(tmp_path: Path) -> None:
    """
    The last of them is written, a moment later.
    """
    path = tmp_path / "sessions.json"
    index = Index(str(path))

    index.save(lambda: sessions("a"))
    index.save(lambda: sessions("b", "a"))
    before = path.exists()
    await later()

    assert not before
    assert listed(path) == ["a", "b"]


@in_frozen_time
async def test_trial_03_what_could_not_be_written_is_written_later(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    An index that could not be written is true again without another change; the log says it once.
    """
    path, obstacle = tmp_path / "sessions.json", tmp_path / "sessions.json.new"
    index = Index(str(path))
    obstacle.mkdir()

    index.save(lambda: sessions("a"))
    for _ in range(3):
        await later()
    obstacle.rmdir()
    before = path.exists()
    await later()

    assert not before
    assert listed(path) == ["a"]
    assert capfd.readouterr().err.count(f"cannot write {path}") == 1
