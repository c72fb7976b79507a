"""A client of a daemon that the tests of one file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_pty import Client
from support.agent import Agent


@pytest.fixture
def client(shared: Agent) -> Iterator[Client]:
    """A client; each test names its own sessions."""
    # Started by the user: then its programs have the user's environment.
    shared.connect_if_running().close()
    with Client(home=shared.home, start=False) as found:
        yield found
