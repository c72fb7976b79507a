"""The tools and a client of a daemon that the tests of one file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_pty import Client
from agent_pty.tools import ToolBox
from support.agent import Agent


@pytest.fixture
def client(shared: Agent) -> Iterator[Client]:
    """A client; each test names its own sessions."""
    # Started by the user: then its programs have the user's environment.
    shared.connect_if_running().close()
    with Client(home=shared.home, start=False) as found:
        yield found


@pytest.fixture
def box(client: Client) -> ToolBox:
    """The six tools of one model."""
    return ToolBox(client)
