"""Rows of the reliability catalogue on the evidence log and on redaction, each by its number."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agent_pty.core.evidence.chain import sealed
from agent_pty.core.evidence.event import Notify, SendKeys
from agent_pty.core.evidence.verdict import judged
from agent_pty.errors import EvidenceUnavailable
from agent_pty.store import journal, journal_reader
from agent_pty.store.journal import Journal
from support.agent import Agent, eventually, slay
from support.evidence import Evidence
from support.journal import file_of, gaps, payloads, recorded, typed
from support.small_disk import SmallDisk, small_disk

LONG = 60_000
SECRET = "hunter2-FAKE-pw"


@contextlib.contextmanager
def nobody_writes(agent: Agent, name: str) -> Iterator[None]:
    """Kill the daemon and the host of a session; the keeper replaces them only afterwards."""
    keeper = agent.pid_of("keeper")
    victims = [agent.pid_of("daemon"), agent.pid_of(name)]
    os.kill(keeper, signal.SIGSTOP)
    try:
        slay(*victims)
        yield
    finally:
        os.kill(keeper, signal.SIGCONT)


def events_of(agent: Agent, name: str) -> list[dict[str, Any]]:
    """Read a journal as any program can: every line is UTF-8, and JSON."""
    lines = file_of(agent, name).read_bytes().removesuffix(b"\n").split(b"\n")
    return [json.loads(line.decode()) for line in lines]


def assert_whole(agent: Agent, name: str) -> None:
    """Verify the journal of a session that has ended, to its end."""
    done = agent.cli("verify", name)
    assert (done.returncode, f"{name}: verified: " in done.stdout) == (0, True), done


# -- LOG-14: a torn end


@pytest.mark.parametrize(
    "torn", [b'{"id":"half', b'{"id":"\xc3'], ids=["half a line", "half a character"]
)
def test_log_14_a_torn_end_is_set_aside_when_the_session_goes_on(agent: Agent, torn: bytes) -> None:
    """
    What a host that died left behind its last event is in a file of its own, which an event names.
    """
    agent.new("work", "cat")
    agent.ask("send", id="work", text="before")
    with nobody_writes(agent, "work"), file_of(agent, "work").open("ab") as file:
        file.write(torn)

    agent.ask("send", id="work", text="after")
    agent.cli("stop")

    (recovery,) = payloads(agent, "work", "recovery")
    assert recovery["bytes"] == len(torn)
    assert Path(recovery["file"]).read_bytes() == torn
    assert typed(agent, "work") == ["before\r", "after\r"]
    assert_whole(agent, "work")


# -- LOG-22: room again


@pytest.fixture
def log_disk() -> Iterator[SmallDisk]:
    """A disk of its own for the log directory."""
    with small_disk(2) as mounted:
        yield mounted


def test_log_22_with_room_again_the_next_request_succeeds(
    agent: Agent, log_disk: SmallDisk
) -> None:
    """
    Nothing is restarted, and an event says how many observations are missing.
    """
    (agent.home / "runs").symlink_to(log_disk.path)
    agent.new("work", "cat")
    processes = [agent.pid_of(one) for one in ("daemon", "keeper", "work")]
    log_disk.fill()
    with contextlib.suppress(EvidenceUnavailable):
        while True:  # a block that was begun takes some more
            agent.ask("send", id="work", text="before")
    before = len(payloads(agent, "work", "observation"))
    for _ in range(3):
        agent.ask("wait", id="work", until="idle:1ms", timeout_ms=LONG)
    log_disk.free()

    agent.ask("send", id="work", text="after")

    assert [agent.pid_of(one) for one in ("daemon", "keeper", "work")] == processes
    missing, refused = gaps(agent, "work")
    written = len(payloads(agent, "work", "observation")) - before
    assert missing["observation"] + written == 3
    assert missing["observation"] > 0
    assert refused == 1
    assert typed(agent, "work")[-1] == "after\r"
    agent.cli("stop")
    assert_whole(agent, "work")


# -- LOG-32: the clock


def test_log_32_a_clock_that_is_set_back_breaks_no_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The time of day may go back by an hour; sequence and monotonic time never do.
    """
    times = [f"2026-01-01T{hour}:00:00.000000Z" for hour in ("12", "13", "12", "12", "13")]
    clock = iter(times)
    evidence = Evidence(tmp_path)
    monkeypatch.setattr(journal, "_now", lambda: next(clock))
    path = evidence.session("work", "one", events=len(times), sign=False)
    monkeypatch.undo()  # signing has a time of its own
    evidence.sign("work", "one")

    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    verdict = judged(journal_reader.lines(str(path)), evidence.signed().of("one"))

    assert [one["timestamp"] for one in events] == times
    assert [one["sequence"] for one in events] == [1, 2, 3, 4, 5]
    monotonic = [one["monotonic_ns"] for one in events]
    assert all(earlier < later for earlier, later in itertools.pairwise(monotonic))
    assert (verdict.result, verdict.error) == ("verified", None)


# -- LOG-34 and LOG-35: what is inside of a line stays there

NASTY = 'a\n"b\\\u2028c\ud800d'.encode(errors="surrogatepass") + b"\xff\xc3e\x00f\x85g"
SHOWN = 'a\n"b\\\u2028c\ufffd\ufffd\ufffdd\ufffd\ufffdef\ufffdg'


def test_log_34_any_output_is_recorded_in_one_line(agent: Agent) -> None:
    """
    Newline, quote, U+2028, a lone surrogate and bytes that are no text: each event is one line.

    What a terminal cannot show is recorded as `read` returns it, as U+FFFD.
    """
    agent.new("work")
    (agent.home / "nasty").write_bytes(NASTY)

    agent.ask("run", id="work", code='cat "$HOME/nasty"; echo')
    agent.ask("wait", id="work", until="prompt", timeout_ms=LONG)
    agent.cli("stop")

    events = events_of(agent, "work")
    assert [one["sequence"] for one in events] == list(range(1, len(events) + 1))
    (finished,) = payloads(agent, "work", "cell_finished")
    assert finished["output"] == SHOWN
    assert SHOWN in payloads(agent, "work", "observation")[-1]["stdout_tail"]
    assert_whole(agent, "work")


def test_log_34_a_command_line_that_is_no_text_is_recorded(agent: Agent) -> None:
    """
    A program of the session may have any bytes in its arguments; what waits see is still recorded.
    """
    agent.new("work")
    agent.ask("run", id="work", code=r"sh -c 'sleep 1000; :' $'\xfe' & echo begun")

    seen = agent.ask("wait", id="work", until="idle:50ms", timeout_ms=LONG)

    assert seen["matched"] == "idle:50ms"
    events_of(agent, "work")
    commands = payloads(agent, "work", "observation")[-1]["process_snapshot"]["processes"]
    assert any(one["command"].startswith("sh -c sleep 1000") for one in commands)
    agent.cli("stop")
    assert_whole(agent, "work")


def test_log_34_any_byte_of_input_comes_back(tmp_path: Path) -> None:
    """
    Input is recorded as numbers, so that all 256 bytes come back as they were.
    """
    written = Journal(str(tmp_path), name="work", instance="one")
    every = list(range(256))
    written.append(Notify(who="\n", message="\u2028\x00\x85"))
    written.append(SendKeys(bytes=every, input="text", entered=True))

    _, line = (tmp_path / "work.jsonl").read_bytes().removesuffix(b"\n").split(b"\n")

    assert json.loads(line)["kind"]["payload"]["bytes"] == every


def forged(event: dict[str, Any]) -> str:
    """Make the line that would continue a chain after *event*, if it became a line of its own."""
    continued = {
        **event,
        "id": "forged",
        "sequence": event["sequence"] + 1,
        "previous_hash": event["event_hash"],
    }
    del continued["event_hash"]
    text = json.dumps({**continued, "event_hash": ""}, separators=(",", ":"))
    return sealed(text.encode())[0].decode()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028", "\x85", "\x0b"])
def test_log_35_a_forged_event_stays_inside_of_a_string(shared: Agent, end: str) -> None:
    """
    Text that looks like the next event of the chain, on a line of its own, adds one event: its own.
    """
    name = shared.ask("new", repo="/tmp", argv=["cat"])["id"]
    shared.ask("send", id=name, text="before")
    before = recorded(shared, name)
    text = f"x{end}{forged(before[-1])}{end}"

    shared.ask("send", id=name, text=text, raw=True)

    added = events_of(shared, name)[len(before) :]
    assert [one["sequence"] for one in added] == [len(before) + 1, len(before) + 2]
    assert bytes(added[0]["kind"]["payload"]["bytes"]).decode() == f"{text}\r"
    assert added[1]["kind"]["payload"]["of"] == len(before) + 1
    assert "forged" not in [one["id"] for one in recorded(shared, name)]
    shared.ask("kill", id=name)
    eventually(lambda: shared.cli("verify", name).returncode == 0)


# -- LOG-36: a long journal

EVENTS = 100_000
WRITERS = 4


class Writers:
    """Clients that type into a session until they are stopped; *counts* are their answers."""

    def __init__(self, agent: Agent, name: str) -> None:
        self._agent = agent
        self._name = name
        self._stop = threading.Event()
        self.counts = [0] * WRITERS

    def _write(self, number: int) -> None:
        while not self._stop.is_set():
            self._agent.ask("send", id=self._name, text="x")
            self.counts[number] += 1

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Have all write; at the end the first failure is raised."""
        with ThreadPoolExecutor(WRITERS) as pool:
            futures = [pool.submit(self._write, number) for number in range(WRITERS)]
            try:
                yield
            finally:
                self._stop.set()
        for future in futures:
            future.result()


def replayed(agent: Agent, name: str, *, up_to: int) -> list[tuple[int, str | None, str]]:
    """Read a journal page by page to an event; return number, previous hash and hash of each."""
    found: list[tuple[int, str | None, str]] = []
    while len(found) < up_to:
        page = agent.ask("replay", id=name, after=len(found))
        assert page, f"{len(found)} of {up_to} events, and no more"
        found += [(one["sequence"], one.get("previous_hash"), one["event_hash"]) for one in page]
    return found


def test_log_36_a_long_journal_is_replayed_while_the_session_writes(agent: Agent) -> None:
    """
    A hundred thousand events: what is returned is a whole chain, and everybody goes on typing.
    """
    instance = agent.new("work", "cat")["instance"]
    with nobody_writes(agent, "work"):
        written = Journal(agent.layout.log_dir, name="work", instance=instance)
        while written.sequence < EVENTS:
            written.append(Notify(who="test", message="x"))
        written.close()
    writers = Writers(agent, "work")
    with writers.running():
        eventually(lambda: all(writers.counts))
        before = list(writers.counts)

        found = replayed(agent, "work", up_to=EVENTS + 2 * sum(before))

        during = [now - then for now, then in zip(writers.counts, before, strict=True)]
    hashes = [None, *(own for _, _, own in found)]
    assert found == [
        (number, hashes[number - 1], own) for number, (_, _, own) in enumerate(found, start=1)
    ]
    assert sum(during) > 0
    agent.cli("stop")
    assert_whole(agent, "work")


# -- LOG-40: two daemons


@pytest.fixture
def other() -> Iterator[Agent]:
    """Another user, with a home of their own."""
    user = Agent(Path(tempfile.mkdtemp(prefix="ap-")))
    try:
        yield user
    finally:
        user.cli("stop")
        user.reap()


def test_log_40_a_log_directory_has_one_daemon(agent: Agent, other: Agent) -> None:
    """
    A second one is refused and names the directory; it starts nothing, and no chain is disturbed.
    """
    agent.new("work", "cat")
    agent.ask("send", id="work", text="before")
    logs = agent.layout.log_dir
    socket = str(other.home / "other.sock")

    refused = [
        other.cli("serve", "--log-dir", logs),
        other.cli("serve", "--socket", socket, "--log-dir", logs),
    ]
    left = other.processes()
    agent.ask("send", id="work", text="after")
    agent.cli("stop")

    for done in refused:
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: {logs} is used by the daemon at ")
        assert agent.layout.socket in done.stderr
    assert left == []
    assert typed(agent, "work") == ["before\r", "after\r"]
    assert_whole(agent, "work")


def test_log_40_when_the_first_has_ended_the_next_one_goes_on(agent: Agent, other: Agent) -> None:
    """
    The directory is free with its daemon; what is in it stays verified by the first one's key.
    """
    agent.new("work", "cat")
    agent.cli("stop")
    before = file_of(agent, "work").read_bytes()
    (other.home / "runs").symlink_to(agent.layout.log_dir)

    other.new("work", "cat")
    other.cli("stop")

    (older,) = [
        one for one in Path(agent.layout.log_dir).glob("work.*.jsonl") if one.name != "work.jsonl"
    ]
    assert older.read_bytes() == before
    assert agent.cli("verify", str(older)).returncode == 0
    assert_whole(other, "work")


# -- RED-13 and RED-15: redaction

LINE = 10_000_000
# What the rules look for at the beginning of a secret, again and again.
UNITS = [
    *("x", "password=", "ghp_", "eyJhbGciOi"),
    *(pytest.param(unit, marks=pytest.mark.long) for unit in ("-----BEGIN KEY-----", "a://b:c@")),
]


def kept(agent: Agent) -> bytes:
    """Return all that is in the log directory, of compressed files what they contain."""
    contents: list[bytes] = []
    for path in Path(agent.layout.log_dir).rglob("*"):
        # A segment that is being compressed has another name the next moment.
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            data = path.read_bytes()
            contents.append(gzip.decompress(data) if path.suffix == ".gz" else data)
    return b"\n".join(contents)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.strip("-")[:8])
def test_red_13_a_line_of_ten_megabytes_keeps_nobody_waiting(shared: Agent, unit: str) -> None:
    """
    The cell that prints it ends, every `list` in between is answered, and its secret is not kept.
    """
    name = shared.ask("new", repo="/tmp", argv=["/bin/bash", "--norc", "--noprofile"])["id"]
    line = unit * (LINE // len(unit))
    (shared.home / "line").write_text(f"{line} API_TOKEN={SECRET} end")
    listed = 0

    code = 'cat "$HOME/line"; echo'
    with (
        shared.begin("run", id=name, code=code, timeout_ms=LONG) as answer,
        ThreadPoolExecutor(1) as pool,
    ):
        running = pool.submit(answer)
        while not running.done():
            assert name in [one["id"] for one in shared.ask("list")]
            listed += 1
    shared.ask("wait", id=name, until="prompt", timeout_ms=LONG)
    shared.ask("kill", id=name)

    ran = running.result()["data"]["data"]
    assert (ran["status"], ran["output"][-4:]) == ("done", " end")
    assert listed > 0
    assert kept(shared).count(SECRET.encode()) == 0
    eventually(lambda: shared.cli("verify", name).returncode == 0)


def test_red_15_what_is_hashed_has_no_secret(agent: Agent, tmp_path: Path) -> None:
    """
    A copy of the record is verified where the secret was never known, and putting it back fails.
    """
    agent.new("work", "cat", env={"DB_PASSWORD": "swordfish"})
    agent.ask("send", id="work", text=f"export API_TOKEN={SECRET}")
    agent.ask("send", id="work", text="the word is swordfish")
    agent.cli("stop")
    copy, points, key = (tmp_path / name for name in ("work.jsonl", "points", "pub"))
    copy.write_bytes(file_of(agent, "work").read_bytes())
    points.write_bytes(Path(agent.layout.checkpoints).read_bytes())
    key.write_text(agent.cli("key", "export-public").stdout)
    stranger = Agent(tmp_path / "stranger")
    words = ("verify", str(copy), "--checkpoints", str(points), "--key", str(key))

    clean = stranger.cli(*words)
    lines = [json.loads(line) for line in copy.read_bytes().splitlines()]
    marker = json.dumps(list(b"[REDACTED]"), separators=(",", ":"))[1:-1]
    secret = json.dumps(list(SECRET.encode()), separators=(",", ":"))[1:-1]
    assert marker in copy.read_text()
    copy.write_text(copy.read_text().replace(marker, secret))
    restored = stranger.cli(*words)

    assert (clean.returncode, clean.stderr) == (0, "")
    texts = [bytes(one["kind"]["payload"].get("bytes", [])) for one in lines]
    assert b"".join(texts).count(b"[REDACTED") == 2
    assert not any(one in b"".join(texts) for one in (SECRET.encode(), b"swordfish"))
    assert restored.returncode == 1
    assert "its hash does not match" in restored.stdout


# -- what was signed stays signed


def rewritten(path: Path, old: str, new: str) -> None:
    """Change a text in a journal and make all its hashes good again, as anybody can."""
    lines, head = [], None
    for line in path.read_bytes().splitlines():
        event = json.loads(line.replace(old.encode(), new.encode()))
        if head is not None:
            event["previous_hash"] = head
        event["event_hash"] = ""
        made, head = sealed(json.dumps(event, separators=(",", ":")).encode())
        lines.append(made)
    path.write_bytes(b"\n".join(lines) + b"\n")


@pytest.mark.parametrize("restarted", [False, True])
def test_log_07_a_proof_does_not_sign_what_was_rewritten(agent: Agent, *, restarted: bool) -> None:
    """
    Neither in the process that signed the record, nor in the one after it.
    """
    agent.new("work")
    agent.ask("kill", id="work")
    eventually(lambda: agent.cli("verify", "work").returncode == 0)
    rewritten(file_of(agent, "work"), '"cwd":"/tmp"', '"cwd":"/var"')
    assert agent.cli("verify", "work").returncode == 1
    if restarted:
        agent.cli("stop")

    proof = agent.cli("proof", "work", "--json")

    assert '"integrity":"verified"' not in proof.stdout.replace(" ", "")
    assert agent.cli("verify", "work").returncode == 1


def test_a_proof_of_another_sessions_journal_is_refused(agent: Agent) -> None:
    """
    Nothing is added to a journal under a name that is not its own.
    """
    for name in ("alice", "bob"):
        agent.new(name)
        agent.ask("kill", id=name)
        eventually(lambda name=name: agent.cli("verify", name).returncode == 0)  # type: ignore[misc]
    copied = file_of(agent, "alice").read_bytes()
    file_of(agent, "bob").write_bytes(copied)

    proof = agent.cli("proof", "bob")

    assert proof.returncode != 0
    assert "proves nothing of session bob" in proof.stderr
    assert file_of(agent, "bob").read_bytes() == copied
    assert agent.cli("verify", "alice").returncode == 0
    assert agent.cli("verify", "bob").returncode == 1
