"""Importing the API is cheap, and finds what it promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agent_pty

HEAVY = ("argparse", "asyncio", "dataclasses", "inspect", "json", "msgspec", "socket", "subprocess")


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a fresh Python has loaded after a statement."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{statement}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_the_package_loads_nothing() -> None:
    """
    The keeper and the command line import it, too.
    """
    ours = {name for name in loaded_by("import agent_pty") if name.startswith("agent_pty")}

    assert ours == {"agent_pty"}


def test_the_clients_load_nothing_heavy() -> None:
    """
    Request and result types, sockets and event loops come with the first request.
    """
    loaded = loaded_by("from agent_pty import AsyncClient, Client")

    assert sorted(loaded.intersection(HEAVY)) == []
    assert "agent_pty.ops" not in loaded


@pytest.mark.parametrize("name", agent_pty.__all__)
def test_what_is_promised_is_there(name: str) -> None:
    """
    Each name in `__all__` can be imported.
    """
    assert getattr(agent_pty, name) is not None


def test_what_is_not_promised_is_an_attribute_error() -> None:
    """
    As in any other module.
    """
    with pytest.raises(AttributeError, match="no attribute 'Clinet'"):
        agent_pty.Clinet  # noqa: B018  # type: ignore[attr-defined]
