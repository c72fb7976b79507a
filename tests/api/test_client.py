"""The client of a real daemon with real shells."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

import agent_pty
from agent_pty import Client
from agent_pty.errors import (
    AgentPtyError,
    BadRequest,
    DaemonUnreachable,
    SessionExists,
    UnknownSession,
    VersionMismatch,
    WaitTimeout,
)
from agent_pty.ops.model import Screen
from support.agent import Agent, alive, ended, eventually, slay

SENT = b'{"ok":true,"data":{"type":"sent","data":{"cursor":7}},"error":null}\n'


def test_a_session_is_used_as_in_the_first_example(client: Client) -> None:
    """
    Run, wait, look, press keys: each is one call with a typed answer.
    """
    with client.new("bash --norc", id="tour") as shell:
        assert shell.run("(exit 3)").exit_code == 3
        shell.send("echo ready-$((1 + 1)); cat")
        assert shell.wait("ready-2").matched == "ready-2"
        assert isinstance(shell.screen(), Screen)
        assert "ready-2" in shell.screen().text
        shell.keys("ctrl-c")
        assert shell.wait("prompt").failed is False


def test_the_end_of_a_block_kills_the_session(client: Client) -> None:
    """
    Also one that was killed inside, and one whose block failed.
    """
    with client.new("bash", id="brief") as shell:
        pid = shell.pid
    with client.new("bash", id="killed-inside") as other:
        other.kill()
    with pytest.raises(ZeroDivisionError), client.new("bash", id="failed"):
        raise ZeroDivisionError

    assert pid is not None
    ended(pid)
    assert [one.id for one in client.list()] == []


def test_a_session_by_name_is_no_block(client: Client) -> None:
    """
    Only who made a session has it killed by leaving a block.
    """
    assert not hasattr(client.session("any"), "__enter__")


def test_the_program_may_be_a_text_or_a_list(client: Client, tmp_path: Path) -> None:
    """
    A text is split as a shell would do it; the directory is the caller's, or a path.
    """
    script = "import os, sys; print(sys.argv[1:], os.getcwd())"

    listed = client.exec(["python3", "-c", script, "a b"], repo=tmp_path)
    split = client.exec(f"python3 -c '{script}' 'a b'")

    assert listed.output.strip() == f"['a b'] {tmp_path}"
    assert split.output.strip() == f"['a b'] {Path.cwd()}"
    with pytest.raises(BadRequest, match="No closing quotation"):
        client.exec("echo '")


def test_a_program_has_the_environment_of_its_caller(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Unless another is given; what cannot be sent as text is named in a warning.
    """
    show = ["sh", "-c", "echo $MINE-$ADDED"]
    monkeypatch.setenv("MINE", "own")

    own = client.exec(show, env={"ADDED": "more"})
    other = client.exec(show, environment={"PATH": os.environ["PATH"], "MINE": "other"})
    monkeypatch.setenv("MINE", "\udcff")
    with pytest.warns(UserWarning, match="'MINE' is not UTF-8") as warned:
        without = client.exec(show)

    assert [one.output.strip() for one in (own, other, without)] == ["own-more", "other-", "-"]
    assert warned[0].filename == __file__


def test_a_renamed_session_is_followed(client: Client) -> None:
    """
    The object has the new name.
    """
    with client.new("bash", id="before") as shell:
        shell.rename("after")

        assert shell.id == "after"
        assert shell.run("echo here").output == "here"


def test_an_error_is_an_exception_of_its_class(client: Client) -> None:
    """
    With the message and the details of the answer; all are of one tree.
    """
    with pytest.raises(UnknownSession, match="unknown session nobody") as unknown:
        client.session("nobody").screen()
    with client.new("bash", id="taken"), pytest.raises(SessionExists):
        client.new("bash", id="taken")
    with pytest.raises(BadRequest):
        client.new("bash", rows=0)
    with pytest.raises(BadRequest, match="UTF-8"):
        client.session("nobody").send("\udcff")

    assert isinstance(unknown.value, AgentPtyError)
    assert unknown.value.details == {"id": "nobody"}
    assert agent_pty.AgentPtyError is AgentPtyError


def test_a_wait_in_vain_carries_what_was_seen(client: Client) -> None:
    """
    It is a TimeoutError as well.
    """
    with client.new("bash", id="vain") as shell, pytest.raises(TimeoutError) as late:
        shell.wait("never", timeout_ms=0)

    assert isinstance(late.value, WaitTimeout)
    assert "screen" in late.value.details["observation"]


def test_a_key_is_carried_out_once(client: Client) -> None:
    """
    The same key again returns the first answer and does nothing.
    """
    with client.new("bash", id="keyed") as shell:
        first = shell.run("echo $RANDOM", key="mine")
        again = shell.run("echo $RANDOM", key="mine")

        assert again.output == first.output


def test_threads_share_a_client(client: Client) -> None:
    """
    Each request has a connection for itself: nobody gets another's answer, and nobody waits.
    """
    together = threading.Barrier(8)

    def work(number: int) -> list[str]:
        with client.new("bash", id=f"thread-{number}") as shell:
            together.wait(60)
            return [shell.run(f"echo {number}-{turn}").output for turn in range(5)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))

    assert found == [[f"{number}-{turn}" for turn in range(5)] for number in range(8)]


def test_connections_are_used_again(client: Client) -> None:
    """
    A hundred requests, one after the other, need one connection.
    """
    client.status()
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(100):
        client.list()

    assert len(os.listdir("/proc/self/fd")) == before


FORK = """
import os, sys
from agent_pty import Client
with Client(socket=sys.argv[1], start=False) as client:
    client.list()
    if os.fork() == 0:
        own = client._pool.take() is None and client.session("forked").run("echo child").output
        os._exit(0 if own == "child" else 1)
    print(os.wait()[1], client.session("forked").run("echo parent").output)
"""


def test_a_forked_process_has_connections_of_its_own(client: Client) -> None:
    """
    Two processes on one connection would read each other's answers.
    """
    with client.new("bash", id="forked"):
        done = subprocess.run(
            [sys.executable, "-c", FORK, client.socket], capture_output=True, text=True, check=True
        )

    assert done.stdout == "0 parent\n"


def test_a_closed_client_has_no_connection(client: Client) -> None:
    """
    Its descriptors are closed; sessions live on.
    """
    before = len(os.listdir("/proc/self/fd"))
    with Client(socket=client.socket) as other:
        session = other.new("bash", id="lives-on")

    assert len(os.listdir("/proc/self/fd")) == before
    assert client.session("lives-on").run("echo yes").output == "yes"
    client.session(session.id).kill()


def test_ctrl_c_leaves_a_client_that_can_be_used(client: Client) -> None:
    """
    The answer of the request that was given up is not taken for that of the next one.
    """
    with client.new("bash", id="given-up") as shell, client.new("bash", id="other") as other:
        watching = shell.watch(events=["cell"])

        def interrupt() -> None:
            next(watching)
            os.kill(os.getpid(), signal.SIGINT)

        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            shell.run("echo begun; sleep 60; echo wrong")
        interrupter.join()
        watching.close()

        assert other.run("echo right").output == "right"


def test_an_op_can_be_asked_by_name(client: Client) -> None:
    """
    The answer is the same; an op that nobody knows is the daemon's error.
    """
    with client.new("bash", id="by-name") as shell:
        assert shell.ask("resize", rows=30, cols=90) == shell.resize(30, 90)
        with pytest.raises(AgentPtyError, match="unknown op 'dance'"):
            shell.ask("dance")


def test_an_answer_of_another_build_is_named(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A daemon that does not send what this client needs is reported with the remedy.
    """
    monkeypatch.setattr("agent_pty.api.results.result_type", lambda _op: Screen)

    with pytest.raises(VersionMismatch, match="restart --keep"):
        client.list()


def test_a_daemon_is_started_on_demand(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    By the first request, and again after a stop; a client that must not start one says so.
    """
    for name in ("HOME", "AGENT_PTY_HOME"):
        monkeypatch.setenv(name, str(agent.home))
    monkeypatch.delenv("AGENT_PTY_SOCKET", raising=False)

    with pytest.raises(DaemonUnreachable):
        Client(start=False).list()
    with Client() as client:
        first = client.status()["pid"]
        client.shutdown()
        ended(first)
        second = client.status()["pid"]

    assert first != second
    assert client.socket == f"{agent.home}/agent-pty.sock"


def test_stopping_starts_nothing(agent: Agent) -> None:
    """
    A daemon that does not run cannot be stopped, and is not started for it.
    """
    with Client(home=agent.home) as client, pytest.raises(DaemonUnreachable):
        client.shutdown()

    assert not Path(agent.layout.socket).exists()


def test_stopping_ends_what_a_dead_daemon_left(agent: Agent) -> None:
    """
    Its sessions still run, and only another daemon can end them.
    """
    program = agent.new("work")["pid"]
    slay(agent.pid_of("keeper"), agent.pid_of("daemon"))

    with Client(home=agent.home) as client:
        client.shutdown()

    assert not alive(program)


def test_programs_find_the_daemon_of_their_session(agent: Agent) -> None:
    """
    Also if only the client was told where it is.
    """
    with Client(home=agent.home) as client, client.new("bash", id="inside") as shell:
        seen = shell.run("echo $AGENT_PTY_SOCKET").output
        client.shutdown()

    assert seen == client.socket


def test_a_daemon_that_dies_between_two_requests_is_not_noticed(agent: Agent) -> None:
    """
    The idle connection is not used again.
    """
    agent.new("work")
    with Client(home=agent.home, start=False) as client:
        client.list()
        slay(agent.pid_of("daemon"))

        assert client.session("work").run("echo alive").output == "alive"


def test_a_daemon_that_dies_during_a_request_is_not_noticed(agent: Agent, tmp_path: Path) -> None:
    """
    The next daemon is asked again by the request's key: the code runs once, and its output comes.
    """
    agent.new("work")
    done, gate = tmp_path / "done", tmp_path / "gate"
    os.mkfifo(gate)
    with Client(home=agent.home, start=False) as client, ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            client.session("work").run, f"echo once >> {done}; read x < {gate}; echo $x"
        )
        eventually(done.exists)

        slay(agent.pid_of("daemon"))
        gate.write_text("over\n")

        assert running.result(60).output == "over"
        assert done.read_text() == "once\n"


def test_a_daemon_that_is_stopped_during_a_request_stays_so(agent: Agent) -> None:
    """
    The request ends, and no daemon is started to ask again.
    """
    agent.new("work")
    with Client(home=agent.home) as client, ThreadPoolExecutor(1) as pool:
        watching = client.watch(id="work", events=["cell"])
        running = pool.submit(client.session("work").run, "sleep 60")
        next(watching)
        watching.close()

        pid = agent.pid_of("daemon")
        agent.cli("stop")
        ended(pid)

        assert wait([running], 60).done
        with pytest.raises(DaemonUnreachable):
            Client(home=agent.home, start=False).list()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A daemon that the test plays."""
    place = tempfile.mkdtemp(prefix="ap-")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as found:
        found.bind(f"{place}/s")
        found.listen()
        found.settimeout(60)
        yield found
    shutil.rmtree(place)


def line_of(listener: socket.socket, *, answer: bytes = b"") -> bytes:
    """Take a client, read its request, answer and hang up."""
    wire, _ = listener.accept()
    with wire, wire.makefile("rb") as lines:
        line: bytes = lines.readline()
        wire.sendall(answer)
    return line


def test_what_is_asked_again_is_the_same_line(listener: socket.socket) -> None:
    """
    With the same key, also if the daemon died in the middle of its answer.
    """
    with Client(socket=listener.getsockname(), start=False) as client, ThreadPoolExecutor(1) as one:
        asked = one.submit(client.session("work").send, "make")

        first = line_of(listener)
        second = line_of(listener, answer=b'{"ok":true,"da')
        third = line_of(listener, answer=SENT)

        assert asked.result(60).cursor == 7
        assert first == second == third
        assert json.loads(first)["key"].startswith("~")


def test_a_request_without_an_answer_has_an_unknown_fate(listener: socket.socket) -> None:
    """
    If no daemon follows the one that died, the error says so; it was asked, and may have acted.
    """
    with Client(socket=listener.getsockname()) as client, ThreadPoolExecutor(1) as one:
        asked = one.submit(client.session("work").send, "make")
        wire, _ = listener.accept()
        listener.close()
        wire.close()

        error = asked.exception(60)

    assert isinstance(error, DaemonUnreachable)
    assert error.details == {"op": "send", "delivery": "unknown"}


def test_a_stop_is_asked_once(listener: socket.socket) -> None:
    """
    The daemon that would be asked again is another one.
    """
    with Client(socket=listener.getsockname()) as client, ThreadPoolExecutor(1) as one:
        asked = one.submit(client.shutdown)
        wire, _ = listener.accept()
        with wire, wire.makefile("rb") as lines:
            lines.readline()
            wire.sendall(b'{"ok":true,"data":{"type":"status","data":{}},"error":null}\n')
            lines.readline()

        assert isinstance(asked.exception(60), DaemonUnreachable)
