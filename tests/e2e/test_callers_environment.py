"""Whose environment a program in a session has: that of the caller, not of the daemon's start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.agent import Agent
from support.k import K

BIN = os.path.dirname(sys.executable)
SHOW = ["/usr/bin/env", "-0"]
NEW = {
    "k": ["k", "new", "made", "--", "/bin/bash", "--norc", "--noprofile"],
    "agent-pty": ["agent-pty", "new", "--name", "made", "--ready", "--", "/bin/bash", "--norc"],
}
EXEC = {"k": ["k", "exec", "--"], "agent-pty": ["agent-pty", "exec", "--"]}
PAGERS = ("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "PSQL_PAGER", "BAT_PAGER")


def called(
    agent: Agent,
    *words: str,
    env: Mapping[str, str | bytes] | None = None,
    without: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[bytes]:
    """Call a program of ours with another environment than the one that started the daemon."""
    program, *rest = words
    own = {name: value for name, value in agent.env.items() if name not in without}
    return subprocess.run(
        [f"{BIN}/{program}", *rest],
        cwd=agent.home,
        env={
            os.fsencode(name): os.fsencode(value) for name, value in {**own, **(env or {})}.items()
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def environment_of(agent: Agent, name: str) -> dict[bytes, bytes]:
    """Return the environment with which the program of a session was started."""
    pid = agent.info(name)["process_id"]
    items = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return {item.partition(b"=")[0]: item.partition(b"=")[2] for item in items if item}


def made(
    agent: Agent,
    program: str,
    *,
    env: Mapping[str, str | bytes] | None = None,
    without: tuple[str, ...] = (),
) -> dict[bytes, bytes]:
    """Start a session and return the environment of its program."""
    done = called(agent, *NEW[program], env=env, without=without)
    assert done.returncode == 0, done
    return environment_of(agent, "made")


@pytest.fixture
def running(agent: Agent) -> Agent:
    """A user whose daemon was started from somewhere else, with a variable of that place."""
    agent.env["OF_THE_DAEMON"] = "old"
    agent.env["COMMON"] = "old"
    agent.cli("list")
    return agent


@pytest.mark.parametrize("program", NEW)
def test_trial_22_a_session_has_its_callers_environment(running: Agent, program: str) -> None:
    """
    `new` takes each variable from the caller, and none from whoever started the daemon.
    """
    env = {"COMMON": "new", "VIRTUAL_ENV": "/venv", "SSH_AUTH_SOCK": "/agent", "LANG": "C.UTF-8"}

    found = made(running, program, env=env, without=("OF_THE_DAEMON",))

    assert {os.fsdecode(name): os.fsdecode(value) for name, value in found.items()}.items() >= (
        env.items()
    )
    assert b"OF_THE_DAEMON" not in found


@pytest.mark.parametrize("program", EXEC)
def test_trial_22_exec_has_its_callers_environment(running: Agent, program: str) -> None:
    """
    `exec` finds its program by the PATH of the caller, and gives it the caller's variables.
    """
    tools = running.home / "tools"
    tools.mkdir()
    (tools / "mine").write_text('#!/bin/sh\necho "$COMMON ${OF_THE_DAEMON-unset}"\n')
    (tools / "mine").chmod(0o755)
    env = {"COMMON": "new", "PATH": f"{tools}:{running.env['PATH']}"}

    done = called(running, *EXEC[program], "mine", env=env, without=("OF_THE_DAEMON",))

    assert (done.stdout, done.returncode) == (b"new unset\n", 0), done


@pytest.mark.parametrize("program", NEW)
def test_trial_22_every_byte_of_the_environment_arrives(running: Agent, program: str) -> None:
    """
    Values that are not UTF-8, empty, of several lines or large arrive as they are.
    """
    env: dict[str, str | bytes] = {
        "RAW": b"\xff\xfe latin \xe9",
        "EMPTY": "",
        "LINES_OF_TEXT": "a\nb=c\n",
        "GREETING": "Grüße 日本",
        "LARGE": "x" * 120_000,
    }

    found = made(running, program, env=env)

    assert {name: found[name.encode()] for name in env} == {
        name: os.fsencode(value) for name, value in env.items()
    }


@pytest.mark.parametrize("program", NEW)
def test_trial_22_the_callers_terminal_and_session_do_not_follow(
    running: Agent, program: str
) -> None:
    """
    What describes the terminal, the session or the directory of the caller is not inherited.
    """
    terminal = ("TMUX", "COLUMNS", "TERM_PROGRAM", "WINDOWID", "KITTY_PID", "SSH_TTY")
    ours = ("AGENT_PTY_SESSION", "AGENT_PTY_INSTANCE", "AGENT_PTY_START", "AGENT_PTY_SCRIPT")
    foreign = dict.fromkeys((*terminal, *ours, "TERM", "COLORTERM", "PWD", "OLDPWD"), "foreign")

    found = made(running, program, env=foreign)

    assert [name for name, value in found.items() if value == b"foreign"] == []
    assert (found[b"TERM"], found[b"COLORTERM"]) == (b"xterm-256color", b"truecolor")
    assert os.path.realpath(found[b"PWD"]) == os.fsencode(os.path.realpath(running.home))
    assert found[b"AGENT_PTY_SESSION"] == b"made"


@pytest.mark.parametrize("program", NEW)
def test_trial_22_a_program_finds_the_daemon_of_its_session(running: Agent, program: str) -> None:
    """
    `k` inside a session speaks with the daemon of that session, whatever HOME the caller has.
    """
    elsewhere = running.home / "elsewhere"
    elsewhere.mkdir()
    env = {"HOME": str(elsewhere), "AGENT_PTY_SOCKET": running.layout.socket}

    found = made(running, program, env=env, without=("AGENT_PTY_HOME",))

    inside = {os.fsdecode(name): os.fsdecode(value) for name, value in found.items()}
    listed = subprocess.run(
        [f"{BIN}/k", "ls"], env=inside, capture_output=True, text=True, timeout=60, check=False
    )
    assert inside["HOME"] == str(elsewhere)
    assert listed.stdout.split()[0] == "made", listed


def test_trial_22_a_request_without_an_environment_has_the_daemons(running: Agent) -> None:
    """
    A program that speaks JSON and sends no environment gets the daemon's, as before.
    """
    running.new("plain", env={"ADDED": "too"})

    found = environment_of(running, "plain")

    assert (found[b"OF_THE_DAEMON"], found[b"ADDED"]) == (b"old", b"too")
    assert found[b"AGENT_PTY_HOME"] == os.fsencode(running.home)


def test_trial_22_a_request_may_have_an_environment(running: Agent) -> None:
    """
    The field `environment` of a request stands for all that the program inherits; `env` is added.
    """
    running.new("given", environment={"PATH": "/usr/bin:/bin", "A": "1"}, env={"A": "2"})

    found = environment_of(running, "given")

    assert (found[b"PATH"], found[b"A"]) == (b"/usr/bin:/bin", b"2")
    assert b"OF_THE_DAEMON" not in found


@pytest.mark.parametrize("program", NEW)
def test_trial_22_the_environments_values_are_stored_nowhere(running: Agent, program: str) -> None:
    """
    No file of ours, and no answer, has the value of a variable that the caller's environment has.
    """
    secret = "t0ken-of-the-caller"

    made(running, program, env={"API_TOKEN": secret})

    kept = [path for path in running.home.rglob("*") if path.is_file()]
    assert any(path.name == "spec.json" for path in kept)
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []
    assert secret not in running.cli("list", "--json").stdout


def test_trial_22_start_up_files_are_the_callers(running: Agent) -> None:
    """
    Python in a session reads the start-up file that the caller names, and restores the variable.
    """
    k = K(running, PYTHONSTARTUP=str(running.home / "mine.py"))
    k.file("mine.py", "who = 'the caller'\n")

    k.new("py", "python3")

    code = "import os; print(who, os.environ['PYTHONSTARTUP'].endswith('/mine.py'))"
    assert k.output("py", code) == "the caller True"


# -- pagers


@pytest.mark.parametrize("words", [["new", "made"], ["exec", "--"]])
def test_trial_22_pagers_are_off_in_what_k_starts(running: Agent, words: list[str]) -> None:
    """
    Whatever pager the caller likes, programs that `k` starts print everything at once.
    """
    liked = dict.fromkeys(PAGERS, "less")
    shown = " ".join(f"${name}" for name in PAGERS)

    if words[0] == "new":
        called(running, "k", *words, env=liked)
        done = called(running, "k", "run", "made", f"echo {shown}")
    else:
        done = called(running, "k", *words, "sh", "-c", f"echo {shown}", env=liked)

    assert done.stdout.split() == [b"cat"] * len(PAGERS), done


def test_trial_22_pager_keeps_the_callers(running: Agent) -> None:
    """
    `--pager` leaves the caller's pagers as they are, and a variable that is given counts anyway.
    """
    called(running, "k", "new", "kept", "--pager", env={"PAGER": "most"}, without=PAGERS[1:])
    called(running, "k", "new", "said", "--env", "PAGER=mine")

    assert environment_of(running, "kept")[b"PAGER"] == b"most"
    assert b"GIT_PAGER" not in environment_of(running, "kept")
    assert environment_of(running, "said")[b"PAGER"] == b"mine"


def test_trial_22_agent_pty_keeps_pagers_unless_asked(running: Agent) -> None:
    """
    `agent-pty new` is for people too: only `--no-pager` switches pagers off.
    """
    called(running, "agent-pty", "new", "--name", "kept", env={"PAGER": "most"})
    called(running, "agent-pty", "new", "--name", "off", "--no-pager", env={"PAGER": "most"})

    assert environment_of(running, "kept")[b"PAGER"] == b"most"
    assert environment_of(running, "off")[b"PAGER"] == b"cat"
