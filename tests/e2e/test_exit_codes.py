"""What `k` and `agent-pty` say of an exit code that nobody could report: never that it is 0."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from support.agent import Agent, eventually, slay
from support.k import K

UNKNOWN = 122


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


@pytest.mark.parametrize("outer", ["bash", "zsh", "fish", "dash"])
@pytest.mark.parametrize(
    ("inner", "code"),
    [("bash --norc", "false"), ("dash", "false"), ("python3 -q", "1/0")],
    ids=["bash", "dash", "python"],
)
def test_trial_05_in_a_nested_shell_the_exit_code_is_unknown(
    k: K, outer: str, inner: str, code: str
) -> None:
    """
    A shell that has no marks reports no exit code: null, and a status of its own with -e.
    """
    session = k.session(outer)
    k.output(session, inner)

    done = k.run("run", "-j", "-e", session, code)
    plain = k.run("run", "-e", session, code)
    unasked = k.run("run", "-j", session, code)
    other = k.agent.cli("run", session, code)
    k.cell(session, "exit()" if code == "1/0" else "exit")

    said = json.loads(done.stdout)
    assert list(said) == ["cell_id", "status", "output", "exit_code"]
    assert (said["status"], said["exit_code"]) == ("done", None)
    assert [one.returncode for one in (done, plain, unasked, other)] == [
        UNKNOWN,
        UNKNOWN,
        0,
        UNKNOWN,
    ]
    assert "exit code is unknown" in plain.stderr
    assert "exit code is unknown" in other.stderr
    assert k.run("run", "-e", session, "false").returncode == 1


def test_trial_05_what_starts_a_nested_shell_has_no_known_exit_code(k: K) -> None:
    """
    The shell that was started still runs, so its exit code is unknown; when it ends it is known.
    """
    session = k.session("bash")

    started = k.cell(session, "dash")
    ended = k.cell(session, "exit 3")

    assert (started.pop("now"), ended.pop("now")) == ("dash", "bash")
    assert (started.pop("hint") and ended.pop("hint")) == "bash reads the keyboard again"
    assert started == {"status": "done", "output": "", "exit_code": None}
    assert ended == {"status": "done", "output": "", "exit_code": 3}


NO_CODES = {
    "sqlite3": (["sqlite3"], "select 1;", "1"),
    "gdb": (["gdb", "-q"], "print 1", "$1 = 1"),
    "exact": (["env PS1='ready> ' bash --norc", "--exact=ready>"], "echo 1", "1"),
    "repeat": (["env PS1='ready> ' bash --norc", "--frame=repeat"], "echo 1", "1"),
}


@pytest.mark.parametrize("name", NO_CODES)
def test_trial_05_where_there_are_no_exit_codes_none_is_missed(k: K, name: str) -> None:
    """
    Programs without exit codes, and ends that the user describes, give the object as documented.
    """
    words, code, output = NO_CODES[name]
    if shutil.which(words[0].split()[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    session = k.new(f"none-{name}", *words)

    done = k.run("run", "-j", "-e", session, code)

    assert done.returncode == 0
    assert done.stdout.endswith(f'"status": "done", "output": "{output}"}}\n')
    assert k.agent.cli("run", session, code).returncode == 0


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not installed")
def test_trial_05_a_nested_program_without_exit_codes_misses_none(k: K) -> None:
    """
    Within sqlite3, started from a shell, there is no exit code that could be unknown.
    """
    session = k.session("bash")
    k.output(session, "sqlite3")

    said = k.cell(session, "select 1;")
    k.run("keys", session, "ctrl-d")

    assert said == {"status": "done", "output": "1"}


def test_trial_05_after_the_death_of_the_keeper_the_end_is_unknown(agent: Agent) -> None:
    """
    A session that ends after its keeper died has an unknown exit code, and the status says so.
    """
    k = K(agent)
    codes = {}
    for name in ("with-k", "with-agent-pty"):
        k.new(name, "bash")
        k.output(name, "echo ready")
    slay(agent.pid_of("keeper"))

    done = k.run("run", "-j", "-e", "with-k", "exit 3")
    codes["k"] = done.returncode
    codes["agent-pty"] = agent.cli("run", "with-agent-pty", "exit 3").returncode

    assert done.stdout.endswith('"status": "error", "output": "exited", "exit_code": null}\n')
    assert codes == {"k": UNKNOWN, "agent-pty": UNKNOWN}


@pytest.mark.parametrize("words", [["agent-pty", "exec"], ["k", "exec", "-j"]])
def test_trial_05_exec_does_not_call_an_unknown_end_success(agent: Agent, words: list[str]) -> None:
    """
    A program whose keeper died meanwhile ends with the status for what is unknown, not with 0.
    """
    k, gate = K(agent), agent.home / "gate"
    os.mkfifo(gate)
    agent.cli("list")

    running = k.start(*words[1:], "--", "sh", "-c", f"cat {gate}; exit 3", program=words[0])
    eventually(lambda: bool(agent.ask("list")))
    slay(agent.pid_of("keeper"))
    gate.write_text("open\n")
    out, err = running.communicate(timeout=60)

    assert running.returncode == UNKNOWN, (out, err)
    assert ("exit code is unknown" in err) == (words[0] == "agent-pty")
    assert out == (
        "open\n"
        if words[0] == "agent-pty"
        else '{"status": "done", "output": "open", "exit_code": null}\n'
    )
