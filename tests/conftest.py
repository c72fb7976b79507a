"""Fixtures for tests that need the real thing."""

from __future__ import annotations

import contextlib
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from support.agent import Agent

# No test depends on how fast the machine is.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Give children the default of the signals that whoever started us ignores.

    `nohup make test &` ignores SIGINT and SIGHUP, and what is ignored is inherited. A handler of
    ours is not: pytest itself goes on ignoring them, and every program it starts does not.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Refuse parameters from a set: their order would be another one in each worker."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        if any(isinstance(one, set | frozenset) for one in (*mark.args, *mark.kwargs.values())):
            name = metafunc.definition.nodeid
            raise pytest.UsageError(f"{name}: sort the parameters, a set has no order")


@contextlib.contextmanager
def _fresh() -> Iterator[Agent]:
    # Not tmp_path: a socket's path may have 107 bytes.
    user = Agent(Path(tempfile.mkdtemp(prefix="ap-")))
    try:
        yield user
    finally:
        user.stop()
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
