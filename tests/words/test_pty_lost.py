"""What is left of a session whose terminal is gone: its text, by the files alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_pty.core.layout import Layout
from agent_pty.words.tools.pty_lost import lost_session
from support.spool import new_ring

INSTANCE = "0123456789abcdef"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A home in which one session has a directory."""
    where = Layout(home=str(tmp_path), socket=f"{tmp_path}/s", log_dir=f"{tmp_path}/runs")
    os.makedirs(where.session(INSTANCE))
    return where


def info(**facts: Any) -> dict[str, Any]:
    """Return what the daemon says of a lost session."""
    known = {"id": "work", "argv": ["sh"], "cols": 80, "cursor": None, "diagnosis": "all died"}
    return {**known, "instance": INSTANCE, **facts}


def test_the_text_is_what_the_files_have(layout: Layout) -> None:
    """
    It begins at the cursor of the oldest segment that is kept.
    """
    directory = Path(layout.session(INSTANCE))
    (directory / "text.700").write_bytes(b"so far\n")

    stone = lost_session(layout, info(cursor=709))

    assert (stone.text, stone.gap_end, stone.cursor) == ("so far\n", 700, 707)
    assert stone.lost == "all died"


@pytest.mark.parametrize("missing", ["files", "directory"])
def test_without_files_only_the_size_is_known(layout: Layout, missing: str) -> None:
    """
    The text is empty and ends where the daemon last knew it to end.
    """
    if missing == "directory":
        os.rmdir(layout.session(INSTANCE))

    stone = lost_session(layout, info(cursor=42))

    assert (stone.text, stone.gap_end, stone.cursor) == ("", 42, 42)


def test_a_session_of_the_previous_build_is_read_from_its_file(layout: Layout) -> None:
    """
    That build had every byte in a file, the unfinished line too.
    """
    ring = new_ring()
    data = b"so \x1b[31mfar\x1b[m\r\nand on"
    ring.room()[: len(data)] = data
    ring.commit(len(data))
    Path(layout.session(INSTANCE), "raw").write_bytes(os.pread(ring.fd, 1 << 21, 0))
    ring.close()

    stone = lost_session(layout, info())

    assert (stone.text, stone.gap_end, stone.cursor) == ("so far\nand on", 0, 13)
