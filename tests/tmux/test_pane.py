"""Which pane a target means."""

from __future__ import annotations

import pytest

from agent_pty.errors import TmuxFailed
from agent_pty.tmux.pane import Pane, parsed


def pane(*, window_active: bool = True, active: bool = True) -> Pane:
    """Return pane 2 in window 1 of the session `web`."""
    return Pane(
        id="%7",
        pid=1,
        tty="/dev/pts/1",
        dead=False,
        status=None,
        signal=None,
        rows=24,
        cols=80,
        piped=False,
        server=1,
        session="web",
        instance=None,
        window=1,
        index=2,
        window_active=window_active,
        active=active,
        command="sh",
        directory="/",
    )


@pytest.mark.parametrize("target", ["web", "web:1", "web:1.2", "%7"])
def test_an_exact_target_means_the_pane(target: str) -> None:
    """
    By its id, by its place, or as the active one of a window or session.
    """
    assert pane().is_meant_by(target)


@pytest.mark.parametrize("target", ["we", "web2", "web:", "web:1.", "web:1.1", "%70", "", ":"])
def test_anything_else_does_not(target: str) -> None:
    """
    The beginning of a name is no name.
    """
    assert not pane().is_meant_by(target)


def test_only_the_active_pane_is_meant_by_its_session() -> None:
    """
    Of several panes one is meant.
    """
    assert not pane(active=False).is_meant_by("web")
    assert not pane(window_active=False).is_meant_by("web")
    assert pane(window_active=False).is_meant_by("web:1")
    assert pane(active=False).is_meant_by("web:1.2")


@pytest.mark.parametrize("listed", ["%1|2|/dev/pts/1|", "%1_2_/dev/pts/1\n", "|" * 18 + "%2|"])
def test_what_is_no_list_of_panes_is_an_error(listed: str) -> None:
    """
    It does not mean that there is no pane: the sessions in them would count as lost.
    """
    with pytest.raises(TmuxFailed, match="list-panes failed"):
        parsed(listed, "|")


def test_a_list_without_panes_is_empty() -> None:
    """
    A server without sessions prints nothing.
    """
    assert parsed("", "|") == []
