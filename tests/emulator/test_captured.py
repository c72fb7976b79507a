"""Recorded output of real programs, replayed; `tests/captured/record.py` made it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_pty.emulator import Emulator

CAPTURED = Path(__file__).parents[1] / "captured"
NAMES = sorted(path.stem for path in CAPTURED.glob("*.bytes"))


def replay(name: str, *, piece: int) -> Emulator:
    """Feed a recording in pieces to an emulator of the size it was made with."""
    emulator = Emulator(rows=24, cols=80)
    data = (CAPTURED / f"{name}.bytes").read_bytes()
    for start in range(0, len(data), piece):
        emulator.feed(data[start : start + piece])
    return emulator


def test_the_recordings_are_there() -> None:
    """
    Full-screen programs, a pager, colour, a progress display and a line editor.
    """
    assert NAMES == ["bash", "git-clone", "git-log", "less", "top", "vim", "vim-left"]


@pytest.mark.parametrize("piece", [1, 7, 65536])
@pytest.mark.parametrize("name", NAMES)
def test_real_programs_look_as_they_did(name: str, piece: int) -> None:
    """
    A recording shows the screen that was checked by eye, however it is cut.
    """
    expected = (CAPTURED / f"{name}.txt").read_text("utf-8")

    emulator = replay(name, piece=piece)

    assert "\n".join(emulator.lines()).rstrip("\n") + "\n" == expected


@pytest.mark.parametrize(
    ("name", "alternate", "cursor"),
    [
        ("vim", True, (8, 20)),
        ("vim-left", False, (2, 0)),
        ("less", True, (23, 1)),
        ("bash", False, (11, 2)),
    ],
)
def test_screen_and_cursor_are_where_the_program_left_them(
    name: str, *, alternate: bool, cursor: tuple[int, int]
) -> None:
    """
    Full-screen programs are on the alternate screen and leave it when they end.
    """
    emulator = replay(name, piece=4096)

    assert emulator.alternate == alternate
    assert (emulator.cursor.row, emulator.cursor.col) == cursor


def test_the_log_keeps_its_colours() -> None:
    """
    The hash is yellow, the branch green and bold, as git writes them.
    """
    first = replay("git-log", piece=4096).styled()[0]
    styles = {run.text: run.style for run in first}

    assert styles["main"].fg == 2
    assert styles["main"].bold
    assert "".join(run.text for run in first).startswith("*   ")


def test_the_selected_match_is_shown_inverse() -> None:
    """
    What less found stands out.
    """
    found = [run.text for run in replay("less", piece=4096).styled()[0] if run.style.inverse]

    assert found == ["14"]
