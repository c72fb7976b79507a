"""Sessions in tmux: what is special about them, and what a person can do to them there."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty.errors import AgentPtyError, NotReady, SessionEnded, TmuxFailed
from support.agent import Agent, alive, eventually, slay
from support.journal import payloads
from support.tmux import Tmux, persons_server

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

LONG = 60_000
# What is lost or wedged must be known by then.
SOON = 5.0


@pytest.fixture
def tmux(agent: Agent) -> Iterator[Tmux]:
    """The tmux server of the agent's home."""
    server = Tmux(agent.layout.tmux_socket, agent.env)
    yield server
    server.run("kill-server")


def new(agent: Agent, name: str = "work", *argv: str, **fields: Any) -> dict[str, Any]:
    """Start a session in tmux."""
    return agent.new(name, *argv, backend="tmux", **fields)


def run(agent: Agent, code: str, name: str = "work") -> str:
    """Run a cell and return its output."""
    return str(agent.ask("run", id=name, code=code)["output"])


def session_of(agent: Agent, name: str = "work") -> str:
    """Return what a session is called in tmux."""
    return str(agent.info(name)["tmux_session"])


def within(condition: Callable[[], bool], seconds: float = SOON) -> None:
    """Ask until *condition* holds, for at most so long."""
    begun = time.monotonic()
    eventually(condition)
    assert time.monotonic() - begun < seconds


def gaps(agent: Agent, name: str = "work") -> list[str]:
    """Return the reasons of the gaps in a session's output."""
    return [one["reason"] for one in payloads(agent, name, "output_gap")]


# -- where it lives


def test_m28_it_lives_in_a_server_of_ours_and_has_no_sign_of_it(agent: Agent, tmux: Tmux) -> None:
    """
    A private server; in the program's environment there is nothing of tmux.
    """
    new(agent)

    assert tmux("list-sessions", "-F", "#{session_name}") == session_of(agent)
    assert run(agent, "env | grep -c TMUX; echo $TERM") == "0\nxterm-256color"
    assert os.stat(tmux.socket).st_mode & 0o077 == 0


def test_tmx_05_the_users_configuration_has_no_effect(agent: Agent, tmux: Tmux) -> None:
    """
    A .tmux.conf with another prefix, shell and status line changes nothing.
    """
    (agent.home / ".tmux.conf").write_text(
        "set -g default-shell /bin/false\nset -g prefix C-a\nset -g remain-on-exit off\n"
        "set -g status-position top\nset -g base-index 7\nset -g default-command false\n"
    )
    new(agent)

    assert run(agent, "stty size") == "24 80"
    assert tmux("show-options", "-gv", "prefix") == "C-b"


def test_it_can_live_in_the_users_own_server(agent: Agent, tmp_path: Path) -> None:
    """
    With another socket it is beside the sessions that a person has there.
    """
    own = Tmux(str(tmp_path / "s"), agent.env)
    own("-f", "/dev/null", "new-session", "-d", "-s", "mine", "cat")
    try:
        new(agent, tmux_socket=own.socket)

        names = own("list-sessions", "-F", "#{session_name}").splitlines()
        assert sorted(names) == sorted(["mine", session_of(agent)])
        assert run(agent, "echo here") == "here"
        assert agent.cli("kill", "work").returncode == 0
        assert own("list-sessions", "-F", "#{session_name}") == "mine"
    finally:
        own.run("kill-server")


def test_tmx_10_names_that_are_alike_in_tmux_do_not_mix(agent: Agent, tmux: Tmux) -> None:
    """
    In tmux a dot becomes an underscore; the sessions stay apart.
    """
    for name in ("a.b", "a_b", "A.b"):
        new(agent, name)

    for name in ("a.b", "a_b", "A.b"):
        assert run(agent, f"echo in-{name}", name) == f"in-{name}"
    assert len(set(tmux("list-sessions", "-F", "#{session_name}").splitlines())) == 3


def test_tmx_13_a_name_that_begins_like_another_is_another(agent: Agent, tmux: Tmux) -> None:
    """
    `kill web` ends web, not web2, and web is gone although web2 is there.
    """
    other = new(agent, "web2")["pid"]
    new(agent, "web")

    assert agent.cli("kill", "web").returncode == 0

    assert agent.cli("send", "web", "x").returncode != 0
    assert alive(other)
    assert run(agent, "echo here", "web2") == "here"
    assert len(tmux("list-sessions").splitlines()) == 1


def test_fifty_sessions_need_one_server_and_no_client(agent: Agent, tmux: Tmux) -> None:
    """
    Whatever the number of sessions, there is one tmux process.
    """
    for number in range(50):
        agent.ask("new", id=f"s{number}", repo="/tmp", argv=["/bin/cat"], backend="tmux")

    assert len(tmux("list-sessions").splitlines()) == 50
    assert tmux("list-clients") == ""
    processes = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in agent.processes()]
    assert [one for one in processes if one.startswith("tmux")] == ["tmux: server"]


# -- input and output


@pytest.mark.usefixtures("tmux")
def test_pol_33_key_names_and_options_are_text(agent: Agent) -> None:
    """
    What tmux would take for a key, an option, a format or a separator is typed as it is.
    """
    new(agent, "work", "/bin/cat")
    lines = ["Enter", "C-c", "-t other", "--", "a;", "\\;", "#{pane_id}", "%H #(date)", "-l x"]

    for line in lines:
        agent.ask("send", id="work", text=line)
    agent.ask("wait", id="work", until="-l x", timeout_ms=LONG)

    eventually(lambda: agent.transcript("work").count("-l x") == 2)
    assert agent.transcript("work").splitlines() == [one for line in lines for one in (line, line)]


def test_it_is_typed_even_if_a_person_has_scrolled_back(agent: Agent, tmux: Tmux) -> None:
    """
    The keys do not go to tmux's copy mode.
    """
    new(agent)
    tmux("copy-mode", "-t", f"={session_of(agent)}:")

    assert run(agent, "echo through") == "through"


@pytest.mark.usefixtures("tmux")
def test_tmx_07_a_megabyte_by_one_send_arrives_whole(agent: Agent) -> None:
    """
    Byte by byte the same, in order.
    """
    got = agent.home / "got"
    text = "".join(f"{number:07d};" for number in range(1 << 20 >> 3))
    new(agent, "work", "/bin/sh", "-c", f"stty raw -echo; echo up; head -c {len(text)} > {got}")
    agent.ask("wait", id="work", until="up", timeout_ms=LONG)

    agent.ask("send", id="work", text=text, enter=False)
    agent.ask("wait", id="work", until="exit", timeout_ms=LONG)

    assert got.read_text() == text


def test_a_flood_does_not_fill_the_memory_of_tmux(agent: Agent, tmux: Tmux) -> None:
    """
    A program that writes faster than its host reads is held back, and nothing is lost.
    """
    new(agent)
    host = agent.pid_of("work")
    agent.ask("send", id="work", text="seq 1 3000000; echo the-$((1+1))nd")
    agent.ask("wait", id="work", until="regex:(?m)^9000$", timeout_ms=LONG)
    highest = 0

    def over() -> bool:
        nonlocal highest
        status = Path(f"/proc/{tmux.server}/status").read_text()
        highest = max(highest, int(re.search(r"VmRSS:\s+(\d+)", status)[1]))  # type: ignore[index]
        return "the-2nd" in agent.ask("screen", id="work")["text"]

    eventually(over)

    assert alive(host)
    assert highest < 64 * 1024
    counted = re.findall(r"(?m)^(\d+)$", agent.transcript("work"))
    assert counted == [str(number) for number in range(1, 3_000_001)]


def test_tmx_12_how_the_program_ended_is_recorded(agent: Agent, tmux: Tmux) -> None:
    """
    Exit code and signal are known; its session in tmux is gone then.
    """
    for name, end in (("code", "exit 5"), ("signal", "kill -TERM $$")):
        new(agent, name, "/bin/sh", "-c", f"read x; {end}")
        agent.ask("send", id=name, text="")
        agent.ask("wait", id=name, until="exit", timeout_ms=LONG)

    assert agent.info("code")["exit_code"] == 5
    assert agent.info("signal")["signal"] == signal.SIGTERM
    exits = payloads(agent, "code", "exited")
    assert exits[0]["exit_code"] == 5
    eventually(lambda: tmux.run("list-sessions").returncode != 0)


# -- it outlives us


def _interrupted(agent: Agent) -> bool:
    """Press Ctrl-C; bash goes on with a loop if it comes between two of its commands."""
    agent.ask("interrupt", id="work")
    try:
        agent.ask("ready", id="work", timeout_ms=2000)
    except NotReady:
        return False
    return True


@pytest.mark.usefixtures("tmux")
def test_tmx_01_the_daemon_dies_and_the_loop_goes_on(agent: Agent) -> None:
    """
    Everything works in the same session, and no line is missing.
    """
    shell = new(agent)["pid"]
    agent.ask("send", id="work", text="i=0; while :; do echo $((i++)); sleep 0.02; done")
    agent.ask("wait", id="work", until="regex:(?m)^10$", timeout_ms=LONG)

    slay(agent.pid_of("daemon"))
    agent.cli("list")
    agent.ask("wait", id="work", until="regex:(?m)^60$", timeout_ms=LONG)

    assert agent.info("work")["pid"] == shell
    counted = [int(one) for one in re.findall(r"(?m)^(\d+)$", agent.transcript("work"))]
    assert counted == list(range(len(counted)))
    assert gaps(agent) == []
    eventually(lambda: _interrupted(agent))
    assert run(agent, "echo $$") == str(shell)
    assert agent.cli("attach", "work", "--read-only", "--timeout", "250ms").returncode == 0
    assert agent.cli("kill", "work").returncode == 0


@pytest.mark.usefixtures("tmux")
def test_contract_26_it_outlives_stop(agent: Agent) -> None:
    """
    A background job goes on; the next daemon waits for its output, types, looks and attaches.
    """
    shell = new(agent)["pid"]
    agent.ask("send", id="work", text="(sleep 1; echo from-the-$((1+1))nd) &")
    agent.ask("wait", id="work", until="prompt", timeout_ms=LONG)

    assert agent.cli("stop").stdout == "stopped\n"
    assert alive(shell)

    agent.ask("wait", id="work", until="from-the-2nd", timeout_ms=LONG)
    listed = agent.info("work")
    assert (listed["active"], listed["backend"], listed["pid"]) == (True, "tmux", shell)
    agent.ask("send", id="work", text="echo again-$((1+1))")
    agent.ask("wait", id="work", until="again-2", timeout_ms=LONG)
    assert "from-the-2nd" in agent.ask("screen", id="work")["text"]
    attached = agent.start(
        "attach", "work", "--read-only", "--history-bytes", "0", "--timeout", "3s"
    )
    eventually(lambda: agent.info("work")["attached"] == 1)
    agent.ask("send", id="work", text="echo streamed-$((1+1))")
    assert "streamed-2" in attached.communicate(timeout=60)[0]
    assert len(gaps(agent)) == 1
    assert run(agent, "echo $?; echo $$") == f"0\n{shell}"


def test_m54_all_our_processes_die_and_it_is_found_again(agent: Agent, tmux: Tmux) -> None:
    """
    The same shell; what was read before can still be read, and the gap is stated.
    """
    shell = new(agent)["pid"]
    run(agent, "echo kept-$((1+1))")
    agent.ask("wait", id="work", until="prompt", timeout_ms=LONG)
    cursor, name = agent.info("work")["cursor"], session_of(agent)
    agent.ask("send", id="work", text="sleep 1; echo missed-$((1+1))")

    slay(*(agent.pid_of(role) for role in ("daemon", "keeper", "work")))
    eventually(lambda: "missed-2" in tmux("capture-pane", "-p", "-t", f"={name}:"))

    agent.ask("wait", id="work", until="missed-2", timeout_ms=LONG)
    assert agent.info("work")["pid"] == shell
    assert run(agent, "echo later; (exit 3)") == "later"
    assert "kept-2" in agent.transcript("work")
    assert "later" in agent.ask("read", id="work", since=cursor)["text"]
    assert len(gaps(agent)) == 1
    assert "the chain of the others is whole" in agent.cli("verify", "work").stdout


@pytest.mark.usefixtures("tmux")
def test_its_end_while_we_were_away_is_known(agent: Agent) -> None:
    """
    The exit code is kept until the next daemon asks.
    """
    shell = new(agent)["pid"]
    agent.ask("send", id="work", text="sleep 0.5; exit 9")
    assert agent.cli("stop").returncode == 0
    eventually(lambda: not alive(shell))

    agent.ask("wait", id="work", until="exit", timeout_ms=LONG)

    assert agent.info("work")["exit_code"] == 9


# -- what others do to it


def test_tmx_02_the_server_is_killed(agent: Agent, tmux: Tmux) -> None:
    """
    The session is lost within 5 s; nothing can be typed, and after `kill` the name is free.
    """
    new(agent)

    tmux("kill-server")
    within(lambda: agent.info("work")["state"] == "lost")

    assert "is not running" in agent.info("work")["diagnosis"]
    with pytest.raises(SessionEnded, match="is not running"):
        agent.ask("send", id="work", text="x")
    assert payloads(agent, "work", "host_lost")
    assert agent.cli("kill", "work").returncode == 0
    new(agent)


def test_tmx_03_the_server_is_killed_while_we_are_away(agent: Agent, tmux: Tmux) -> None:
    """
    On restart it is lost, not active.
    """
    new(agent)
    agent.cli("stop")

    tmux("kill-server")

    listed = agent.info("work")
    assert (listed["state"], listed["active"]) == ("lost", False)
    assert "is not running" in listed["diagnosis"]
    assert agent.cli("kill", "work").returncode == 0


def test_a_session_killed_in_tmux_is_lost(agent: Agent, tmux: Tmux) -> None:
    """
    `kill-session` by a person is noticed, and the others go on.
    """
    new(agent)
    new(agent, "other")

    tmux("kill-session", "-t", f"={session_of(agent)}")
    within(lambda: agent.info("work")["state"] == "lost")

    assert run(agent, "echo here", "other") == "here"


def test_a_renamed_session_is_still_the_same(agent: Agent, tmux: Tmux) -> None:
    """
    It is found by its pane, and `list` has the new name.
    """
    new(agent)

    tmux("rename-session", "-t", f"={session_of(agent)}", "other")

    assert run(agent, "echo here") == "here"
    within(lambda: session_of(agent) == "other")
    agent.cli("stop")
    assert run(agent, "echo there") == "there"


def test_a_pipe_that_somebody_takes_is_opened_again(agent: Agent, tmux: Tmux) -> None:
    """
    A pane has one pipe. What was lost is stated, and the screen is right.
    """
    new(agent)

    tmux("pipe-pane", "-t", f"={session_of(agent)}:")
    within(lambda: len(gaps(agent)) == 1)

    assert run(agent, "echo here") == "here"


def test_a_size_that_somebody_sets_is_followed(agent: Agent, tmux: Tmux) -> None:
    """
    The screen has the size that the program sees.
    """
    new(agent)

    tmux("resize-window", "-t", f"={session_of(agent)}:", "-x", "60", "-y", "20")
    within(lambda: (agent.info("work")["rows"], agent.info("work")["cols"]) == (20, 60))

    assert run(agent, "stty size") == "20 60"
    assert payloads(agent, "work", "resize")


def test_tmx_06_a_server_that_is_stopped_is_reported(agent: Agent, tmux: Tmux) -> None:
    """
    `send` and `new` fail within 5 s and say why; everything else answers at once.
    """
    new(agent)
    server = tmux.server
    os.kill(server, signal.SIGSTOP)
    try:
        for op, fields in (
            ("send", {"id": "work", "text": "x", "enter": False}),
            ("new", {"id": "b", "repo": "/tmp", "backend": "tmux"}),
        ):
            begun = time.monotonic()
            with pytest.raises(AgentPtyError, match="is it stopped"):
                agent.ask(op, **fields)
            assert time.monotonic() - begun < SOON
        begun = time.monotonic()
        agent.ask("screen", id="work")
        agent.ask("new", id="c", repo="/tmp", argv=["/bin/cat"])
        agent.ask("status")
        assert time.monotonic() - begun < SOON
    finally:
        os.kill(server, signal.SIGCONT)

    agent.ask("keys", id="work", keys=["ctrl-u"])
    assert run(agent, "echo here") == "here"


@pytest.mark.parametrize(
    ("script", "message"),
    [(None, "tmux is not installed: install tmux"), ("echo tmux 2.8", "tmux 2.8 is too old")],
)
def test_tmx_06_without_a_usable_tmux_all_else_works(
    agent: Agent, tmp_path: Path, script: str | None, message: str
) -> None:
    """
    The error says what to install, and PTY sessions do not need it.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "cat", "git", "env"):
        (programs / name).symlink_to(shutil.which(name) or "")
    if script is not None:
        (programs / "tmux").write_text(f"#!/bin/sh\n{script}\n")
        (programs / "tmux").chmod(0o755)
    agent.env["PATH"] = str(programs)

    with pytest.raises(TmuxFailed, match=message):
        new(agent)

    agent.new("plain")
    assert run(agent, "echo here", "plain") == "here"


# -- panes that people have made


@pytest.fixture
def own(agent: Agent) -> Iterator[Tmux]:
    """A person's own tmux, in the place where it is by default; `mine` runs a shell."""
    with persons_server(agent) as server:
        yield server


def state_of(own: Tmux) -> str:
    """Return everything of a pane that adopting might change."""
    fields = "#{pane_id} #{pane_pid} #{pane_width}x#{pane_height} #{pane_pipe} #{session_name} "
    options = own("show-options", "-p", "-t", "=mine:") + own("show-options", "-w", "-t", "=mine:")
    return own("list-panes", "-a", "-F", fields + "#{window_linked} #{remain-on-exit}") + options


def test_what_could_be_adopted_is_listed(agent: Agent, own: Tmux) -> None:
    """
    `list --tmux` shows every pane, and which of them is a session already.
    """
    own("split-window", "-d", "-t", "=mine:", "exec cat")

    before = agent.cli("list", "--tmux").stdout.splitlines()
    agent.cli("adopt", "mine:0.1", "--name", "cat")
    after = agent.cli("list", "--tmux").stdout.splitlines()

    assert [line.split()[0] for line in before] == ["mine:0.0", "mine:0.1"]
    assert all(line.endswith("adoptable") for line in before)
    assert after[1].endswith("session=cat")


def test_an_adopted_pane_is_a_session_and_is_given_back_untouched(agent: Agent, own: Tmux) -> None:
    """
    Screen, input, waits, cells and evidence; after `release` nothing of us is left in tmux.
    """
    own("send-keys", "-t", "=mine:", "echo seen-$((1+1))", "Enter")
    eventually(lambda: "seen-2" in own("capture-pane", "-p", "-t", "=mine:"))
    before = state_of(own)

    adopted = agent.cli("adopt", "mine", "--name", "work")

    assert adopted.stdout == "adopted mine as work\n", adopted.stderr
    assert "seen-2" in agent.ask("screen", id="work")["text"]
    agent.ask("send", id="work", text="echo typed-$((2+2))")
    agent.ask("wait", id="work", until="typed-4", timeout_ms=LONG)
    assert run(agent, "echo in-a-cell") == "in-a-cell"
    assert "typed-4" in own("capture-pane", "-p", "-t", "=mine:")
    assert payloads(agent, "work", "adopted")[0]["tmux_session"] == "mine"
    assert (agent.info("work")["rows"], agent.info("work")["cols"]) == (25, 90)

    assert agent.cli("release", "work").stdout == "released work\n"

    assert agent.ask("list") == []
    assert state_of(own) == before
    own("send-keys", "-t", "=mine:", "echo after-$((3+3))", "Enter")
    eventually(lambda: "after-6" in own("capture-pane", "-p", "-t", "=mine:"))


def test_an_adopted_pane_keeps_its_size_and_its_life(agent: Agent, own: Tmux) -> None:
    """
    Neither `resize` nor `kill` nor `stop` touches what belongs to a person.
    """
    agent.cli("adopt", "mine", "--name", "work")
    pid = agent.info("work")["pid"]

    resized = agent.cli("resize", "work", "--rows", "10", "--cols", "40")
    killed = agent.cli("kill", "work")
    agent.cli("stop")

    assert (resized.returncode, resized.stdout) == (1, "")
    assert "was adopted from tmux and stays 25x90" in resized.stderr
    assert "`agent-pty release work` gives it back" in killed.stderr
    assert alive(pid)
    assert own("display-message", "-p", "-t", "=mine:", "#{pane_width}") == "90"
    assert run(agent, "stty size") == "25 90"
    assert agent.cli("release", "work").returncode == 0


def test_the_end_of_an_adopted_pane_is_noticed(agent: Agent, own: Tmux) -> None:
    """
    The person ends their shell; how it ended nobody knows.
    """
    own("new-session", "-d", "-s", "other", "cat")
    agent.cli("adopt", "mine", "--name", "work")

    own("send-keys", "-t", "=mine:", "exit 3", "Enter")
    within(lambda: agent.info("work")["state"] == "exited")

    assert agent.info("work")["exit_code"] is None
    assert agent.cli("release", "work").returncode == 0


@pytest.mark.parametrize(
    ("target", "message"),
    [("min", "no pane 'min'"), ("mine:7.0", "no pane"), ("%99", "no pane"), ("", "no pane")],
)
def test_only_an_exact_target_is_adopted(
    agent: Agent, own: Tmux, target: str, message: str
) -> None:
    """
    The beginning of a name is not enough.
    """
    own("rename-window", "-t", "=mine:", "window")

    refused = agent.cli("adopt", target)

    assert refused.returncode == 1
    assert message in refused.stderr


def test_what_is_piped_or_adopted_is_not_adopted_again(agent: Agent, own: Tmux) -> None:
    """
    A pane has one pipe, and somebody else may need it.
    """
    own("new-window", "-d", "-t", "=mine:", "cat")
    own("pipe-pane", "-t", "=mine:1", "cat > /dev/null")

    assert "piped somewhere" in agent.cli("adopt", "mine:1").stderr
    assert agent.cli("adopt", "mine:0", "--name", "work").returncode == 0
    assert "session of agent-pty already" in agent.cli("adopt", "mine:0").stderr


def alone(agent: Agent, file: Path) -> float:
    """Return how many seconds a pane without us needs to show a file."""
    server = Tmux(str(agent.home / "alone"), agent.env)
    begun = time.monotonic()
    shows = f"cat {file}; tmux -S {server.socket} wait-for -S done"
    server("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", shows)
    server("wait-for", "done")
    took = time.monotonic() - begun
    server.run("kill-server")
    return took


@pytest.mark.serial
@pytest.mark.usefixtures("tmux")
def test_fifty_megabytes_are_exact_and_take_at_most_three_times_as_long(agent: Agent) -> None:
    """
    Not one byte differs. Of three rounds, which others may disturb, the best one counts.
    """
    file = agent.home / "big"
    lines = (f"{number:010d} the quick brown fox jumps over it\n" for number in range(1_100_000))
    file.write_text("".join(lines))
    ratios = []

    for name in ("one", "two", "three"):
        without = alone(agent, file)
        begun = time.monotonic()
        new(agent, name, "/bin/cat", str(file))
        agent.ask("wait", id=name, until="exit", timeout_ms=LONG)
        ratios.append((time.monotonic() - begun) / without)
        assert agent.transcript(name) == file.read_text()
        if ratios[-1] < 3:
            return
    pytest.fail(f"it took {ratios} times as long")
