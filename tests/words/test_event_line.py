"""Events for people: one readable line each."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from agent_pty.host import events
from agent_pty.host.events import Numbered, encoded
from agent_pty.host.principal import Principal
from agent_pty.words.event_line import event_line

AGENT = Principal(kind="agent", pid=7)


def line(**event: Any) -> str:
    """Return what a person reads of an event."""
    head = {"id": "work", "ts": "2026-01-31T12:03:04.123456+00:00"}
    return event_line({**head, **event}, zone=dt.UTC)


PUBLISHED: list[tuple[events.Event, str]] = [
    (events.Created(cursor=0, pid=12), "created, pid 12"),
    (events.Renamed(cursor=0, name_now="build"), "renamed to build"),
    (
        events.Input(cursor=0, by=AGENT, kind="send", bytes=1, entered=True),
        "an agent typed 1 byte (send)",
    ),
    (events.Outcome(cursor=0, input=1, result="failed", error="no room"), "input failed: no room"),
    (events.Output(cursor=9, bytes=120), "wrote 120 bytes"),
    (events.Prompt(cursor=0, prompt="$"), "prompt $"),
    (events.Title(cursor=0, title="a\x1b[2Jb"), "title a\\x1b[2Jb"),
    (events.Cwd(cursor=0, cwd=None), "directory unknown"),
    (events.Bell(cursor=0), "bell"),
    (events.Notification(cursor=0, title="CI", body="green"), "notification: CI: green"),
    (
        events.Clipboard(cursor=0, location="c", text="abc", truncated=False),
        "clipboard write, 3 characters",
    ),
    (events.Progress(cursor=0, state="normal", percent=70), "progress: normal, 70%"),
    (
        events.Attached(cursor=0, read_only=False, attached=2),
        "a person attached, 2 people attached now",
    ),
    (events.Detached(cursor=0, attached=1), "a person left, 1 person attached now"),
    (
        events.CellChanged(cursor=0, cell_id="0123456789ab", status="done", exit_code=3),
        "cell 01234567 done, exit 3",
    ),
    (
        events.CellChanged(cursor=0, cell_id="0123456789ab", status="waiting", waiting_for="input"),
        "cell 01234567 waiting for input",
    ),
    (events.Notify(cursor=0, who="ci@k:1", message="green"), "note from ci@k:1: green"),
    (
        events.ApprovalRequested(
            cursor=0, by=AGENT, request="3f-1", rule="rm -rf", command="rm -rf \u202ex", cwd="/srv"
        ),
        (
            "request 3f-1: an agent needs an approval (rm -rf) in /srv: rm -rf \\u202ex  "
            "! 1 character was escaped: it would not show, or would show as another"
        ),
    ),
    (
        events.ApprovalDecided(
            cursor=0, by=Principal(kind="human"), request="3f-1", rule="rm -rf", approved=False
        ),
        "request 3f-1: denied by a person (rm -rf)",
    ),
    (events.MarkForged(cursor=0, count=2), "wrote 2 forged marks"),
    (events.OutputGap(cursor=0, reason="tmux was away"), "output was lost: tmux was away"),
    (events.Exited(cursor=0, exit_code=None, signal=15), "ended by signal 15"),
    (events.Exited(cursor=0, exit_code=None, signal=None), "exited, status unknown"),
    (events.Lost(cursor=0, diagnosis="no host"), "lost: no host"),
]


@pytest.mark.parametrize(("event", "said"), PUBLISHED, ids=lambda one: type(one).__name__)
def test_trial_25_each_event_is_a_readable_line(event: events.Event, said: str) -> None:
    """
    Time, session and what happened, in plain words and without escape sequences.
    """
    numbered = Numbered(seq=3, at="2026-01-31T12:03:04.123456+00:00", event=event)

    shown = event_line(encoded(numbered, name="work", instance="i"), zone=dt.UTC)

    assert shown == f"12:03:04 work         {said}"


def test_trial_25_every_kind_of_event_has_its_words() -> None:
    """
    No published event is shown as a list of its fields.
    """
    kinds = {one.__struct_config__.tag for one in events.Event.__subclasses__()}

    assert kinds == {one.__struct_config__.tag for one, _ in PUBLISHED}


def test_trial_25_events_of_the_daemon_and_of_other_builds_are_shown() -> None:
    """
    What has no session has a dash; what is not known is shown with its facts.
    """
    assert line(event="killed", survivors=2).endswith(" killed, 2 processes survived")
    assert event_line({"event": "lagged", "missed": 1}) == "--:--:-- -            1 event missed"
    assert line(event="eclipse", instance="i", total=True).endswith(" eclipse total=True")
