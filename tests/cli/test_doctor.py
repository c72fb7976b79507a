from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty.keeper.listen import listen
from agent_pty.store.lock import Lock
from support.agent import Agent

CONTRACT = ["git", "shell", "log_dir", "socket_parent"]
OURS = [
    *["home", "permissions", "socket", "emulator", "pty", "files", "disk", "guard"],
    *["records"],
    *["shells", "tmux"],
    *["tools", "daemon", "evidence", "traces", "leftovers"],
]


def doctor(agent: Agent, *words: str) -> dict[str, Any]:
    """Return the JSON report, which is printed whatever was found."""
    done = agent.cli("doctor", "--json", *words)
    report: dict[str, Any] = json.loads(done.stdout)
    failing = "" if report["ok"] else "error: doctor found failing checks\n"
    assert (done.returncode, done.stderr) == (0 if report["ok"] else 1, failing)
    return report


def failed(report: dict[str, Any]) -> dict[str, str]:
    """Return the details of the failed checks by name."""
    return {one["name"]: one["detail"] for one in report["checks"] if not one["ok"]}


def detail(report: dict[str, Any], name: str) -> str:
    """Return what one check saw."""
    return str(next(one["detail"] for one in report["checks"] if one["name"] == name))


def end(pid: int) -> None:
    """Kill a process and return when it is gone."""
    handle = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        assert select.select([handle], [], [], 30)[0]
    finally:
        os.close(handle)


def after(agent: Agent, words: str) -> subprocess.CompletedProcess[str]:
    """Run the doctor in a shell that has done something to itself before."""
    return subprocess.run(
        ["/bin/sh", "-c", f'{words} && exec "$0" -m agent_pty.cli.main doctor', sys.executable],
        env=agent.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextlib.contextmanager
def carrier(agent: Agent, instance: str, home: Path | None = None) -> Iterator[int]:
    """Run a process with the marks that a session's processes carry."""
    marks = {"AGENT_PTY_INSTANCE": instance, "AGENT_PTY_HOME": str(home or agent.home)}
    with subprocess.Popen(["sleep", "60"], env={**agent.env, **marks}) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def test_a_fresh_home_is_well(agent: Agent) -> None:
    """
    Without a daemon everything is well, and the doctor starts none.
    """
    done = agent.cli("doctor")

    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[:2] == ["doctor: ok", "daemon: not running"]
    assert [line.split(" (")[0] for line in lines[2:]] == [
        f"- {name}: ok" for name in CONTRACT + OURS
    ]
    assert agent.processes() == []
    assert not os.path.exists(agent.layout.socket)


def test_a_running_daemon_is_well(agent: Agent) -> None:
    """
    With a daemon and a session nothing is amiss: every process is accounted for.
    """
    agent.new("work")

    report = doctor(agent, "--orphans")

    assert failed(report) == {}
    assert report["daemon_running"]
    assert report["status"]["session_count"] == 1
    assert detail(report, "leftovers") == "none"
    assert report["orphans"] == []


def test_the_report_has_the_shape_of_the_contract(agent: Agent) -> None:
    """
    Keys and the first four checks come in the order of the contract; details are as it says.
    """
    report = doctor(agent, "--shell", "/bin/sh")

    keys = ["ok", "daemon_running", "socket", "log_dir", "checks", "status"]
    assert list(report) == keys
    assert [one["name"] for one in report["checks"]] == CONTRACT + OURS
    assert all(list(one) == ["name", "ok", "detail"] for one in report["checks"])
    assert detail(report, "git").startswith("git version ")
    assert detail(report, "shell") == "/bin/sh"
    assert detail(report, "log_dir") == report["log_dir"] == str(agent.home / "runs")
    assert detail(report, "socket_parent") == str(agent.home)
    assert list(report["status"])[:5] == [
        *["socket", "running", "session_count", "trace_path", "error"],
    ]


def test_trial_07_the_doctor_counts_the_definitions_of_the_six_tools(agent: Agent) -> None:
    """
    It says how many bytes a model pays for at every turn: those that `agent-pty tools` prints.
    """
    printed = json.loads(agent.cli("tools", "--format", "mcp").stdout)

    said = detail(doctor(agent), "tools")

    assert said == f"six, {len(json.dumps(printed).encode())} bytes of schema"
    assert f"- tools: ok ({said})\n" in agent.cli("doctor").stdout


def test_what_the_doctor_makes_is_private_and_its_probes_are_gone(agent: Agent) -> None:
    """
    Directories made on the way are closed to others, and no probe file is left in them.
    """
    agent.home.rmdir()

    report = doctor(agent)

    assert report["ok"]
    assert stat.S_IMODE(agent.home.stat().st_mode) == 0o700
    assert [path.name for path in agent.home.rglob("*")] == ["runs"]


def test_a_home_open_to_others_is_named(agent: Agent) -> None:
    """
    A home that others may write to fails two checks, each with the command that mends it.
    """
    agent.home.chmod(0o777)

    found = failed(doctor(agent))

    remedy = f"{agent.home} has mode 0777: chmod 700 {agent.home}"
    assert found == {"home": remedy, "permissions": remedy}


def test_a_home_that_is_a_file_is_named(agent: Agent) -> None:
    """
    A file in the home's place is said to be one.
    """
    agent.home.rmdir()
    agent.home.touch()

    found = failed(doctor(agent))

    assert found["home"].startswith(f"{agent.home} is no directory: ")
    agent.home.unlink()


def test_an_unsafe_place_for_the_socket_is_named(agent: Agent, tmp_path: Path) -> None:
    """
    A directory in which others could replace the socket fails, as the daemon refuses it.
    """
    tmp_path.chmod(0o777)

    found = failed(doctor(agent, "--socket", str(tmp_path / "s")))

    assert found == {
        "permissions": f"a socket in {tmp_path} can be replaced by others: chmod go-w {tmp_path}"
    }


def test_a_file_in_the_place_of_the_socket_is_named(agent: Agent) -> None:
    """
    A regular file at the socket's path is no socket, and stays where it is.
    """
    Path(agent.layout.socket).write_text("mine")

    found = failed(doctor(agent))

    assert found["socket"].startswith(f"{agent.layout.socket} is no socket: move it away")
    assert Path(agent.layout.socket).read_text() == "mine"


@pytest.mark.parametrize("stale", [False, True])
def test_trial_14_a_link_in_the_place_of_the_socket_is_named(agent: Agent, *, stale: bool) -> None:
    """
    A symbolic link to no socket, or to one where nobody listens, keeps a daemon from starting.
    """
    target = agent.home / "elsewhere"
    if stale:
        listen(str(target)).close()
    Path(agent.layout.socket).symlink_to(target)

    found = failed(doctor(agent))

    assert found["socket"].startswith(f"{agent.layout.socket} is a symbolic link to {target}")
    assert "remove the link" in found["socket"]
    assert agent.cli("list").returncode == 1


def test_trial_14_a_link_to_a_daemons_socket_is_well(agent: Agent, tmp_path: Path) -> None:
    """
    A daemon is reached through the link, and it is said to be one.
    """
    agent.new("work")
    link = tmp_path / "link"
    link.symlink_to(agent.layout.socket)

    report = doctor(agent, "--socket", str(link))

    assert failed(report) == {}
    assert detail(report, "socket") == (
        f"{link} is in use, by a symbolic link to {agent.layout.socket}"
    )
    assert detail(report, "leftovers") == "none"


def test_trial_14_a_home_that_is_reached_by_a_link_is_the_same_home(
    agent: Agent, tmp_path: Path
) -> None:
    """
    Sessions of a running daemon do not wait for one, whatever path leads to its home.
    """
    agent.new("work")
    link = tmp_path / "home"
    link.symlink_to(agent.home)
    agent.env["AGENT_PTY_HOME"] = str(link)

    report = doctor(agent)

    assert failed(report) == {}
    assert detail(report, "daemon").endswith(", 1 session(s)")
    assert detail(report, "leftovers") == "none"


def test_a_long_socket_path_is_measured(agent: Agent) -> None:
    """
    A path longer than the kernel takes is told with its length.
    """
    path = str(agent.home / ("x" * 120))

    found = failed(doctor(agent, "--socket", path))

    assert f"has {len(path)} bytes, a socket's path at most 107" in found["socket"]


def test_a_home_too_long_for_the_keeper_is_told(agent: Agent, tmp_path: Path) -> None:
    """
    A short --socket does not help if the keeper's own would be too long.
    """
    agent.env["AGENT_PTY_HOME"] = str(tmp_path / ("x" * 120))

    found = failed(doctor(agent, "--socket", str(agent.home / "s")))

    assert "keeper.sock has " in found["socket"]


def test_a_missing_shell_fails(agent: Agent) -> None:
    """
    A shell that is not there is named with the option that chooses another.
    """
    found = failed(doctor(agent, "--shell", "/nonexistent"))

    reason = "/nonexistent: No such file or directory: give another with --shell"
    assert found == {"shell": reason}


def test_a_shell_that_fails_is_told(agent: Agent) -> None:
    """
    A program that cannot run a command is no shell.
    """
    found = failed(doctor(agent, "--shell", "/bin/false"))

    assert found == {"shell": "/bin/false -c 'exit 0' ended with 1:"}


def test_an_unwritable_log_directory_fails(agent: Agent) -> None:
    """
    A log directory that cannot be made fails its own check and no other.
    """
    (agent.home / "file").touch()

    done = agent.cli("doctor", "--log-dir", str(agent.home / "file" / "runs"))

    assert done.returncode == 1
    assert done.stdout.startswith("doctor: failed\ndaemon: not running\n")
    assert f"- log_dir: failed ({agent.home}/file/runs: Not a directory)\n" in done.stdout
    assert done.stdout.count(": failed (") == 1
    assert done.stderr == "error: doctor found failing checks\n"


def test_too_few_files_are_told(agent: Agent) -> None:
    """
    A limit of open files too small for a keeper fails, with the command that raises it.
    """
    done = after(agent, "ulimit -n 128")

    assert done.returncode == 1
    assert "- files: failed (soft 128, hard 128: raise it with `ulimit -n`" in done.stdout


def test_a_dead_daemon_is_followed_by_another(agent: Agent) -> None:
    """
    A killed daemon's sessions live on, and the next daemon has them: there is nothing to report.
    """
    agent.new("one")
    agent.new("two")
    end(agent.ask("status")["pid"])

    report = doctor(agent, "--orphans")

    assert failed(report) == {}
    assert report["daemon_running"]
    assert report["orphans"] == []
    assert agent.info("one")["active"]


def test_sessions_wait_without_a_keeper_too(agent: Agent) -> None:
    """
    With keeper and daemon dead, the hosts still have the sessions.
    """
    agent.new("work")
    status = agent.ask("status")
    os.kill(status["keeper_pid"], signal.SIGSTOP)  # so that it starts no other daemon
    end(status["pid"])
    end(status["keeper_pid"])

    report = doctor(agent)

    assert failed(report) == {}
    waiting = "1 session waits for a daemon: any command starts one"
    assert detail(report, "leftovers") == waiting


def test_a_silent_host_is_named(agent: Agent) -> None:
    """
    A host that does not answer fails; the remedy given brings its session back.
    """
    agent.new("work")
    host = agent.info("work")["host_pid"]
    os.kill(host, signal.SIGSTOP)

    found = failed(doctor(agent))

    reason = f"no answer from host h1 (1 sessions): `kill -9 {host}`, a new host takes over"
    assert found == {"daemon": reason}
    end(host)
    assert agent.ask("screen", id="work")["state"] == "running"
    assert doctor(agent)["ok"]


def test_a_daemon_that_cannot_be_reached_is_named(agent: Agent) -> None:
    """
    Somebody holds the lock of the home but nobody is at the socket: that is said, with the pid.
    """
    os.mkdir(agent.layout.run, 0o700)
    lock = Lock(agent.layout.daemon_lock)
    assert lock.acquire()

    try:
        found = failed(doctor(agent))
    finally:
        lock.release()

    assert list(found) == ["daemon"]
    holder = f"a daemon (pid {os.getpid()}) holds {agent.home} but cannot be asked: "
    assert found["daemon"].startswith(holder)


@contextlib.contextmanager
def impostor(path: str, answers: dict[str, Any]) -> Iterator[None]:
    """Answer the named requests at *path* as told, all others with a line of nonsense."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen()

        def serve() -> None:
            while True:
                with listener.accept()[0] as client, client.makefile("rb") as file:
                    line = file.readline()
                    op = json.loads(line)["op"] if line else "probe"
                    if op == "end":
                        return
                    answer = {"ok": True, "data": {"data": answers.get(op)}}
                    words = json.dumps(answer) if op in answers else "hello"
                    with contextlib.suppress(BrokenPipeError):  # a probe has hung up
                        client.sendall(words.encode() + b"\n")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as last:
                last.connect(path)
                last.sendall(b'{"op": "end"}\n')
                thread.join()
    os.unlink(path)


def test_a_daemon_of_another_version_is_named(agent: Agent) -> None:
    """
    A daemon that is older than the command is told, with the command that replaces it.
    """
    status = {"pid": os.getpid(), "version": "0.0.1", "home": str(agent.home), "hosts": []}

    with impostor(agent.layout.socket, {"list": [], "status": status}):
        found = failed(doctor(agent))

    assert list(found) == ["daemon"]
    assert found["daemon"].startswith("version 0.0.1, this is ")
    assert found["daemon"].endswith(": run `agent-pty restart --keep`")


def test_a_stranger_at_the_socket_is_named(agent: Agent) -> None:
    """
    What answers in another protocol is no daemon of ours, and no traceback either.
    """
    with impostor(agent.layout.socket, {}):
        found = failed(doctor(agent))

    assert list(found) == ["daemon"]
    assert "is no daemon of ours (what answers does not speak our protocol)" in found["daemon"]


def test_processes_of_unknown_sessions_are_orphans(agent: Agent) -> None:
    """
    A process with the mark of a session that nobody knows fails the check and is listed.
    """
    agent.new("work")

    with carrier(agent, "feedfacefeedface") as pid:
        report = doctor(agent, "--orphans")
        told = agent.cli("doctor", "--orphans").stdout

    assert report["orphans"] == [
        {"pid": pid, "command": "sleep 60", "instance": "feedfacefeedface"}
    ]
    assert list(failed(report)) == ["leftovers"]
    assert f"`kill {pid}` ends them" in failed(report)["leftovers"]
    assert f"orphan: {pid} sleep 60\n" in told


def test_a_session_of_another_home_is_not_an_orphan_of_this_one(
    agent: Agent, tmp_path: Path
) -> None:
    """
    Whoever points AGENT_PTY_HOME here from inside another home's session is no orphan.
    """
    with carrier(agent, "feedfacefeedface", tmp_path), carrier(agent, "feedfacefeedface"):
        report = doctor(agent)

    assert failed(report) == {}


def test_without_a_home_the_doctor_still_answers(agent: Agent) -> None:
    """
    HOME and AGENT_PTY_HOME unset: failed checks with the remedy, no traceback.
    """
    del agent.env["AGENT_PTY_HOME"], agent.env["HOME"]

    report = doctor(agent)

    remedy = "HOME is not set: set AGENT_PTY_HOME to a directory of your own"
    assert failed(report)["home"] == report["status"]["error"] == remedy
    assert (report["socket"], report["log_dir"]) == (None, None)
    assert {"git", "shell", "emulator", "pty"}.isdisjoint(failed(report))
    agent.env["AGENT_PTY_HOME"] = str(agent.home)


def test_a_removed_directory_is_no_traceback(agent: Agent) -> None:
    """
    Where the current directory is gone, paths that hang on it fail, nothing raises.
    """
    done = after(agent, 'cd "$(mktemp -d)" && rmdir "$PWD"')

    assert done.stdout.startswith("doctor: ")
    assert "Traceback" not in done.stderr
