"""Fixtures for tests that need the real thing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from user import Agent


@pytest.fixture
def agent() -> Iterator[Agent]:
    """A fresh user; afterwards nothing of theirs is left."""
    # Not tmp_path: a socket's path may have 107 bytes.
    user = Agent(Path(tempfile.mkdtemp(prefix="ap-")))
    try:
        yield user
    finally:
        user.cli("stop")
        user.reap()
