"""What the terminal answers a program, and what it tells us of it."""

from __future__ import annotations

import pytest

from agent_pty.emulator import (
    Bell,
    ClipboardWritten,
    CwdChanged,
    Emulator,
    Event,
    Notification,
    Progress,
    TitleChanged,
)


def fed(data: bytes) -> Emulator:
    """Return an emulator of the usual size that has read *data*."""
    emulator = Emulator(rows=24, cols=80)
    emulator.feed(data)
    return emulator


REPLIES = {
    "DA1": (b"\x1b[c", b"\x1b[?62;22c"),
    "DA2": (b"\x1b[>c", b"\x1b[>1;10;0c"),
    "DA3": (b"\x1b[=c", b"\x1bP!|00000000\x1b\\"),
    "DSR": (b"\x1b[5n", b"\x1b[0n"),
    "CPR": (b"\x1b[3;4H\x1b[6n", b"\x1b[3;4R"),
    "CPR in origin mode": (b"\x1b[5;9r\x1b[?6h\x1b[2;1H\x1b[6n", b"\x1b[2;1R"),
    "DECRQM set": (b"\x1b[?2004h\x1b[?2004$p", b"\x1b[?2004;1$y"),
    "DECRQM reset": (b"\x1b[?2004$p", b"\x1b[?2004;2$y"),
    "DECRQM unknown": (b"\x1b[?9999$p", b"\x1b[?9999;0$y"),
    "DECRQM ansi": (b"\x1b[4h\x1b[4$p", b"\x1b[4;1$y"),
    "XTVERSION": (b"\x1b[>q", b"\x1bP>|agent-pty\x1b\\"),
    "foreground": (b"\x1b]10;?\x07", b"\x1b]10;rgb:d0d0/d0d0/d0d0\x07"),
    "background": (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    "changed background": (
        b"\x1b]11;#102030\x07\x1b]11;?\x07",
        b"\x1b]11;rgb:1010/2020/3030\x07",
    ),
    "size in cells": (b"\x1b[18t", b"\x1b[8;24;80t"),
    "size in pixels": (b"\x1b[14t", b"\x1b[4;384;640t"),
    "dark or light": (b"\x1b[?996n", b"\x1b[?997;1n"),
    "kitty keyboard": (b"\x1b[?u", b"\x1b[?0u"),
    "DECRQSS style": (b"\x1b[1;31m\x1bP$qm\x1b\\", b"\x1bP1$r0;1;31m\x1b\\"),
    "DECRQSS region": (b"\x1b[3;9r\x1bP$qr\x1b\\", b"\x1bP1$r3;9r\x1b\\"),
    "DECRQSS of something else": (b'\x1bP$q"p\x1b\\', b"\x1bP0$r\x1b\\"),
    "terminfo name": (b"\x1bP+q544e\x1b\\", b"\x1bP1+r544E=787465726D2D323536636F6C6F72\x1b\\"),
}


@pytest.mark.parametrize(("query", "reply"), REPLIES.values(), ids=REPLIES.keys())
def test_queries_are_answered(query: bytes, reply: bytes) -> None:
    """
    A program that asks gets the answer once, as xterm would give it.
    """
    emulator = fed(query)

    assert emulator.take_replies() == reply
    assert emulator.take_replies() == b""
    assert emulator.text() == ""


SILENT = {
    # CVE-2003-0063: the title would come back as typed input.
    "title report": b"\x1b]0;; touch /tmp/pwned\r\x07\x1b[21t",
    "icon name report": b"\x1b]1;; touch /tmp/pwned\r\x07\x1b[20t",
    "answerback": b"\x05",
    "clipboard read": b"\x1b]52;c;c2VjcmV0\x07\x1b]52;c;?\x07",
    "kitty image query": b"\x1b_Ga=q,i=1,s=1,v=1,t=d,f=24;AAAA\x1b\\",
    "kitty image from a file": b"\x1b_Ga=T,i=1,t=f,f=100;L2V0Yy9wYXNzd2Q=\x1b\\",
    "checksum of the screen": b"secret\x1b[1;1;1;1;24;80*y",
    "setting report of a command": b"\x1bP$q; touch /tmp/pwned\r\x1b\\",
    "font": b"\x1b]50;?\x07",
}


@pytest.mark.parametrize("query", SILENT.values(), ids=SILENT.keys())
def test_dangerous_queries_get_no_answer(query: bytes) -> None:
    """
    Nothing a program wrote is ever handed back to it as input.
    """
    assert fed(query).take_replies() == b""


EVENTS: dict[bytes, list[Event]] = {
    b"\x1b]0;both\x07": [TitleChanged(title="both")],
    b"\x1b]2;title\x1b\\": [TitleChanged(title="title")],
    "\x1b]2;a\u009b31mb\x07".encode(): [TitleChanged(title="a31mb")],
    b"\x1b]7;file://elsewhere/tmp/a%20b%C3%A9\x07": [CwdChanged(cwd="/tmp/a bé")],
    b"\x1b]7;file:///\x07\x1b]7;\x07": [CwdChanged(cwd="/"), CwdChanged(cwd=None)],
    b"\x1b]7;http://host/x\x07": [CwdChanged(cwd=None)],
    b"\x1b]9;9;/srv\x07": [CwdChanged(cwd="/srv")],
    b"\x07\x07": [Bell(), Bell()],
    b"\x1b]9;done\x07": [Notification(title="", body="done")],
    b"\x1b]777;notify;Build;failed\x07": [Notification(title="Build", body="failed")],
    b"\x1b]9;4;1;50\x07": [Progress(state="set", percent=50)],
    b"\x1b]9;4;3\x07": [Progress(state="indeterminate", percent=None)],
    b"\x1b]9;4;2;7\x07\x1b]9;4;0\x07": [
        Progress(state="error", percent=7),
        Progress(state="remove", percent=None),
    ],
    b"\x1b]52;c;aGVsbG8=\x07": [
        ClipboardWritten(location="standard", data=b"hello", truncated=False)
    ],
    b"\x1b]52;p;\x07": [ClipboardWritten(location="primary", data=b"", truncated=False)],
}


@pytest.mark.parametrize(("data", "events"), EVENTS.items())
def test_side_messages_become_events(data: bytes, events: list[Event]) -> None:
    """
    What a program says besides text arrives once, typed and in order.
    """
    emulator = fed(data)

    assert emulator.take_events() == events
    assert emulator.take_events() == []


def test_title_and_cwd_can_be_asked_for_later() -> None:
    """
    The last title and directory stay readable after their events were taken.
    """
    emulator = fed(b"\x1b]0;one\x07\x1b]0;two\x07\x1b]7;file://h/x\x07")
    emulator.take_events()

    assert emulator.title == "two"
    assert emulator.cwd == "/x"
    assert Emulator(rows=1, cols=1).cwd is None


def test_of_too_many_events_the_newest_stay() -> None:
    """
    A program that rings forever costs a bounded list, and the end of the story is kept.
    """
    emulator = fed(b"\x07" * 1000 + b"\x1b]2;last\x07")

    events = emulator.take_events()

    assert len(events) == 256
    assert events[-1] == TitleChanged(title="last")


def test_a_large_clipboard_is_cut_and_says_so() -> None:
    """
    Clipboard data beyond 64 KiB is dropped, and the event tells.
    """
    event = fed(b"\x1b]52;c;" + b"QUFB" * 100_000 + b"\x07").take_events()[0]

    assert isinstance(event, ClipboardWritten)
    assert event.data == b"A" * 65536
    assert event.truncated


def test_replies_nobody_takes_stay_bounded() -> None:
    """
    A flood of queries fills the box with whole replies and no further.
    """
    reply = b"\x1b[?62;22c"

    replies = fed(b"\x1b[c" * 100_000).take_replies()

    assert len(replies) <= 256 * 1024
    assert replies == reply * (len(replies) // len(reply))
