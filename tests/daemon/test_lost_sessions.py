"""Sessions of which only files are left."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
import pytest

from agent_pty.core.layout import Layout
from agent_pty.daemon.lost_sessions import Loss, loss_of, note_loss, now, unclaimed
from agent_pty.ops.model import Spec
from support.fake_host import make_spec, temporary_layout


@pytest.fixture
def layout() -> Iterator[Layout]:
    """A home of its own."""
    with temporary_layout() as found:
        yield found


def save(layout: Layout, name: str, **changes: str) -> Spec:
    """Write the files of a session, as its host does."""
    spec = make_spec(name, **changes)
    os.mkdir(layout.session(spec.instance))
    with open(layout.spec(spec.instance), "wb") as file:
        file.write(msgspec.json.encode(spec))
    return spec


def test_trial_14_sessions_that_nobody_claims_are_found(layout: Layout) -> None:
    """
    What the keeper or a host has is left out.
    """
    save(layout, "known")
    lost = save(layout, "lost")

    assert list(unclaimed(layout, {"i-known"})) == [lost]


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"instance": 1}'])
def test_trial_14_files_that_say_nothing_are_passed_over(
    layout: Layout, capfd: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    """
    A session without a readable specification is named in the log, and the others are found.
    """
    os.mkdir(layout.session("damaged"))
    if content is not None:
        with open(layout.spec("damaged"), "wb") as file:
            file.write(content)
    lost = save(layout, "lost")

    assert list(unclaimed(layout, ())) == [lost]
    assert "nothing is known of session damaged" in capfd.readouterr().err


def test_trial_14_a_loss_that_was_noted_is_reported_again(layout: Layout) -> None:
    """
    Time and reason are those of the daemon that noticed it.
    """
    spec = save(layout, "lost")
    loss = Loss(at="2026-01-02T03:04:05.678Z", why="a reason")

    note_loss(layout, spec.instance, loss)

    assert loss_of(layout, spec) == loss


def test_trial_14_a_loss_without_files_cannot_be_noted(layout: Layout) -> None:
    """
    That is no error: nothing of the session is left.
    """
    note_loss(layout, "i-gone", Loss(at=now(), why="a reason"))

    assert not os.path.exists(layout.session("i-gone"))


@pytest.mark.parametrize(
    ("started", "restarted"),
    [("1999-01-01T00:00:00.000000Z", True), pytest.param(now(), False, id="now")],
)
def test_trial_14_a_session_older_than_the_machine_was_lost_by_its_restart(
    layout: Layout, started: str, *, restarted: bool
) -> None:
    """
    The restart of the machine is called probable, because clocks can be set.
    """
    spec = save(layout, "lost", started_at=started)

    why = loss_of(layout, spec).why

    assert why.startswith("keeper, host and daemon ended")
    assert ("probably because the machine was restarted" in why) == restarted
