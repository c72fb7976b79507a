"""Events as they happen, and readers who do not read."""

from __future__ import annotations

import contextlib
import json
import re
import select
import selectors
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from agent_pty.core.safe import QUIET
from agent_pty.emulator import Emulator
from support.agent import Agent, eventually
from support.person import human
from support.raw_socket import Wire, wire

LONG = 60_000
CROWD = 24
MEGABYTE = 1024 * 1024


@contextlib.contextmanager
def stream(agent: Agent, op: str, **fields: Any) -> Iterator[Wire]:
    """Open a stream; the envelope has been read."""
    with wire(agent) as connection:
        connection.post(op, **fields)
        assert connection.answer()["ok"]
        yield connection


def run(agent: Agent, name: str, command: str, until: str) -> None:
    """Run a command in a session and wait for a sign of it."""
    agent.ask("send", id=name, text=command)
    agent.ask("wait", id=name, until=until, timeout_ms=LONG)


def until(events: Wire, kind: str) -> list[dict[str, Any]]:
    """Return the events up to the first of this kind."""
    seen = [events.answer()]
    while seen[-1]["event"] != kind:
        seen.append(events.answer())
    return seen


def test_a_life_is_told(shared: Agent) -> None:
    """
    Birth, prompt, input, output, directory, title, bell and end come as typed events, in order.
    """
    shared.connect().close()
    with stream(shared, "watch") as events:
        made = shared.new("life")
        born = until(events, "created")[-1]
        first = until(events, "prompt")[-1]
        shared.ask("send", id="life", text=r"printf '\e]7;file:///srv\a\e]2;hi\a\a'; exit 3")
        seen = until(events, "exited")

    by_kind = {event["event"]: event for event in seen}
    assert (born["id"], born["pid"]) == ("life", made["pid"])
    assert first["prompt"] == "$"
    assert next(iter(by_kind)) == "input"
    assert list(by_kind)[-2:] == ["output", "exited"]
    assert by_kind["input"]["by"]["kind"] == "agent"
    assert by_kind["cwd"]["cwd"] == "/srv"
    assert by_kind["title"]["title"] == "hi"
    assert "bell" in by_kind
    assert by_kind["output"]["bytes"] > 0
    assert (by_kind["exited"]["exit_code"], by_kind["exited"]["signal"]) == (3, None)
    for event in seen:
        assert event["id"] == "life"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", event["ts"])


def test_other_reports_of_a_program_are_events(shared: Agent) -> None:
    """
    Notification, progress and a clipboard that was not touched are told with their facts.
    """
    shared.new("report")

    with stream(shared, "watch", id="report") as events:
        told = r"\e]777;notify;CI;green\a\e]9;4;2;70\a\e]52;c;QQ==\a"
        shared.ask("send", id="report", text=f"printf '{told}'")
        seen = {event["event"]: event for event in until(events, "clipboard")}

    assert (seen["notification"]["title"], seen["notification"]["body"]) == ("CI", "green")
    assert (seen["progress"]["state"], seen["progress"]["percent"]) == ("error", 70)
    assert seen["clipboard"]["text"] == "A"


def test_a_renamed_session_is_followed_until_it_is_killed(shared: Agent) -> None:
    """
    Who watches one session goes on under its new name; being killed is told.
    """
    shared.new("before")
    shared.new("bystander")

    with stream(shared, "watch", id="before", events=["renamed", "title", "killed"]) as events:
        shared.ask("rename", id="before", name="after")
        shared.ask("send", id="bystander", text=r"printf '\e]2;not for us\a'; echo do''ne")
        shared.ask("wait", id="bystander", until="done", timeout_ms=LONG)
        shared.ask("send", id="after", text=r"printf '\e]2;followed\a'")
        seen = until(events, "title")
        shared.ask("kill", id="after")
        seen += until(events, "killed")

    assert [(event["event"], event["id"]) for event in seen] == [
        ("renamed", "before"),
        ("title", "after"),
        ("killed", "after"),
    ]
    assert seen[0]["name_now"] == "after"
    assert seen[1]["title"] == "followed"


def test_only_the_kinds_asked_for_come(shared: Agent) -> None:
    """
    The command line filters by session and kind and prints one JSON object per line.
    """
    shared.new("filter")
    watching = shared.start("watch", "filter", "--event", "title", "--event", "exited")
    assert watching.stdout is not None
    output = watching.stdout

    def sees_something() -> bool:
        run(shared, "filter", r"printf '\e]2;x\a'; echo do''ne", "done")
        return bool(select.select([output], [], [], 0)[0])

    try:
        eventually(sees_something)  # it does not say when it has begun to watch
        shared.ask("send", id="filter", text="exit 4")
        events = [json.loads(output.readline())]
        while events[-1]["event"] != "exited":
            events.append(json.loads(output.readline()))
    finally:
        watching.kill()
        watching.communicate()

    assert {event["event"] for event in events[:-1]} == {"title"}
    assert events[-1]["exit_code"] == 4


def test_a_watcher_who_does_not_read_is_told_how_much_it_missed(shared: Agent) -> None:
    """
    Events are kept for it within bounds; what it gets and what it missed make up the whole.
    """
    shared.new("chatty")
    sent = 3000
    padding = "x" * 1000

    with stream(shared, "watch", id="chatty", events=["title"]) as events:
        loop = rf"for n in {{1..{sent}}}; do printf '\e]2;%d {padding}\a' $n; done"
        run(shared, "chatty", f"{loop}; echo do''ne", "done")
        # The host told every title before it answered the wait: now read.
        numbers: list[int] = []
        missed = 0
        while len(numbers) + missed < sent:
            event = events.answer()
            if event["event"] == "lagged":
                missed += event["missed"]
            else:
                numbers.append(int(event["title"].split()[0]))
        shared.ask("send", id="chatty", text=r"printf '\e]2;0 again\a'")
        again = events.answer()

    assert missed > 0
    assert numbers == sorted(numbers)
    assert numbers[:1000] == list(range(1, 1001))
    assert (again["event"], again["title"]) == ("title", "0 again")


class Crowd:
    """Clients who read whatever comes, in a thread beside the test."""

    def __init__(self, members: list[Wire]) -> None:
        self.read = 0
        self._members = members
        self._stop, self._stopped = socket.socketpair()
        self._thread = threading.Thread(target=self._drain)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.close()
        self._thread.join()
        self._stopped.close()

    def _drain(self) -> None:
        with selectors.DefaultSelector() as selector:
            for one in [*(member.socket for member in self._members), self._stopped]:
                selector.register(one, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._stopped:
                        return
                    self.read += len(key.fileobj.recv(MEGABYTE))  # type: ignore[union-attr]


def pss(*pids: int) -> int:
    """Return the bytes of memory that processes have, shared pages counted in part."""
    total = 0
    for pid in pids:
        found = re.search(
            r"^Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE
        )
        assert found is not None
        total += int(found[1]) * 1024
    return total


def await_flood(agent: Agent, size: int) -> None:
    """Return once session `flood` has written *size* characters.

    On a busy machine that takes long; only a flood that stands still is a failure.
    """
    reached = 0
    while reached <= size:
        before = reached
        eventually(lambda: agent.info("flood")["cursor"] > before)  # noqa: B023  called at once
        reached = agent.info("flood")["cursor"]


@pytest.mark.serial
@pytest.mark.timeout(600)
def test_must_hold_4_a_crowd_on_a_flood_costs_nobody_else(agent: Agent) -> None:
    """
    Attached and watching clients, one of whom never reads, bound memory and hold nobody up.

    The one who did not read gets the present screen when it reads again.
    """
    agent.new("flood")
    agent.new("other")
    ours = [agent.pid_of("daemon"), agent.pid_of("flood"), agent.pid_of("other")]
    with contextlib.ExitStack() as stack:
        stopped = stack.enter_context(stream(agent, "attach", id="flood", history_bytes=0))
        crowd = [stack.enter_context(stream(agent, "attach", id="flood")) for _ in range(CROWD)]
        crowd += [stack.enter_context(stream(agent, "watch")) for _ in range(CROWD)]
        stack.enter_context(Crowd(crowd))
        before = pss(*ours)

        agent.ask("send", id="flood", text="yes flooding all the time")
        await_flood(agent, CROWD * MEGABYTE)
        listed = agent.ask("list")
        run(agent, "other", "echo al''ive", "alive")
        grown = pss(*ours) - before
        agent.ask("keys", id="flood", keys=["ctrl-c"])
        agent.ask("wait", id="flood", until="prompt", timeout_ms=LONG)
        run(agent, "flood", "clear; echo ov''er", "over")
        text = agent.ask("screen", id="flood")["text"]

        got = b""
        shown = Emulator(rows=24, cols=80)
        while shown.text() != text:
            piece = stopped.socket.recv(MEGABYTE)
            got += piece
            shown.feed(piece)

    assert {one["id"] for one in listed} == {"flood", "other"}
    assert grown < 30 * MEGABYTE
    assert QUIET in got
    assert len(got) < 2 * MEGABYTE


def test_trial_25_a_person_reads_a_line_for_each_event(shared: Agent) -> None:
    """
    On a terminal `watch` prints sentences; with `--json`, and to a pipe, JSON as ever.
    """
    shared.new("plain")

    def runs(code: str) -> bool:
        return bool(shared.ask("run", id="plain", code=code))

    with human(shared, "watch", "plain", "--event", "cell") as person:
        eventually(lambda: runs("(exit 3)") and person.saw(b", exit 3\r\n"))
    with human(shared, "watch", "plain", "--event", "cell", "--json") as reader:
        eventually(lambda: runs("true") and reader.saw(b"\r\n"))

    sentence = re.compile(rb"\d\d:\d\d:\d\d plain        cell [0-9a-f]{8} done, exit 3\r\n")
    assert sentence.search(person.seen)
    assert json.loads(reader.seen.split(b"\r\n")[0])["event"] == "cell"
