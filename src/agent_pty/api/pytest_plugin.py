"""A pytest plugin for people who test terminal programs: the fixture `agent_pty`.

Nothing is loaded or started in a test run that does not use it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agent_pty.api.reaping_client import ReapingClient


@pytest.fixture(scope="session")
def agent_pty_home() -> Iterator[str | None]:
    """The home of a daemon for these tests alone, which is stopped after them.

    Override it to use another daemon; None is the user's own.
    """
    # Not tmp_path: the path of a socket may have 103 bytes.
    home = tempfile.mkdtemp(prefix="ap-")
    try:
        yield home
        _stop(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def agent_pty(agent_pty_home: str | None) -> Iterator[ReapingClient]:
    """A client whose sessions are killed after the test: `agent_pty.new("vim")`."""
    from agent_pty.api.reaping_client import ReapingClient  # noqa: PLC0415  only if it is used

    with ReapingClient(home=agent_pty_home) as client:
        yield client
        survivors = client.reap()
    if survivors:
        named = ", ".join(f"{one.pid} {one.command}" for one in survivors)
        pytest.fail(f"processes that could not be ended: {named}")


def _stop(home: str) -> None:
    from agent_pty.api.client import Client  # noqa: PLC0415  only if it is used
    from agent_pty.errors import DaemonUnreachable  # noqa: PLC0415

    with Client(home=home) as client:
        try:
            client.shutdown()
        except DaemonUnreachable:
            return  # it was never needed, or has ended
