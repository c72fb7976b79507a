"""What builds may delete without an approval: decided by real paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_pty.host.guard.deleted_paths import is_build_output


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a workspace `w`, another one beside it, and no temporary directory."""
    monkeypatch.setattr("agent_pty.host.guard.deleted_paths._TEMPORARY", (str(tmp_path / "tmp"),))
    for name in ("w/build/deep", "w/.git", "other/data", "tmp/x", "home"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "w/out").symlink_to(tmp_path / "other")
    (tmp_path / "w/gone").symlink_to(tmp_path / "nowhere")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "-rf build",
        "-rf ./build build/deep",
        "-rf build/../build",
        "-r -f -- build",
        "-rf PLACE/w/build",
        "-rf out",
        "-rf gone",
        "-rf not-there",
        "-rf ../tmp/x",
        "-rf PLACE/tmp/x build",
    ],
)
def test_what_is_inside_may_be_deleted(place: Path, words: str) -> None:
    """
    Inside the workspace and in a temporary directory; of a link, the link itself.
    """
    argv = ["rm", *words.replace("PLACE", str(place)).split()]

    assert is_build_output(argv, str(place / "w"), str(place / "w"), str(place / "home"))


@pytest.mark.parametrize(
    "words",
    [
        "-rf .",
        "-rf ./",
        "-rf build/..",
        "-rf ..",
        "-rf ../other",
        "-rf build ../other",
        "-rf out/data",
        "-rf out/",
        "-rf out/.",
        "-rf .git",
        "-rf .git/hooks",
        "-rf PLACE/w",
        "-rf /",
        "-rf PLACE/tmp",
        "-rf PLACE/tmp/../other",
        "-rf",
    ],
)
def test_what_is_outside_may_not(place: Path, words: str) -> None:
    """
    The workspace itself, its repository, what a link leads to, and everything else.
    """
    argv = ["rm", *words.replace("PLACE", str(place)).split()]

    assert not is_build_output(argv, str(place / "w"), str(place / "w"), str(place / "home"))


@pytest.mark.parametrize("home", ["w", "w/build"])
def test_a_home_is_no_workspace(place: Path, home: str) -> None:
    """
    A session that was started at home, or above it, may not delete there unasked.
    """
    argv = ["rm", "-rf", "build"]

    assert not is_build_output(argv, str(place / "w"), str(place / "w"), str(place / home))
