"""The file of approvals: every change is there before it counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_pty.core.policy.approval import Bound, Place, digest
from agent_pty.errors import BadRequest, Busy
from agent_pty.store.approvals import Approvals, Subject

BY = {"kind": "agent"}
PERSON = {"kind": "human"}


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        """Return the time in nanoseconds."""
        return self.now


def subject(command: str = "rm -rf x", place: str = "/work") -> Subject:
    """Return something that needs an approval."""
    bound = Bound(sha256=digest(command), rule="rm -rf", policy_hash="p", place=Place(path=place))
    return Subject(command=command, reason=None, span=None, bound=bound)


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture
def approvals(tmp_path: Path, clock: Clock) -> Approvals:
    """The approvals of a session."""
    return opened(tmp_path, clock)


def opened(directory: Path, clock: Clock) -> Approvals:
    """Open the file, as the next host does."""
    path = str(directory / "approvals.json")
    return Approvals(path, session_id=lambda: "work", instance="a" * 16, clock=clock)


def test_the_same_request_is_made_once(approvals: Approvals) -> None:
    """
    An agent that tries again does not fill the list.
    """
    first = approvals.request(subject(), BY, ttl_ms=1000)
    second = approvals.request(subject(), BY, ttl_ms=1000)

    assert first.id == second.id
    assert [one.id for one in approvals.pending()] == [first.id]


def test_requests_are_bounded(approvals: Approvals) -> None:
    """
    A session that asks for ever is told to wait.
    """
    for number in range(100):
        approvals.request(subject(f"rm -rf {number}"), BY, ttl_ms=1000)

    with pytest.raises(Busy):
        approvals.request(subject("rm -rf more"), BY, ttl_ms=1000)


def test_a_request_that_was_granted_is_spent_once(approvals: Approvals) -> None:
    """
    The same input passes once.
    """
    asked = approvals.request(subject(), BY, ttl_ms=1000)
    approvals.grant(asked.id, PERSON)

    spent, _ = approvals.spend(subject().bound, token=None)
    again, why = approvals.spend(subject().bound, token=None)

    assert spent is not None
    assert again is None
    assert why == "no approval was given"


def test_an_approval_without_a_request_needs_its_token(approvals: Approvals) -> None:
    """
    Nobody who does not have it can spend it.
    """
    _, token = approvals.grant_new(subject(), PERSON, ttl_ms=1000)

    assert approvals.spend(subject().bound, token=None)[0] is None
    assert approvals.spend(subject().bound, token=token)[0] is not None


def test_another_process_knows_what_was_spent(tmp_path: Path, clock: Clock) -> None:
    """
    A token cannot be spent twice by a crash in between.
    """
    _, token = opened(tmp_path, clock).grant_new(subject(), PERSON, ttl_ms=1000)
    opened(tmp_path, clock).spend(subject().bound, token=token)

    spent, why = opened(tmp_path, clock).spend(subject().bound, token=token)

    assert spent is None
    assert why == "it was used already"


def test_time_is_that_of_the_clock_that_goes_forward(approvals: Approvals, clock: Clock) -> None:
    """
    What has expired is neither pending nor spent nor decided.
    """
    asked = approvals.request(subject(), BY, ttl_ms=1000)
    clock.now = 1000 * 1_000_000

    assert approvals.pending() == []
    with pytest.raises(BadRequest, match="time of request"):
        approvals.grant(asked.id, PERSON)


@pytest.mark.parametrize("decide", ["grant", "deny"])
def test_a_request_is_decided_once(approvals: Approvals, decide: str) -> None:
    """
    The second decision is told of the first.
    """
    asked = approvals.request(subject(), BY, ttl_ms=1000)
    approvals.deny(asked.id, PERSON)

    with pytest.raises(BadRequest, match="is denied already"):
        getattr(approvals, decide)(asked.id, PERSON)


def test_a_file_that_cannot_be_read_approves_nothing(tmp_path: Path, clock: Clock) -> None:
    """
    Doubt is decided towards asking again.
    """
    (tmp_path / "approvals.json").write_text("{")

    assert opened(tmp_path, clock).spend(subject().bound, token="any")[0] is None


def test_what_cannot_be_written_has_not_happened(tmp_path: Path, clock: Clock) -> None:
    """
    Without room for it, a token is not spent.
    """
    approvals = opened(tmp_path, clock)
    _, token = approvals.grant_new(subject(), PERSON, ttl_ms=1000)
    (tmp_path / "approvals.json.new").mkdir()

    with pytest.raises(OSError, match=r"approvals\.json"):
        approvals.spend(subject().bound, token=token)
    (tmp_path / "approvals.json.new").rmdir()

    assert approvals.spend(subject().bound, token=token)[0] is not None
