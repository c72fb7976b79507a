"""Ctrl-S stops what a program writes: whoever looks at the session is told, and how to resume."""

from __future__ import annotations

import json

import pytest

from support.agent import Agent, eventually, slay
from support.k import K

SAID = "output paused (Ctrl-S): agent-pty keys {name} ctrl-q resumes it"
# Ends as soon as its terminal takes what it writes.
STOPS_ITSELF = "import termios; termios.tcflow(1, termios.TCOOFF); print('resumed')"
# Reads keys as they are, and goes on until there is no terminal.
TAKES_KEYS = """
import os, tty
tty.setraw(0)
print("ready", flush=True)
while True:
    print("got", os.read(0, 1)[0], flush=True)
"""


def paused(agent: Agent, name: str) -> bool:
    """Return what `list` says."""
    said = agent.info(name)["output_paused"]
    assert said is not None
    return bool(said)


def test_trial_15_a_session_that_ctrl_s_stopped_is_listed_as_paused(agent: Agent) -> None:
    """
    `list`, `status`, `top`, `k ls` and `k status` say it from the key on, and until Ctrl-Q.
    """
    k = K(agent)
    agent.new("work")
    before = agent.cli("list").stdout

    agent.ask("keys", id="work", keys=["ctrl-s"])

    assert paused(agent, "work")
    assert agent.cli("list").stdout == before.replace("\n", " (output paused)\n")
    assert agent.ask("status")["output_paused"] == ["work"]
    assert "output paused: work" in agent.cli("status").stdout
    assert agent.cli("top", "--once").stdout.splitlines()[1].split()[1] == "paused"
    assert "output paused" in k.run("ls").stdout
    assert k.run("status", "work").stdout == f"OK work pipe=ok {SAID.format(name='work')}\n"
    assert k.json("status", "-j", "work")["output_paused"] is True
    agent.ask("keys", id="work", keys=["ctrl-q"])
    assert not paused(agent, "work")
    assert agent.cli("list").stdout == before
    assert agent.ask("status")["output_paused"] == []
    assert "output_paused" not in k.json("status", "-j", "work")


def test_trial_15_a_wait_that_times_out_says_that_output_is_paused(agent: Agent) -> None:
    """
    The message has the remedy, the observation the fact; with Ctrl-Q the text comes.
    """
    agent.new("work")
    agent.ask("keys", id="work", keys=["ctrl-s"])
    agent.ask("send", id="work", text="echo done-$((1+1))")

    said = agent.cli("wait", "work", "--until", "done-2", "--timeout", "100ms", "--json")

    failed = json.loads(said.stdout)
    assert failed["error"].endswith(f"in session work; {SAID.format(name='work')}")
    assert failed["details"]["observation"]["output_paused"] is True
    agent.ask("keys", id="work", keys=["ctrl-q"])
    seen = agent.ask("wait", id="work", until="done-2", since=0)
    assert seen["output_paused"] is False


def test_trial_15_a_wait_that_silence_ends_says_it_too(agent: Agent) -> None:
    """
    A paused program is silent, but that says nothing about it.
    """
    agent.new("work")
    agent.ask("keys", id="work", keys=["ctrl-s"])

    said = agent.cli("wait", "work", "--until", "idle:10ms")

    assert said.returncode == 0
    assert said.stderr == f"{SAID.format(name='work')}\n"


def test_trial_15_a_cell_that_times_out_says_that_output_is_paused(agent: Agent) -> None:
    """
    `k run`, `k poll`, `k peek`, `run` and `peek` have the remedy as hint; after Ctrl-Q it ends.
    """
    k, said = K(agent), SAID.format(name="work")
    agent.new("work")
    agent.ask("keys", id="work", keys=["ctrl-s"])

    ran = k.json("run", "-j", "-t", "1", "work", "echo done-$((1+1))")
    polled = k.json("poll", "work")
    again = k.json("poll", "work")
    peeked = agent.cli("peek", "work")

    assert list(ran) == ["cell_id", "status", "output", "hint"]
    assert (ran["status"], ran["output"], ran["hint"]) == ("timeout", "", said)
    assert (polled["hint"], again["hint"]) == (said, said)
    assert said in peeked.stderr
    agent.ask("keys", id="work", keys=["ctrl-q"])
    assert k.collect("work", ran["cell_id"]) == {
        "cell_id": ran["cell_id"],
        "status": "done",
        "output": "done-2",
    }


def test_trial_15_text_of_a_timeout_says_that_output_is_paused(agent: Agent) -> None:
    """
    People are told on standard error, by `k run` and by `run`.
    """
    said = SAID.format(name="work")
    agent.new("work")
    agent.ask("keys", id="work", keys=["ctrl-s"])

    plain = K(agent).run("run", "-t", "1", "work", "echo hello")
    refused = agent.cli("run", "work", "echo hello")

    assert f"k: {said}\n" in plain.stderr
    assert "active cell" in refused.stderr
    assert said in agent.cli("poll", "work").stderr


def test_trial_15_a_program_that_takes_ctrl_s_itself_is_not_paused(agent: Agent) -> None:
    """
    Where the terminal has no flow control, Ctrl-S is a key like any other.
    """
    agent.new("editor", "/usr/bin/env", "python3", "-c", TAKES_KEYS)
    agent.ask("wait", id="editor", until="ready")

    agent.ask("keys", id="editor", keys=["ctrl-s"])

    agent.ask("wait", id="editor", until="got 19")
    assert not paused(agent, "editor")


def test_trial_15_a_flood_is_not_taken_for_a_pause(agent: Agent) -> None:
    """
    A program that writes faster than it is read waits for us, not for Ctrl-Q.
    """
    agent.new("flood", "/bin/sh", "-c", "exec yes")
    agent.ask("wait", id="flood", until="y")

    assert not any(paused(agent, "flood") for _ in range(100))
    agent.ask("keys", id="flood", keys=["ctrl-s"])
    eventually(lambda: paused(agent, "flood"))
    agent.ask("keys", id="flood", keys=["ctrl-q"])
    eventually(lambda: not paused(agent, "flood"))


@pytest.mark.parametrize("how", ["another host", "by the program"])
def test_trial_15_a_pause_that_no_key_of_ours_made_is_known(agent: Agent, how: str) -> None:
    """
    The kernel is asked: so a new host knows it, and a program may have stopped its own output.
    """
    if how == "another host":
        agent.new("work")
        agent.ask("keys", id="work", keys=["ctrl-s"])
        slay(agent.pid_of("work"))
    else:
        agent.new("work", "/usr/bin/env", "python3", "-c", STOPS_ITSELF)

    eventually(lambda: paused(agent, "work"))
