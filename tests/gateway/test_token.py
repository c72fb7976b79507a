"""The token of a home."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agent_pty.gateway.token import token


def test_a_token_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    """
    The first use makes it, whatever the umask; later ones return the same.
    """
    path, before = tmp_path / "token", os.umask(0)
    try:
        made = token(str(path))
    finally:
        os.umask(before)

    assert token(str(path)) == made
    assert len(made) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """
    A secret that others may know is none; the error says what to do.
    """
    path = tmp_path / "token"
    token(str(path))
    path.chmod(0o640)

    with pytest.raises(PermissionError, match="remove it"):
        token(str(path))


def test_an_empty_file_is_no_token(tmp_path: Path) -> None:
    """
    Nobody gets in by showing nothing.
    """
    path = tmp_path / "token"
    path.touch(mode=0o600)

    with pytest.raises(ValueError, match="remove it"):
        token(str(path))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """
    A link in its place could make us show another file as the token.
    """
    (tmp_path / "other").write_text("x" * 64)
    (tmp_path / "token").symlink_to("other")

    with pytest.raises(OSError, match="symbolic links"):
        token(str(tmp_path / "token"))
