"""`kill` ends everything that a session started, wherever it went, and nothing else.

Each test is named after its row of the reliability contract.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty.errors import AgentPtyError
from agent_pty.keeper.link import KeeperLink
from agent_pty.keeper.message import Spawn
from agent_pty.process import table, tree
from support.agent import Agent, alive, ended, eventually, running, slay

LONG = 60_000
# Nobody else sleeps for so long: by this number a test knows its own.
_naps = itertools.count(31_000_000 + os.getpid() * 100)


@pytest.fixture
def nap() -> Iterator[str]:
    """Give a number of seconds that only this test sleeps for."""
    seconds = str(next(_naps))
    yield seconds
    for pid in running("sleep", seconds):
        slay(pid)


def start(agent: Agent, script: str, *, sleepers: int, nap: str) -> list[int]:
    """Start a script that says `up` when it has begun; return the sleepers it has begun."""
    agent.new("work", "bash", "-c", f"{script}\necho up-$((1+1)); read x")
    agent.ask("wait", id="work", until="up-2", timeout_ms=LONG)
    eventually(lambda: len(running("sleep", nap)) == sleepers)
    return running("sleep", nap)


def kill(agent: Agent) -> dict[str, Any]:
    """End the session and see that the answer claims no survivor."""
    killed: dict[str, Any] = agent.ask("kill", id="work")
    assert killed["survivors"] == []
    return killed


HIDEOUTS = {
    "child": "sleep {n} & sleep {n} &",
    "grandchild": "(sleep {n}; true) & (sleep {n}; true) &",
    "nohup": "nohup sleep {n} >/dev/null 2>&1 & nohup sleep {n} >/dev/null 2>&1 &",
    "disowned": "sleep {n} & disown; sleep {n} & disown",
    "double fork": "(sleep {n} &); (sleep {n} &)",
}


@pytest.mark.parametrize("hideout", HIDEOUTS)
def test_kil_01_the_whole_tree_is_gone(agent: Agent, nap: str, hideout: str) -> None:
    """
    Children, grandchildren, nohup, disowned and orphaned: all gone, all named.
    """
    sleepers = start(agent, HIDEOUTS[hideout].format(n=nap), sleepers=2, nap=nap)

    killed = kill(agent)

    assert running("sleep", nap) == []
    assert set(sleepers) <= {process["pid"] for process in killed["ended"]}
    assert f"sleep {nap}" in {process["command"] for process in killed["ended"]}


FLIGHTS = {
    "setsid": "setsid sleep {n} &",
    "setsid and double fork": "(setsid sleep {n} &)",
    "emptied environment": "(setsid env -i sleep {n} &)",
}


@pytest.mark.parametrize("flight", FLIGHTS)
def test_kil_02_a_child_that_called_setsid_is_gone(agent: Agent, nap: str, flight: str) -> None:
    """
    Neither a session of its own, nor a lost parent, nor an empty environment hides a process.
    """
    start(agent, FLIGHTS[flight].format(n=nap), sleepers=1, nap=nap)

    kill(agent)

    assert running("sleep", nap) == []


def test_kil_02_the_example_of_the_issue(agent: Agent, nap: str) -> None:
    """
    A child with its own session, an orphan and a child: after `kill` no sleep lives.
    """
    agent.new("work", "sh", "-c", f"setsid sleep {nap} & (sleep {nap} &) ; sleep {nap}")
    eventually(lambda: len(running("sleep", nap)) == 3)

    kill(agent)

    assert running("sleep", nap) == []


def test_kil_02_a_neighbour_is_spared(agent: Agent, nap: str) -> None:
    """
    What another session started under the same keeper is not touched.
    """
    agent.new("other", "bash", "-c", f"(setsid sleep {nap} &); echo up-$((1+1)); read x")
    agent.ask("wait", id="other", until="up-2", timeout_ms=LONG)
    eventually(lambda: len(running("sleep", nap)) == 1)
    agent.new("work")

    kill(agent)

    assert len(running("sleep", nap)) == 1
    assert agent.info("other")["state"] == "running"


def test_kil_04_deaf_to_polite_signals(agent: Agent, nap: str) -> None:
    """
    Who ignores SIGTERM and SIGHUP gets SIGKILL.
    """
    start(agent, f"trap '' TERM HUP INT; sleep {nap} &", sleepers=1, nap=nap)

    killed = kill(agent)

    assert running("sleep", nap) == []
    assert killed["signal"] == 9


def test_kil_04_polite_signals_come_first(agent: Agent) -> None:
    """
    A program that listens may tidy up before it goes.
    """
    note = agent.home / "tidied"
    script = f"trap 'echo x > {note}; exit' HUP TERM; echo up-$((1+1)); read x"
    agent.new("work", "bash", "-c", script)
    agent.ask("wait", id="work", until="up-2", timeout_ms=LONG)

    kill(agent)

    assert note.read_text() == "x\n"


def test_kil_05_a_fork_bomb_ends(agent: Agent, nap: str) -> None:
    """
    Processes that fork again when one dies are frozen before they are killed.
    """
    # Up to 3 * 2^5 forkers, each of which replaces a child that ended.
    bomb = (
        "trap '' TERM HUP; "
        f"grow() {{ if (($1 > 0)); then grow $(($1-1)) & grow $(($1-1)) & fi; "
        f"for i in 1 2 3; do sleep {nap}; done; }}; "
        "grow 5 & grow 5 & grow 5 &"
    )
    agent.new("work", "bash", "-c", f"{bomb} echo up-$((1+1)); read x")
    eventually(lambda: len(running("sleep", nap)) > 60)
    agent.new("other")

    kill(agent)

    assert running("sleep", nap) == []
    assert agent.info("other")["state"] == "running"


def test_kil_05_processes_that_fork_and_leave_are_caught(agent: Agent) -> None:
    """
    A chain of processes, each gone before it can be looked at, ends with its session.
    """
    hop = (
        "hop() { (($1 > 0)) && hop $(($1-1)) & }; for i in 1 2 3 4 5 6 7 8 9 10; do hop 2000; done"
    )
    agent.new("work", "bash", "-c", f"trap '' TERM HUP; {hop}; echo up-$((1+1)); read x")
    agent.ask("wait", id="work", until="up-2", timeout_ms=LONG)
    group = agent.info("work")["pid"]

    kill(agent)

    assert not end_group(group)


def end_group(group: int) -> bool:
    """Kill a process group; False if nobody was in it."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_kil_07_a_stopped_process_is_gone(agent: Agent, nap: str) -> None:
    """
    A process under SIGSTOP is ended like any other.
    """
    (sleeper,) = start(agent, f"sleep {nap} &", sleepers=1, nap=nap)
    os.kill(sleeper, signal.SIGSTOP)
    eventually(lambda: "T (stopped)" in Path(f"/proc/{sleeper}/status").read_text())

    kill(agent)

    assert not alive(sleeper)


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process of somebody else, who leads a session as every program of ours does."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        yield process
        process.kill()


def test_kil_08_a_later_process_with_the_same_pid_is_not_signalled(
    stranger: subprocess.Popen[bytes],
) -> None:
    """
    A pid alone is nobody: when the birth differs, nothing is sent.
    """
    now = table.entry(stranger.pid)
    assert now is not None
    earlier = dataclasses.replace(now, birth=now.birth - 1)

    assert not tree.send(earlier, 9)
    assert stranger.poll() is None
    assert tree.send(now, 9)
    assert stranger.wait() == -9


def test_kil_08_a_session_whose_pid_was_taken_has_no_members(
    stranger: subprocess.Popen[bytes],
) -> None:
    """
    The leader is dead and another process has its pid, as pid, group and session: it is spared.
    """
    now = table.entry(stranger.pid)
    assert now is not None
    root = tree.Root(
        pid=stranger.pid, birth=now.birth - 1, instance="gone", terminal=None, keeper=None
    )

    killed = asyncio.run(tree.kill_trees([root]))

    assert (killed.ended, killed.survivors) == ([], [])
    assert stranger.poll() is None


@pytest.mark.parametrize("op", ["wait", "send"])
def test_kil_09_a_request_in_flight_is_told_that_the_session_ended(agent: Agent, op: str) -> None:
    """
    Who waits for or types into a session that is killed gets `exited`, at once.
    """
    agent.new("work", "sh", "-c", "stty raw -echo; echo up-$((1+1)); exec sleep 1000")
    agent.ask("wait", id="work", until="up-2", timeout_ms=LONG)
    fields: dict[str, Any] = {"wait": {"until": "never"}, "send": {"text": "x" * 100_000}}[op]

    with agent.begin(op, id="work", **fields) as answer:
        agent.ask("screen", id="work")
        kill(agent)

        assert answer()["code"] == "exited"


def test_kil_09_killing_twice_is_no_error(agent: Agent) -> None:
    """
    The second kill finds nothing to do and says so.
    """
    agent.new("work")
    kill(agent)

    assert kill(agent)["already"]
    assert agent.cli("kill", "work").returncode == 0


def test_kil_09_an_exited_session_can_be_killed(agent: Agent) -> None:
    """
    Killing what ended by itself frees its name and tells its exit code.
    """
    agent.new("work", "sh", "-c", "exit 3")
    agent.ask("wait", id="work", until="exit", timeout_ms=LONG)

    killed = kill(agent)

    assert killed["exit_code"] == 3
    assert agent.ask("list") == []


def test_kil_09_an_unknown_session_is_an_error(agent: Agent) -> None:
    """
    A name that never was is told from one that is gone.
    """
    killed = agent.cli("kill", "nobody")

    assert killed.returncode == 1
    assert killed.stderr.splitlines() == [
        "error: unknown session nobody",
        "hint: there are no sessions: agent-pty new --name nobody starts this one",
    ]


def test_kil_10_many_at_once(agent: Agent) -> None:
    """
    Kill, send, screen and new on one name from many threads: every answer is an answer.
    """
    codes: set[str] = set()
    for _ in range(20):
        agent.new("work", "cat")
        _all_at_once(
            *[lambda: _code(agent, "kill", id="work")] * 4,
            *[lambda: _code(agent, "send", id="work", text="x")] * 4,
            *[lambda: _code(agent, "screen", id="work")] * 4,
            *[lambda: _code(agent, "new", id="work", repo="/tmp", argv=["cat"])] * 2,
            into=codes,
        )
        _code(agent, "kill", id="work")

    assert codes <= {"ok", "unknown_session", "exited", "session_exists"}
    assert agent.ask("list") == []
    hosts = {host["pid"] for host in agent.ask("status")["hosts"]}
    assert set(agent.processes()) == {agent.pid_of("daemon"), agent.pid_of("keeper"), *hosts}


def _code(agent: Agent, op: str, **fields: Any) -> str:
    try:
        agent.ask(op, **fields)
    except AgentPtyError as error:
        return error.code
    return "ok"


def _all_at_once(*works: Callable[[], str], into: set[str]) -> None:
    gate = threading.Barrier(len(works))

    def work(one: Callable[[], str]) -> None:
        gate.wait()
        into.add(one())

    threads = [threading.Thread(target=work, args=(one,)) for one in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _holdings(agent: Agent) -> dict[str, int]:
    """Count what our processes hold, terminals among it, and children that nobody reaped."""
    status = agent.ask("status")
    ours = [status["pid"], status["keeper_pid"], *(host["pid"] for host in status["hosts"])]
    return {
        "descriptors": sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in ours),
        "zombies": sum(
            entry.ppid in ours and not entry.alive for entry in table.snapshot().values()
        ),
        "directories": len(os.listdir(agent.layout.sessions)),
        "sessions": status["session_count"],
    }  # fmt: skip


def _holds_no_more(agent: Agent, before: dict[str, int]) -> bool:
    """Whether nothing was added; a file may have been open for a moment while it was counted."""
    now = _holdings(agent)
    return all(now[name] <= count for name, count in before.items())


def _warmed(agent: Agent) -> dict[str, int]:
    """Start every host there will be, then count."""
    names = [f"warm{number}" for number in range(os.cpu_count() or 1)]
    for name in names:
        agent.new(name, "cat")
    for name in names:
        agent.ask("kill", id=name)
    return _holdings(agent)


def test_kil_12_sessions_that_end_by_themselves_leave_nothing(agent: Agent) -> None:
    """
    A hundred programs that exit: no zombie, no terminal, no descriptor, no file.
    """
    before = _warmed(agent)

    for number in range(100):
        agent.new(f"s{number}", "true")
        agent.ask("wait", id=f"s{number}", until="exit", timeout_ms=LONG)
    listed = agent.ask("list")
    for one in listed:
        agent.ask("kill", id=one["id"])

    assert {one["exit_code"] for one in listed} == {0}
    assert [one["id"] for one in listed] == sorted(f"s{number}" for number in range(75, 100))
    eventually(lambda: _holds_no_more(agent, before))


FAILURES: dict[str, dict[str, Any]] = {
    "missing shell": {"repo": "/tmp", "shell": "/nowhere/sh"},
    "missing directory": {"repo": "/nowhere"},
    "not executable": {"repo": "/tmp", "argv": ["/etc/passwd"]},
}


@pytest.mark.parametrize("failure", FAILURES)
def test_kil_13_programs_that_do_not_start_leave_nothing(agent: Agent, failure: str) -> None:
    """
    A hundred failures to start: a clear code each time, and nothing held afterwards.
    """
    before = _warmed(agent)

    codes = {_code(agent, "new", id="work", **FAILURES[failure]) for _ in range(100)}

    assert codes == {"spawn_failed"}
    eventually(lambda: _holds_no_more(agent, before))


ENDINGS = {
    "0": ("exit 0", 0, None),
    "1": ("exit 1", 1, None),
    "255": ("exit 255", 255, None),
    "SIGSEGV": ("kill -SEGV $$", None, 11),
    "SIGKILL": ("kill -KILL $$", None, 9),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_kil_14_an_ending_is_known_exactly(agent: Agent, ending: str) -> None:
    """
    Code or signal, the same wherever one asks, and for good.
    """
    script, code, number = ENDINGS[ending]
    agent.new("work", "sh", "-c", script)

    seen = agent.ask("wait", id="work", until="exit", timeout_ms=LONG)

    assert seen["exit_status"] == (code if number is None else 128 + number)
    for found in (agent.info("work"), agent.ask("read", id="work"), _indexed(agent)):
        assert (found["state"], found["exit_code"], found["signal"]) == ("exited", code, number)
    killed = kill(agent)
    assert (killed["exit_code"], killed["signal"]) == (code, number)


def _indexed(agent: Agent) -> dict[str, Any]:
    """Return the only session of the index once its end is written there."""

    def index() -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            found: list[dict[str, Any]] = json.loads(Path(agent.layout.session_index).read_text())
            return found[0] if found else {}
        return {}

    eventually(lambda: index().get("state") == "exited")
    return index()


def test_kil_17_after_the_death_of_the_daemon_everything_is_listed(agent: Agent, nap: str) -> None:
    """
    The next daemon knows every process of ours; who emptied its environment is still ended.
    """
    start(agent, f"(setsid env -i sleep {nap} &)", sleepers=1, nap=nap)
    slay(agent.pid_of("daemon"))

    found = agent.info("work")

    hosts = {host["pid"] for host in agent.ask("status")["hosts"]}
    ours = {agent.pid_of("daemon"), agent.pid_of("keeper"), *hosts}
    assert set(agent.processes()) == {*ours, found["pid"]}
    kill(agent)
    assert running("sleep", nap) == []


def test_kil_17_a_program_that_no_daemon_heard_of_is_ended(agent: Agent, nap: str) -> None:
    """
    A daemon that died between the start of a program and its first file leaves no stray.
    """
    agent.new("work")
    program = asyncio.run(_spawn_behind_the_daemon(agent, f"trap '' HUP; sleep {nap}"))
    slay(agent.pid_of("daemon"))

    listed = agent.ask("list")

    assert [one["id"] for one in listed] == ["work"]
    ended(program)
    assert running("sleep", nap) == []


async def _spawn_behind_the_daemon(agent: Agent, script: str) -> int:
    """Ask the keeper as a daemon would, and go no further."""
    link = KeeperLink(on_event=lambda _event, _fds: None, on_lost=lambda: None)
    await link.connect(agent.layout.keeper_socket, role="client")
    started = await link.ask(
        Spawn(
            instance="unheard",
            argv=["bash", "-c", script],
            cwd="/tmp",
            env={tree.INSTANCE_VARIABLE: "unheard"},
            rows=24,
            cols=80,
        )
    )
    link.close()
    return started.pid
