from __future__ import annotations

from agent_pty.emulator import (
    Bell,
    ClipboardWritten,
    CwdChanged,
    Notification,
    Progress,
    TitleChanged,
)
from agent_pty.host.terminal.notices import Notices
from agent_pty.ops.model import ClipboardSeen, Notified, ProgressSeen


def test_every_event_has_a_name_and_facts() -> None:
    """
    Who watches gets them all, in order.
    """
    told = Notices().take(
        [
            TitleChanged(title="t"),
            CwdChanged(cwd="/srv"),
            Bell(),
            Notification(title="CI", body="green"),
            ClipboardWritten(location="standard", data=b"A\xff", truncated=True),
            Progress(state="set", percent=40),
        ]
    )

    assert told == [
        ("title", {"title": "t"}),
        ("cwd", {"cwd": "/srv"}),
        ("bell", {}),
        ("notification", {"title": "CI", "body": "green"}),
        ("clipboard", {"location": "standard", "text": "A\ufffd", "truncated": True}),
        ("progress", {"state": "set", "percent": 40}),
    ]


def test_the_last_of_each_kind_are_kept_for_who_asks_later() -> None:
    """
    Notifications and clipboards, the newest last and not too many; of progress the present.
    """
    notices = Notices()
    for number in range(20):
        notices.take([Notification(title="", body=str(number))])
        notices.take([ClipboardWritten(location="primary", data=b"%d" % number, truncated=False)])
        notices.take([Progress(state="set", percent=number)])

    assert [each.body for each in notices.notifications] == [str(each) for each in range(4, 20)]
    assert notices.notifications[-1] == Notified(title="", body="19")
    assert notices.clipboard[-1] == ClipboardSeen(location="primary", text="19", truncated=False)
    assert len(notices.clipboard) == 16
    assert notices.progress == ProgressSeen(state="set", percent=19)
