"""Fixtures for tests that need the real thing."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.agent import Agent


@contextlib.contextmanager
def _fresh() -> Iterator[Agent]:
    # Not tmp_path: a socket's path may have 107 bytes.
    user = Agent(Path(tempfile.mkdtemp(prefix="ap-")))
    try:
        yield user
    finally:
        user.cli("stop")
        user.reap()


@pytest.fixture
def agent() -> Iterator[Agent]:
    """A fresh user; afterwards nothing of theirs is left."""
    with _fresh() as user:
        yield user


@pytest.fixture(scope="module")
def shared() -> Iterator[Agent]:
    """A user whom the tests of one file share: each test names its own sessions."""
    with _fresh() as user:
        yield user
