import asyncio
import hashlib
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent_pty.errors import BadRequest, HostLost, KeyReused
from agent_pty.store.ledger import Answered, Ledger, Line
from support.turn import turns

# The disk is full in the middle of the second key's line, and has room again for the third.
NO_ROOM = """
import asyncio, os, resource, signal, sys
from agent_pty.store.ledger import Ledger
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
async def act():
    print("acted", flush=True)
    return b'{"ok":true}'
async def main(path):
    ledger = Ledger(path)
    await ledger.once("first", b"request", act)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat(path).st_size + 10, unlimited[1]))
    try:
        await ledger.once("second", b"request", act)
    except OSError as error:
        print(error.strerror, flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    await ledger.once("third", b"request", act)
asyncio.run(main(sys.argv[1]))
"""
# The disk is full when the request has acted, and while the next process reads the file.
NO_ROOM_FOR_THE_ANSWER = """
import asyncio, os, resource, signal, sys
from agent_pty.errors import HostLost
from agent_pty.store.ledger import Ledger
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = sys.argv[1]
async def act():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    return b'{"ok":true}'
async def main():
    ledger = Ledger(path)
    print(await ledger.once("k", b"request", act), flush=True)
    print(await ledger.once("k", b"request", act), flush=True)
    try:
        await Ledger(path).once("k", b"request", act)
    except HostLost as error:
        print(error.details["delivery"], flush=True)
asyncio.run(main())
"""
ANSWER = b'{"ok":true,"data":{"type":"sent"},"error":null}'


class Acting:
    """An op that counts how often it acts; it answers when *may_answer* is set."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.times = 0
        self.begun = asyncio.Event()
        self.may_answer = asyncio.Event()
        if at_once:
            self.may_answer.set()

    async def __call__(self) -> bytes:
        """Act."""
        self.times += 1
        self.begun.set()
        await self.may_answer.wait()
        return ANSWER


class Killed(BaseException):
    """The process ends here."""


async def die() -> bytes:
    """Act, and be killed before there is an answer."""
    raise Killed


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a ledger may be."""
    return str(tmp_path / "keys.jsonl")


def run(story: Callable[[], Awaitable[None]]) -> None:
    """Tell a story that needs an event loop."""
    asyncio.run(asyncio.wait_for(story(), 20))


def entries(path: str) -> list[dict[str, Any]]:
    """Return what is on disk."""
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def tear(path: str) -> None:
    """Add half a line, as a machine does that goes down while writing."""
    with open(path, "ab") as file:
        file.write(b'{"key":"torn","dig')


def killed_while_acting(path: str, key: str) -> None:
    """Leave a ledger as a host does that is killed between intent and answer."""

    async def story() -> None:
        await Ledger(path).once(key, b"request", die)

    with pytest.raises(Killed):
        run(story)


def test_a_repeated_key_gets_the_first_answer(path: str) -> None:
    """
    The op acts once; the second time the same answer comes, marked as replayed.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting()

        first = await ledger.once("k", b"request", acting)
        second = await ledger.once("k", b"request", acting)

        assert first == ANSWER
        assert json.loads(second) == {**json.loads(ANSWER), "replayed": True}
        assert acting.times == 1

    run(story)


def test_a_request_without_a_key_leaves_no_trace(path: str) -> None:
    """
    It acts every time, and no file is made.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting()

        await ledger.once(None, b"request", acting)
        await ledger.once(None, b"request", acting)

        assert acting.times == 2

    run(story)

    assert not os.path.exists(path)


def test_a_key_with_other_content_is_refused(path: str) -> None:
    """
    The same key for another request is the caller's mistake; nothing acts.
    """

    async def story() -> None:
        ledger, acting, other = Ledger(path), Acting(), Acting()
        await ledger.once("k", b"request", acting)

        with pytest.raises(KeyReused, match="use a new key"):
            await ledger.once("k", b"another request", other)

        assert other.times == 0

    run(story)


@pytest.mark.parametrize("key", ["", "k" * 257])
def test_a_key_has_a_length(path: str, key: str) -> None:
    """
    An empty key or one of more than 256 characters is refused before anything acts.
    """

    async def story() -> None:
        acting = Acting()

        with pytest.raises(BadRequest, match="1 to 256 characters"):
            await Ledger(path).once(key, b"request", acting)

        assert acting.times == 0

    run(story)


def test_a_key_is_known_to_the_next_process(path: str) -> None:
    """
    A ledger read from its file replays as the one that wrote it would.
    """

    async def story() -> None:
        acting = Acting()
        await Ledger(path).once("k", b"request", acting)

        again = await Ledger(path).once("k", b"request", acting)

        assert json.loads(again)["replayed"] is True
        assert acting.times == 1
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600

    run(story)


def test_a_failure_is_replayed_too(path: str) -> None:
    """
    An error envelope is an answer like any other.
    """

    async def failing() -> bytes:
        return b'{"ok":false,"data":null,"error":"no","code":"busy","details":{}}'

    async def story() -> None:
        ledger = Ledger(path)
        await ledger.once("k", b"request", failing)

        again = json.loads(await ledger.once("k", b"request", failing))

        assert (again["ok"], again["code"], again["replayed"]) == (False, "busy", True)

    run(story)


def test_a_torn_last_line_is_forgotten(path: str) -> None:
    """
    A line that a crash cut in two does not keep the others from being read.
    """

    async def story() -> None:
        acting = Acting()
        await Ledger(path).once("whole", b"request", acting)
        tear(path)

        ledger = Ledger(path)
        await ledger.once("torn", b"request", acting)
        await ledger.once("whole", b"request", acting)

        assert acting.times == 2
        await Ledger(path).once("torn", b"request", acting)
        assert acting.times == 2

    run(story)


def test_a_full_disk_stops_the_request_and_spoils_no_line(path: str) -> None:
    """
    A request whose key cannot be written does not act, and the keys after it are read again.
    """
    run = subprocess.run(
        [sys.executable, "-c", NO_ROOM, path], capture_output=True, text=True, check=True
    )

    assert run.stdout == "acted\nFile too large\nacted\n"
    Ledger(path)
    assert [entry["key"] for entry in entries(path)] == ["first", "third"]


def test_trial_03_an_answer_is_given_although_it_cannot_be_saved(path: str) -> None:
    """
    What was done is told to the caller and to a repetition; after a crash its fate is unknown.
    """
    run = subprocess.run(
        [sys.executable, "-c", NO_ROOM_FOR_THE_ANSWER, path],
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout.splitlines() == [
        """b'{"ok":true}'""",
        """b'{"ok":true,"replayed":true}'""",
        "unknown",
    ]
    assert "the answer for key 'k' is not saved" in run.stderr


def test_a_crash_while_acting_leaves_the_fate_unknown(path: str) -> None:
    """
    After a crash a repetition is told that delivery is unknown, and does not act.
    """
    killed_while_acting(path, "k")

    async def story() -> None:
        acting = Acting()

        with pytest.raises(HostLost, match="delivery unknown") as caught:
            await Ledger(path).once("k", b"request", acting)

        assert caught.value.details == {"key": "k", "delivery": "unknown"}
        assert acting.times == 0

    run(story)


def test_the_intent_is_on_disk_before_anything_acts(path: str) -> None:
    """
    While the op acts, a reader of the file already finds its key, without an answer.
    """
    lines: list[dict[str, Any]] = []

    async def look() -> bytes:
        lines.extend(entries(path))
        return ANSWER

    async def story() -> None:
        await Ledger(path).once("k", b"request", look)

    run(story)

    assert [(line["key"], line.get("answer")) for line in lines] == [("k", None)]


def test_an_impatient_repetition_waits_for_the_first(path: str) -> None:
    """
    Who repeats a key while its request still acts gets that one's answer, and nothing acts twice.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting(at_once=False)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(ledger.once("k", b"request", acting))
            await acting.begun.wait()
            second = group.create_task(ledger.once("k", b"request", acting))
            acting.may_answer.set()

        assert first.result() == ANSWER
        assert json.loads(second.result())["replayed"] is True
        assert acting.times == 1

    run(story)


def test_a_repetition_that_gives_up_disturbs_nobody(path: str) -> None:
    """
    Cancelling who waits for the first answer leaves the first request alone.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting(at_once=False)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(ledger.once("k", b"request", acting))
            await acting.begun.wait()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await ledger.once("k", b"request", acting)
            acting.may_answer.set()

        assert first.result() == ANSWER

    run(story)


def test_a_caller_that_leaves_does_not_take_the_answer_from_others(path: str) -> None:
    """
    If the first caller is cancelled, those that repeated its key still get the answer.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting(at_once=False)
        loop = asyncio.get_running_loop()
        first = loop.create_task(ledger.once("k", b"request", acting))
        await acting.begun.wait()
        second = loop.create_task(ledger.once("k", b"request", acting))
        third = loop.create_task(ledger.once("k", b"request", acting))
        await turns()  # both repetitions wait by then

        first.cancel()
        await asyncio.wait([first])
        acting.may_answer.set()
        fates = await asyncio.gather(first, second, third, return_exceptions=True)

        assert isinstance(fates[0], asyncio.CancelledError)
        assert [json.loads(await one)["replayed"] for one in (second, third)] == [True, True]
        assert acting.times == 1

    run(story)


def test_what_nobody_waits_for_is_cancelled(path: str) -> None:
    """
    If every caller is cancelled, so is the request; a repetition learns: delivery unknown.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting(at_once=False)
        first = asyncio.get_running_loop().create_task(ledger.once("k", b"request", acting))
        await acting.begun.wait()

        first.cancel()
        await asyncio.wait([first])

        with pytest.raises(HostLost, match="delivery unknown"):
            await ledger.once("k", b"request", acting)

    run(story)


def test_a_lost_connection_cancels_nothing(path: str) -> None:
    """
    A request whose caller can no longer be answered goes on; its key brings the answer.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting(at_once=False)
        loop = asyncio.get_running_loop()
        lost = loop.create_task(ledger.once("k", b"r", acting, present=lambda: False))
        await acting.begun.wait()
        again = loop.create_task(ledger.once("k", b"r", acting))
        acting.may_answer.set()

        assert json.loads(await again)["replayed"] is True
        assert json.loads(await lost)["ok"] is True
        assert acting.times == 1

    run(story)


def test_a_caller_that_leaves_counts_though_others_were_lost(path: str) -> None:
    """
    Only callers that can be answered keep a request alive.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting(at_once=False)
        loop = asyncio.get_running_loop()
        lost = loop.create_task(ledger.once("k", b"r", acting, present=lambda: False))
        await acting.begun.wait()
        again = loop.create_task(ledger.once("k", b"r", acting))
        await turns()

        again.cancel()

        fates = await asyncio.gather(lost, again, return_exceptions=True)
        assert [type(fate) for fate in fates] == [asyncio.CancelledError] * 2

    run(story)


def test_what_continues_acts_again_after_a_crash(path: str) -> None:
    """
    A request that takes up what it had begun is not refused because its first try died.
    """

    async def story() -> None:
        acting = Acting()
        Ledger(path)._append(Line(key="k", digest=hashlib.sha256(b"r").hexdigest()))
        ledger = Ledger(path)

        assert ledger.interrupted("k")
        await ledger.once("k", b"r", acting, continues=True)
        assert acting.times == 1
        assert not ledger.interrupted("k")

    run(story)


def test_a_large_answer_is_made_again_from_its_reference(path: str) -> None:
    """
    Neither memory nor the file keeps it.
    """
    large = json.dumps({"ok": True, "data": "x" * 60_000}).encode()

    async def act() -> Answered:
        return Answered(envelope=large, reference="where it is")

    async def recall(reference: str) -> bytes:
        assert reference == "where it is"
        return large

    async def story() -> None:
        ledger = Ledger(path, recall=recall)
        for number in range(100):
            await ledger.once(f"k{number}", b"r", act)

        assert json.loads(await ledger.once("k5", b"r", act))["data"] == "x" * 60_000
        assert os.stat(path).st_size < 50_000

    run(story)


def test_a_passing_key_is_forgotten_a_minute_after_its_answer(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    It served only to ask again when the daemon had died.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting()
        await ledger.once("~k", b"r", acting)
        await ledger.once("~k", b"r", acting)
        assert acting.times == 1

        later = time.time() + 61
        monkeypatch.setattr(time, "time", lambda: later)
        await ledger.once("other", b"r", acting)

        assert list(ledger._lines) == ["other"]

    run(story)


def test_only_the_last_thousand_keys_are_remembered(path: str) -> None:
    """
    Memory and, after a restart, the file are bounded; the newest keys are the ones kept.
    """

    async def story() -> None:
        ledger, acting = Ledger(path), Acting()
        for number in range(1100):
            await ledger.once(f"k{number}", b"request", acting)

        again = Ledger(path)

        assert len(entries(path)) == 1000
        await again.once("k1099", b"request", acting)
        assert acting.times == 1100
        await again.once("k0", b"request", acting)
        assert acting.times == 1101

    run(story)
