"""Whoever dies and whenever: what was acknowledged is recorded once, and the chain is whole."""

from __future__ import annotations

import contextlib
import enum
import itertools
import json
import random
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_pty.client.connection import connect
from agent_pty.errors import HostLost
from support.agent import Agent, eventually, slay
from support.counts import counts
from support.journal import file_of, payloads
from support.k import K

_SECONDS = 60
# After five deaths within a minute a session is given up, and clients are refused: by design.
_DEATHS_OF_EACH = 4
_DEATHS_OF_A_HOME = 2 * _DEATHS_OF_EACH
# Between two deaths at most so many words are acknowledged, and then so many seconds pass.
_MOST_WORDS = 12
_LONGEST_MOMENT = 0.02
# The event of a send of so many characters is written in pieces, so that it can be torn.
_BULK = 20_000
_WORD = re.compile(rb"w[a-z]\d+-\d+z")


class Fate(enum.Enum):
    """What a caller knows of a word."""

    ACKNOWLEDGED = enum.auto()
    UNKNOWN = enum.auto()
    REFUSED = enum.auto()


@dataclass(frozen=True, slots=True)
class Told:
    """What a caller was told of a word, and why."""

    fate: Fate
    why: str = ""


DONE = Told(Fate.ACKNOWLEDGED)


def failed(text: str) -> Told:
    """Read what is said of an input that failed; no session is lost, so that must not be said."""
    assert " is lost" not in text
    unknown = text.rstrip().endswith("whether it acted is unknown")
    return Told(Fate.UNKNOWN if unknown else Fate.REFUSED, text)


def send(agent: Agent, session: str, word: str) -> Told:
    """Type a word, on a connection of its own."""
    try:
        with connect(agent.layout, start=False, patience=_SECONDS) as connection:
            connection.ask("send", id=session, text=word)
    except HostLost as error:
        return failed(str(error))
    except ConnectionError as error:
        if isinstance(error.__cause__, OSError):  # refused, or never answered
            raise
        return Told(Fate.UNKNOWN, str(error))
    return DONE


def send_bulk(agent: Agent, session: str, word: str) -> Told:
    """Type a word and a long text after it."""
    return send(agent, session, f"{word} {'.' * _BULK}")


def send_by_command(agent: Agent, session: str, word: str) -> Told:
    """Type a word by `agent-pty send`, which asks the next daemon if one dies."""
    done = agent.cli("send", session, word)
    if done.returncode == HostLost.exit_status:
        return failed(done.stderr)
    assert done.returncode == 0, done.stderr
    return DONE


def run(agent: Agent, session: str, word: str) -> Told:
    """Run a cell that prints a word by `k run`, which asks the next daemon if one dies."""
    done = K(agent).run("run", "-j", session, f"echo {word}")
    said = json.loads(done.stdout)
    if said["status"] == "error":
        return failed(said["output"])
    assert (said["status"], said["output"]) == ("done", word)
    return DONE


# Who works in which session; two share one.
WORK: dict[str, tuple[str, Callable[[Agent, str, str], Told]]] = {
    "a": ("cat1", send),
    "b": ("cat1", send),
    "c": ("cat2", send),
    "d": ("cat2", send_by_command),
    "e": ("shell1", run),
    "f": ("shell2", run),
    "g": ("sink", send_bulk),
}
SESSIONS = sorted({session for session, _ in WORK.values()})
PROGRAMS = {
    "cat1": ("cat",),
    "cat2": ("cat",),
    # A line of any length.
    "sink": ("/bin/sh", "-c", "stty -icanon -echo; echo set; exec cat >/dev/null"),
}


class Load:
    """Clients that work until they are stopped, and what they were told of each word."""

    def __init__(self, agent: Agent, label: int) -> None:
        self._agent = agent
        self._label = label
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._acknowledged: Counter[str] = Counter()
        self._failed = False
        self._last: dict[str, Told] = {}
        self.fates: dict[str, Fate] = {}

    def _work(self, client: str) -> None:
        session, act = WORK[client]
        try:
            for number in itertools.count():
                if self._stop.is_set():
                    return
                word = f"w{client}{self._label}-{number}z"
                self._note(client, word, act(self._agent, session, word))
        except BaseException:
            with self._changed:
                self._failed = True
                self._changed.notify()
            raise

    def _note(self, client: str, word: str, told: Told) -> None:
        with self._changed:
            self.fates[word] = told.fate
            self._last[client] = told
            if told.fate is Fate.ACKNOWLEDGED:
                self._acknowledged[client] += 1
                self._changed.notify()

    def wait_for(self, words: int) -> None:
        """Return when so many more words are acknowledged, whoever typed them."""
        goal = self._acknowledged.total() + words
        self._wait(lambda: self._acknowledged.total() >= goal)

    def wait_for_everybody(self) -> None:
        """Return when every client is acknowledged another word."""
        before = self._acknowledged.copy()
        self._wait(lambda: all(self._acknowledged[one] > before[one] for one in WORK))

    def _wait(self, come: Callable[[], bool]) -> None:
        with self._changed:
            known = self._changed.wait_for(lambda: self._failed or come(), timeout=_SECONDS)
        assert known, f"not everybody is acknowledged: {self._acknowledged} {self._last}"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Have everybody work; at the end the first failure is raised."""
        with ThreadPoolExecutor(len(WORK)) as pool:
            futures = [pool.submit(self._work, client) for client in WORK]
            try:
                yield
            finally:
                self._stop.set()
        for future in futures:
            future.result()


@contextlib.contextmanager
def home() -> Iterator[Agent]:
    """Give a user with an empty home all sessions, and leave nothing of them."""
    # Not tmp_path: a socket's path may have 107 bytes.
    agent = Agent(Path(tempfile.mkdtemp(prefix="ap-")))
    try:
        for name in SESSIONS:
            agent.new(name, *PROGRAMS.get(name, ()))
        agent.ask("wait", id="sink", until="set", timeout_ms=1000 * _SECONDS)
        yield agent
    finally:
        agent.cli("stop")
        agent.reap()


def kill_nine(agent: Agent, victim: str) -> None:
    """Kill the daemon, or the host of a session; one that is being moved has none for a moment."""
    if victim != "daemon":
        eventually(lambda: agent.info(victim)["host_pid"] is not None)
    slay(agent.pid_of(victim))


def suffer(agent: Agent, load: Load, deaths: int, chance: random.Random) -> None:
    """Let hosts and daemons die while everybody works, in an order and at moments of chance."""
    each = [_DEATHS_OF_EACH, _DEATHS_OF_EACH]
    with load.running():
        for kind in chance.sample(["host", "daemon"], counts=each, k=deaths):
            victim = chance.choice(SESSIONS) if kind == "host" else "daemon"
            load.wait_for(chance.randrange(_MOST_WORDS))
            # Nothing is waited for: otherwise all would die just after an answer.
            threading.Event().wait(chance.uniform(0, _LONGEST_MOMENT))
            kill_nine(agent, victim)
        load.wait_for_everybody()


def journals(agent: Agent) -> dict[str, list[dict[str, Any]]]:
    """Return what is recorded of each session."""
    found = {}
    for name in SESSIONS:
        lines = [json.loads(line) for line in file_of(agent, name).read_bytes().splitlines()]
        found[name] = [{**one["kind"]["payload"], "at": one["sequence"]} for one in lines]
    return found


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the events of one type."""
    return [one for one in events if one.get("type") == kind]


def assert_recorded_once(events: list[dict[str, Any]], fates: dict[str, Fate]) -> None:
    """Compare what was typed into a session with what its callers were told."""
    typed = {one["at"]: bytes(one["bytes"]) for one in of_type(events, "send_keys")}
    found = Counter(word.decode() for text in typed.values() for word in _WORD.findall(text))
    times = {word: found[word] for word in fates}
    allowed = {Fate.ACKNOWLEDGED: {1}, Fate.UNKNOWN: {0, 1}, Fate.REFUSED: {0}}
    assert {
        word: (fate, times[word])
        for word, fate in fates.items()
        if times[word] not in allowed[fate]
    } == {}
    assert set(found) <= set(fates)

    outcomes = [(one["of"], one["result"]) for one in of_type(events, "outcome")]
    assert sorted(place for place, _ in outcomes) == sorted(typed)
    results = dict(outcomes)
    assert set(results.values()) <= {"delivered", "unknown"}
    for place, text in typed.items():
        for word in _WORD.findall(text):
            if fates[word.decode()] is Fate.ACKNOWLEDGED:
                assert results[place] == "delivered"


def assert_whole(agent: Agent) -> None:
    """Verify every chain to its end; what is torn was set aside, and an event names it."""
    done = agent.cli("verify", "--all", "--json")
    results = json.loads(done.stdout)
    assert (done.returncode, {one["result"] for one in results}) == (0, {"verified"}), results
    assert {one["torn_bytes"] for one in results} == {0}
    aside = {str(path) for path in Path(agent.layout.log_dir).glob("*.torn-*")}
    named = {
        one["file"] for events in journals(agent).values() for one in of_type(events, "recovery")
    }
    assert aside == named


@counts(20, 1000)
@pytest.mark.timeout(1800)
def test_must_hold_2_deaths_under_load_lose_and_double_nothing(count: int) -> None:
    """
    After `kill -9` of hosts and daemons under load every acknowledged input is recorded once.

    One whose fate is unknown is there once or not at all, one that was refused is not. Every
    intent has one outcome, and every chain is verified to its end.
    """
    chance = random.Random(count)  # noqa: S311  a test that can be repeated
    for done in range(0, count, _DEATHS_OF_A_HOME):
        with home() as agent:
            load = Load(agent, done)

            suffer(agent, load, min(_DEATHS_OF_A_HOME, count - done), chance)
            assert agent.cli("stop").returncode == 0

            for session, events in journals(agent).items():
                ours = {one for one in WORK if WORK[one][0] == session}
                fates = {word: fate for word, fate in load.fates.items() if word[1] in ours}
                assert fates
                assert_recorded_once(events, fates)
            assert_whole(agent)


def test_a_daemon_that_dies_while_sessions_are_moved_forgets_none(agent: Agent) -> None:
    """
    After the death of a host and of the daemon that was about to move its sessions, all answer.

    The next daemon must not take a new host for the dead one, although it may be called the same.
    """
    names = ["one", "two", "three", "four"]
    for name in names:
        agent.new(name, "cat")
    for _ in range(2):  # after the second death the daemon waits for a moment before it moves them
        eventually(lambda: agent.info("one")["host_pid"] is not None)
        daemon, host = agent.pid_of("daemon"), agent.pid_of("one")
        slay(host)
        eventually(lambda: f"({host}) is gone" in Path(agent.layout.log).read_text())  # noqa: B023  used at once

    slay(daemon)

    for name in names:
        agent.ask("send", id=name, text="echo")
        agent.ask("wait", id=name, until="echo", timeout_ms=1000 * _SECONDS)


@pytest.mark.parametrize("characters", [50_000, 500_000])
def test_an_intent_of_any_size_gets_an_outcome(agent: Agent, characters: int) -> None:
    """
    However long the input is during which a host dies, the next one records that it is unknown.
    """
    agent.new("full", "/bin/sh", "-c", "stty -icanon -echo; echo set; sleep 1000")
    agent.ask("wait", id="full", until="set", timeout_ms=1000 * _SECONDS)
    with agent.begin("send", id="full", text="." * characters, raw=True) as answer:
        eventually(lambda: len(payloads(agent, "full", "send_keys")) == 1)

        slay(agent.pid_of("full"))

        assert answer()["code"] == HostLost.code
    eventually(lambda: bool(payloads(agent, "full", "host_recovered")))
    assert [one["result"] for one in payloads(agent, "full", "outcome")] == ["unknown"]
