"""Hosts may die, hang and talk nonsense: their own sessions move on, others never notice.

Each test is named after its row of the reliability contract.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from agent_pty.core.frame import HEADER, LARGEST, Frame, Kind, encoded
from agent_pty.daemon.host_link import HostLink
from agent_pty.errors import AgentPtyError, HostLost
from agent_pty.host.message import Describe
from support.agent import Agent, alive, ended, eventually, slay

LONG = 60_000


def by_host(agent: Agent) -> dict[int, list[dict[str, Any]]]:
    """Return the sessions of each host."""
    found: dict[int, list[dict[str, Any]]] = {}
    for one in agent.ask("list"):
        found.setdefault(one["host_pid"], []).append(one)
    return found


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Freeze a process as a hung machine would."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=["hst_01", "hst_02"])
def test_hst_01_02_the_sessions_of_a_dead_host_move(agent: Agent, number: signal.Signals) -> None:
    """
    Ten sessions move to a new host and say why; the others are untouched, new ones work.
    """
    agent.new("s0", "cat")
    while min(len(sessions) for sessions in by_host(agent).values()) < 10:
        agent.new(f"s{len(agent.ask('list'))}", "cat")
    host, moved = by_host(agent).popitem()
    others = [one for one in agent.ask("list") if one["host_pid"] != host]

    slay(host, by=number)

    for one in moved:
        agent.ask("screen", id=one["id"])
        now = agent.info(one["id"])
        assert (now["state"], now["pid"]) == ("running", one["pid"])
        assert now["host_pid"] != host
        assert f"signal {number.value}" in now["diagnosis"]
    after = {one["id"]: one for one in agent.ask("list")}
    for one in others:
        assert after[one["id"]]["host_pid"] == one["host_pid"]
        assert after[one["id"]]["diagnosis"] is None
    assert agent.new("fresh")["id"] == "fresh"


def test_hst_01_a_host_may_die_while_it_takes_over(agent: Agent) -> None:
    """
    Sessions that were on their way to a host that died are moved again, none is forgotten.
    """
    names = [f"s{number}" for number in range(20)]
    pids = {name: agent.new(name, "cat")["pid"] for name in names}
    known = {host["pid"] for host in agent.ask("status")["hosts"]}

    slay(known.pop())
    for _ in range(2):
        slay(*successors(agent, known))

    for name in names:
        agent.ask("screen", id=name)
    assert {one["id"]: one["pid"] for one in agent.ask("list")} == pids


def successors(agent: Agent, known: set[int]) -> set[int]:
    """Return hosts that were not known before, the moment there are some."""
    found: set[int] = set()

    def look() -> bool:
        found.update({host["pid"] for host in agent.ask("status")["hosts"]} - known)
        return bool(found)

    eventually(look)
    known |= found
    return found


def test_hst_03_a_host_that_hangs_is_told_from_one_that_works(agent: Agent) -> None:
    """
    A request to a frozen host fails within seconds; others are answered; thawed, it works on.
    """
    agent.new("stuck", isolate=True)
    agent.new("free")
    host = agent.pid_of("stuck")

    with stopped(host):
        with agent.begin("screen", id="stuck") as answer:
            agent.ask("screen", id="free")
            assert responsive(agent, host)  # so the answer did not wait for the frozen one
            envelope = answer()
        assert envelope["code"] == "host_unresponsive"
        assert envelope["details"]["delivery"] == "unknown"
        assert not responsive(agent, host)
        assert "does not answer" in agent.info("stuck")["diagnosis"]

    agent.ask("send", id="stuck", text="echo back-$((1+1))")
    agent.ask("wait", id="stuck", until="back-2", timeout_ms=LONG)
    assert responsive(agent, host)
    assert agent.info("stuck")["diagnosis"] is None


def responsive(agent: Agent, pid: int) -> bool:
    """Return the daemon's opinion of a host."""
    hosts: list[dict[str, Any]] = agent.ask("status")["hosts"]
    return next(bool(host["responsive"]) for host in hosts if host["pid"] == pid)


def test_trial_10_a_host_that_hangs_does_not_keep_new_sessions_away(agent: Agent) -> None:
    """
    While one host is frozen, every `new` gets a host that answers, and none fails.
    """
    agent.new("stuck", "cat")
    while len(by_host(agent)) < min(2, os.cpu_count() or 1):
        agent.new(f"s{len(agent.ask('list'))}", "cat")
    host = agent.pid_of("stuck")

    with stopped(host):
        made = [agent.cli("new", "--name", f"n{number}") for number in range(4)]
        pids = [one["host_pid"] for one in agent.ask("list") if one["id"].startswith("n")]

    assert [one.returncode for one in made] == [0] * 4
    assert len(pids) == 4
    assert host not in pids


def test_hst_03_a_daemon_starts_beside_a_host_that_hangs(agent: Agent) -> None:
    """
    A frozen host keeps its sessions from nobody's daemon; thawed, it has them still.
    """
    shell = agent.new("stuck", isolate=True)["pid"]
    agent.new("free")
    host, daemon = agent.pid_of("stuck"), agent.pid_of("daemon")

    with stopped(host):
        slay(daemon)
        agent.ask("screen", id="free")

    agent.ask("send", id="stuck", text="echo back-$((1+1))")
    agent.ask("wait", id="stuck", until="back-2", timeout_ms=LONG)
    assert agent.pid_of("stuck") == host
    assert agent.info("stuck")["pid"] == shell


def test_hst_03_stop_ends_what_a_hung_host_holds(agent: Agent) -> None:
    """
    Neither the frozen host nor its programs outlive `stop`.
    """
    shell = agent.new("stuck")["pid"]
    host = agent.pid_of("stuck")
    os.kill(host, signal.SIGSTOP)

    assert agent.cli("stop").returncode == 0

    assert not alive(shell)
    ended(host)
    assert agent.processes() == []


def test_hst_04_a_host_that_dies_again_and_again_is_given_up(agent: Agent) -> None:
    """
    After five deaths the session is lost and says why; daemon and new sessions live on.
    """
    agent.new("doomed", isolate=True)
    daemon = agent.pid_of("daemon")

    for _ in range(5):
        eventually(lambda: agent.info("doomed")["host_pid"] is not None)
        slay(agent.pid_of("doomed"))
    eventually(lambda: agent.info("doomed")["state"] == "lost")

    assert "5 hosts died" in agent.info("doomed")["diagnosis"]
    looked = agent.cli("screen", "doomed")
    assert looked.returncode == 6
    assert "session doomed is lost" in looked.stderr
    assert agent.pid_of("daemon") == daemon
    assert agent.new("fresh")["id"] == "fresh"


def guilty_and_neighbours(agent: Agent) -> list[str]:
    """Start sessions, and return those that share the host of the first one."""
    agent.new("guilty", "cat")
    while len(by_host(agent)[agent.pid_of("guilty")]) < 3:
        agent.new(f"s{len(agent.ask('list'))}", "cat")
    return [one["id"] for one in by_host(agent)[agent.pid_of("guilty")] if one["id"] != "guilty"]


def kill_hosts_of_guilty(agent: Agent) -> None:
    """Kill each host that the session gets, until it gets none."""

    def lost() -> bool:
        found = agent.info("guilty")
        if found["host_pid"] is not None:
            with suppress(ProcessLookupError):
                slay(found["host_pid"])
        return bool(found["state"] == "lost")

    eventually(lost)


def test_trial_10_a_session_that_kills_its_hosts_loses_no_neighbour(agent: Agent) -> None:
    """
    After five deaths it is lost alone; those that shared a host with it have others and work.
    """
    neighbours = guilty_and_neighbours(agent)
    pids = {one["id"]: one["pid"] for one in agent.ask("list")}

    kill_hosts_of_guilty(agent)

    for name in neighbours:
        agent.ask("send", id=name, text="still-here")
        agent.ask("wait", id=name, until="still-here", timeout_ms=LONG)
    states = {one["id"]: one["state"] for one in agent.ask("list")}
    assert states == {**dict.fromkeys(pids, "running"), "guilty": "lost"}
    assert {one["id"]: one["pid"] for one in agent.ask("list")} == pids


def test_trial_10_a_session_that_is_lost_can_be_tried_again(agent: Agent) -> None:
    """
    Its error names `restart --keep`, and that gives the same program another host.
    """
    guilty_and_neighbours(agent)
    kill_hosts_of_guilty(agent)
    pid = agent.info("guilty")["pid"]

    looked = agent.cli("screen", "guilty")
    agent.cli("restart", "--keep")

    assert looked.returncode == 6
    assert "`agent-pty restart --keep` tries again" in looked.stderr
    agent.ask("send", id="guilty", text="back-again")
    agent.ask("wait", id="guilty", until="back-again", timeout_ms=LONG)
    assert agent.info("guilty")["pid"] == pid


def test_trial_10_hosts_of_separated_sessions_end_with_them(agent: Agent) -> None:
    """
    A host that was started to separate a session is gone when its session is killed.
    """
    neighbours = guilty_and_neighbours(agent)
    kill_hosts_of_guilty(agent)
    hosts = [agent.pid_of(name) for name in neighbours]

    for name in neighbours:
        agent.ask("kill", id=name)

    for host in hosts:
        ended(host)


def test_hst_04_what_is_lost_is_still_ended(agent: Agent) -> None:
    """
    A lost session can be killed, and `stop` ends those that were not.
    """
    deaf = ("nohup", "sleep", "1000")  # to the end of its terminal
    pids = [agent.new(name, *deaf, isolate=True)["pid"] for name in ("one", "two")]

    def lost() -> bool:
        for pid in filter(None, by_host(agent)):
            with suppress(ProcessLookupError):
                slay(pid)
        return {one["state"] for one in agent.ask("list")} == {"lost"}

    eventually(lost)

    killed = agent.ask("kill", id="one")
    stopped_all = agent.cli("stop")

    assert [process["pid"] for process in killed["ended"]] == pids[:1]
    assert stopped_all.returncode == 0
    assert [pid for pid in pids if alive(pid)] == []
    assert agent.processes() == []


NONSENSE = {
    "garbage": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "unknown kind": HEADER.pack(0, 99, 1),
    "oversize": HEADER.pack(LARGEST + 1, Kind.RESPONSE, 1),
    "truncated": encoded(Frame(kind=Kind.RESPONSE, number=1, body=b"{}"))[:-1],
}


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_hst_06_a_host_that_talks_nonsense_is_dropped(nonsense: str) -> None:
    """
    Whoever asked it is told that the host was lost; the owner hears of it once.
    """

    async def scene() -> tuple[AgentPtyError | None, list[str]]:
        lost: list[str] = []
        gone = asyncio.Event()

        def on_lost(link: HostLink) -> None:
            lost.append(link.name)
            gone.set()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(NONSENSE[nonsense])
            if nonsense != "truncated":
                await reader.read()  # until the daemon hangs up
            writer.close()

        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/h1.sock"
            server = await asyncio.start_unix_server(talk, path)
            link = HostLink("h1", 1, on_lost)
            await asyncio.get_running_loop().create_unix_connection(lambda: link, path)
            error = None
            try:
                await link.request(Describe())
            except AgentPtyError as raised:
                error = raised
            await gone.wait()
            server.close()
            await server.wait_closed()
        return error, lost

    error, lost = asyncio.run(scene())

    assert isinstance(error, HostLost)
    assert error.details["delivery"] == "unknown"
    assert lost == ["h1"]


def test_hst_06_an_answer_that_nobody_asked_for_is_passed_over() -> None:
    """
    A frame for an unknown request is no answer to another one.
    """
    link = HostLink("h1", 1, lambda _: None)

    link.data_received(encoded(Frame(kind=Kind.RESPONSE, number=7, body=b"{}")))

    assert link.responsive


def test_hst_07_hosts_outlive_the_daemon(agent: Agent) -> None:
    """
    The next daemon finds the same host with the same cursor.
    """
    agent.new("work")
    agent.ask("send", id="work", text="echo before-$((1+1))")
    agent.ask("wait", id="work", until="before-2", timeout_ms=LONG)
    agent.ask("wait", id="work", until="idle:300ms", timeout_ms=LONG)
    before = agent.info("work")

    slay(agent.pid_of("daemon"))

    after = agent.info("work")
    assert alive(before["host_pid"])
    assert {**after, "quiet_ms": 0} == {**before, "quiet_ms": 0}


def test_an_isolated_session_has_a_host_that_ends_with_it(agent: Agent) -> None:
    """
    `new --isolate` gives a process of its own, which leaves neither itself nor its socket.
    """
    agent.new("one")
    agent.new("two")
    made = agent.cli("new", "--isolate", "--name", "alone", "--repo", "/tmp")
    host, name = agent.pid_of("alone"), agent.info("alone")["host"]

    assert made.returncode == 0
    assert [one["id"] for one in by_host(agent)[host]] == ["alone"]
    agent.ask("kill", id="alone")

    ended(host)
    eventually(lambda: not os.path.exists(agent.layout.host_socket(name)))
    assert host not in [one["pid"] for one in agent.ask("status")["hosts"]]
