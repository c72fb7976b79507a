from __future__ import annotations

from agent_pty.host import events
from agent_pty.host.events import Batch
from agent_pty.host.terminal.notices import Notices
from agent_pty.ops.model import ClipboardSeen, Notified, ProgressSeen
from support.terminal import Program, program

TELLING = (
    "\x1b]0;t\x07"
    "\x1b]7;file:///srv\x07"
    "\x07"
    "\x1b]777;notify;CI;green\x07"
    "\x1b]52;c;Qf8=\x07"
    "\x1b]9;4;1;40\x07"
)


def told(one: Program, notices: Notices, text: str) -> None:
    """Let the program write, and the notices hear of it."""
    one.says(text)
    notices.notice(Batch(data=text.encode(), marks=(), replies=b""))


def test_every_event_is_published() -> None:
    """
    Watchers get them all, in order, with the cursor at which they came.
    """
    with program() as one:
        notices = Notices(one.output, one.log)
        one.says("abc")

        told(one, notices, TELLING)

        assert one.heard.events == [
            events.Title(cursor=3, title="t"),
            events.Cwd(cursor=3, cwd="/srv"),
            events.Bell(cursor=3),
            events.Notification(cursor=3, title="CI", body="green"),
            events.Clipboard(cursor=3, location="standard", text="A\ufffd", truncated=False),
            events.Progress(cursor=3, state="set", percent=40),
        ]


def test_the_last_of_each_kind_are_kept() -> None:
    """
    Notifications and clipboards, the newest last and not too many; of progress the present.
    """
    with program() as one:
        notices = Notices(one.output, one.log)

        for number in range(20):
            told(one, notices, f"\x1b]777;notify;;{number}\x07")
            told(one, notices, "\x1b]52;p;QQ==\x07")
            told(one, notices, f"\x1b]9;4;1;{number}\x07")

        bodies = [each.body for each in notices.notifications]
        assert bodies == [str(each) for each in range(4, 20)]
        assert notices.notifications[-1] == Notified(title="", body="19")
        assert notices.clipboard[-1] == ClipboardSeen(location="primary", text="A", truncated=False)
        assert len(notices.clipboard) == 16
        assert notices.progress == ProgressSeen(state="set", percent=19)
