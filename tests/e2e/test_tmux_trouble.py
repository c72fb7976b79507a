"""Sessions in tmux when tmux cannot be asked, answers strangely, or has something else there."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.errors import HostLost, TmuxFailed
from agent_pty.tmux.meeting import command
from support.agent import Agent, alive, eventually, slay
from support.tmux import Tmux, persons_server

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def tmux(agent: Agent) -> Iterator[Tmux]:
    """The tmux server of the agent's home."""
    server = Tmux(agent.layout.tmux_socket, agent.env)
    yield server
    server.run("kill-server")


def run(agent: Agent, code: str, name: str = "work") -> str:
    """Run a cell and return its output."""
    return str(agent.ask("run", id=name, code=code)["output"])


# -- tmux cannot be asked

SOON = 5.0
LONG = 60_000


@pytest.fixture
def stopped(agent: Agent, tmux: Tmux) -> Iterator[tuple[int, int]]:
    """A session without a daemon, in a server that is stopped; give the pids of shell and tmux."""
    shell = agent.new("work", backend="tmux")["pid"]
    agent.cli("stop")
    server = tmux.server
    os.kill(server, signal.SIGSTOP)
    yield shell, server
    os.kill(server, signal.SIGCONT)


def test_a_server_that_is_stopped_when_the_daemon_starts_loses_nothing(
    agent: Agent, stopped: tuple[int, int]
) -> None:
    """
    `list` answers at once, a request says why, and when tmux goes on so does the session.
    """
    shell, server = stopped
    agent.connect().close()
    begun = time.monotonic()
    listed = agent.info("work")

    assert time.monotonic() - begun < SOON
    assert listed["state"] == "lost"
    assert "it may go on in tmux" in listed["diagnosis"]
    with pytest.raises(HostLost, match=r"is it stopped.*asks tmux again"):
        agent.ask("send", id="work", text="x")
    assert alive(shell)
    os.kill(server, signal.SIGCONT)
    assert run(agent, "echo $$") == str(shell)
    assert agent.info("work")["state"] == "running"


def test_list_alone_takes_back_what_is_there_again(agent: Agent, stopped: tuple[int, int]) -> None:
    """
    Nobody needs to know that a session must be asked for.
    """
    _, server = stopped
    assert agent.info("work")["state"] == "lost"

    os.kill(server, signal.SIGCONT)

    assert agent.info("work")["state"] == "running"


def test_what_tmux_could_not_be_asked_about_outlives_another_stop(
    agent: Agent, stopped: tuple[int, int]
) -> None:
    """
    The daemon that never saw it forgets nothing of it.
    """
    shell, server = stopped
    assert agent.info("work")["state"] == "lost"
    agent.cli("stop")

    os.kill(server, signal.SIGCONT)

    assert run(agent, "echo $$") == str(shell)


@pytest.mark.usefixtures("tmux")
def test_a_daemon_without_tmux_in_its_path_loses_nothing(agent: Agent, tmp_path: Path) -> None:
    """
    The next daemon, which has it, finds the session again.
    """
    shell = agent.new("work", backend="tmux")["pid"]
    agent.cli("stop")
    path = agent.env["PATH"]
    for name in ("bash", "sh", "cat", "git", "env"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    agent.env["PATH"] = str(tmp_path)

    assert "tmux is not installed" in agent.info("work")["diagnosis"]
    assert alive(shell)
    agent.cli("stop")
    agent.env["PATH"] = path
    assert run(agent, "echo $$") == str(shell)


def test_a_start_that_failed_on_a_server_that_hangs_leaves_nothing(
    agent: Agent, tmux: Tmux
) -> None:
    """
    When the server goes on, it makes the session after all; then that is removed.
    """
    agent.new("work", backend="tmux")
    tmux("set-hook", "-g", "session-created", "wait-for -S made")
    server = tmux.server
    os.kill(server, signal.SIGSTOP)
    try:
        with pytest.raises(TmuxFailed, match="is it stopped"):
            agent.ask("new", id="late", repo="/tmp", backend="tmux")
    finally:
        os.kill(server, signal.SIGCONT)

    tmux("wait-for", "made")

    eventually(lambda: len(tmux("list-sessions").splitlines()) == 1)
    assert run(agent, "echo here") == "here"


def test_a_pane_that_nobody_waits_for_removes_itself(agent: Agent, tmux: Tmux) -> None:
    """
    Whoever started it may have ended meanwhile.
    """
    agent.new("work", backend="tmux")
    tmux("set-option", "-g", "remain-on-exit", "on")
    tmux("set-hook", "-g", "session-created", "wait-for -S made")

    tmux("new-session", "-d", "-s", "late", *command("launcher", str(agent.home / "nobody")))
    tmux("wait-for", "made")

    eventually(lambda: len(tmux("list-sessions").splitlines()) == 1)


# -- answers of tmux


@pytest.mark.usefixtures("tmux")
def test_a_locale_without_utf8_changes_nothing(agent: Agent) -> None:
    """
    In it tmux prints `_` for tabs and for `é`, unless it is asked for UTF-8.
    """
    agent.env["LC_ALL"] = "C"

    agent.new("work", backend="tmux")

    assert run(agent, "printf 'h\\303\\251'") == "hé"


@pytest.mark.usefixtures("tmux")
def test_a_daemon_in_another_locale_finds_the_session_again(agent: Agent) -> None:
    """
    The same program goes on.
    """
    shell = agent.new("work", backend="tmux")["pid"]
    agent.cli("stop")
    agent.env["LC_ALL"] = "C"

    assert run(agent, "echo $$") == str(shell)
    assert alive(shell)


def test_a_directory_of_another_pane_may_have_any_name(agent: Agent, tmux: Tmux) -> None:
    """
    Line ends and tabs in it do not hide a session.
    """
    odd = agent.home / "one\n%9\ttwo"
    odd.mkdir()
    agent.new("work", backend="tmux")

    tmux("new-session", "-d", "-s", "a", "-c", str(odd), "cat")
    agent.cli("stop")

    assert run(agent, "echo here") == "here"


def test_the_time_of_a_loss_is_known_and_stays(agent: Agent, tmux: Tmux) -> None:
    """
    `kill-pane` by hand: text and JSON say when, and so does the next daemon.
    """
    agent.new("work", backend="tmux")
    tmux("kill-pane", "-t", f"={agent.info('work')['tmux_session']}:")
    eventually(lambda: agent.info("work")["state"] == "lost")

    lost_at = agent.info("work")["lost_at"]

    assert lost_at is not None
    assert f"lost={lost_at}" in agent.cli("list").stdout
    slay(agent.pid_of("daemon"))
    assert agent.info("work")["lost_at"] == lost_at


# -- panes that people have made


@pytest.fixture
def own(agent: Agent) -> Iterator[Tmux]:
    """A person's own tmux, in which `mine` runs a shell."""
    with persons_server(agent) as server:
        yield server


@pytest.mark.usefixtures("own")
def test_one_of_two_who_adopt_a_pane_at_once_gets_it(agent: Agent) -> None:
    """
    The other one is told that it is a session already.
    """
    agent.connect().close()

    with (
        agent.begin("adopt", target="mine", id="a") as one,
        agent.begin("adopt", target="mine", id="b") as two,
    ):
        answers = [one(), two()]

    assert sorted(answer["ok"] for answer in answers) == [False, True]
    assert len(agent.ask("list")) == 1


def test_another_pane_with_the_same_id_is_not_released(agent: Agent, own: Tmux) -> None:
    """
    The next server begins to count at %0 again; what a person does there stays.
    """
    agent.cli("adopt", "mine", "--name", "work")
    own("kill-server")
    eventually(lambda: not agent.info("work")["active"])
    own("-f", "/dev/null", "new-session", "-d", "-s", "mine", "cat")
    own("pipe-pane", "-t", "%0", "cat > /dev/null")

    released = agent.cli("release", "work")

    assert "released work: tmux was left alone" in released.stdout
    assert own("display-message", "-p", "-t", "%0", "#{pane_pipe}") == "1"
    assert agent.ask("list") == []


def test_a_pane_with_the_mark_of_another_is_not_released(agent: Agent, own: Tmux) -> None:
    """
    It is a session of somebody else by now.
    """
    agent.cli("adopt", "mine", "--name", "work")
    own("set-option", "-p", "-t", "%0", "@agent_pty_instance", "other")

    released = agent.cli("release", "work")

    assert "tmux was left alone" in released.stdout
    assert own("show-options", "-pv", "-t", "%0", "@agent_pty_instance") == "other"


def test_a_lost_pane_is_forgotten_by_kill_and_its_program_goes_on(agent: Agent, own: Tmux) -> None:
    """
    Only the person who started it ends it.
    """
    agent.cli("adopt", "mine", "--name", "work")
    pid = agent.info("work")["pid"]
    own("send-keys", "-t", "=mine:", "trap '' HUP; exec sleep 600", "Enter")
    eventually(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n")
    own("new-session", "-d", "-s", "other", "cat")
    own("kill-session", "-t", "=mine")
    eventually(lambda: agent.info("work")["state"] == "lost")

    killed = agent.cli("kill", "work")

    assert killed.returncode == 0, killed.stderr
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_what_is_listed_can_be_adopted_by_the_name_that_is_shown(agent: Agent, own: Tmux) -> None:
    """
    Only what would move the cursor is escaped; a name with other letters is shown as it is.
    """
    own("new-session", "-d", "-s", "é%d", "cat")

    listed = [line.split()[0] for line in agent.cli("list", "--tmux").stdout.splitlines()]

    assert "é%d:0.0" in listed
    assert agent.cli("adopt", "é%d:0.0", "--name", "work").stderr == ""


def test_the_fork_of_an_adopted_session_is_its_program_with_its_arguments(
    agent: Agent, own: Tmux
) -> None:
    """
    Not the bare name of what happens to run in the foreground.
    """
    own("send-keys", "-t", "=mine:", "sleep 600", "Enter")
    eventually(
        lambda: own("display-message", "-p", "-t", "%0", "#{pane_current_command}") == "sleep"
    )
    agent.cli("adopt", "mine", "--name", "work")

    forked = agent.cli("fork", "work", "--new-name", "copy")

    assert forked.returncode == 0, forked.stderr
    assert agent.info("copy")["argv"] == ["/bin/bash", "--norc", "--noprofile"]
    agent.ask("wait", id="copy", until="prompt", timeout_ms=LONG)


def test_a_login_shell_is_forked_by_its_file(agent: Agent, own: Tmux) -> None:
    """
    `-bash` is the name of no program.
    """
    login = "exec -a -bash /bin/bash --norc --noprofile"
    own("new-session", "-d", "-s", "login", "/bin/bash", "-c", login)
    pid = own("list-panes", "-t", "=login", "-F", "#{pane_pid}")
    eventually(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"-bash"))
    agent.cli("adopt", "login", "--name", "work")

    forked = agent.cli("fork", "work", "--new-name", "copy")

    assert forked.returncode == 0, forked.stderr
    assert os.path.basename(agent.info("copy")["argv"][0]) == "bash"
