"""Recovery makes crashes boring: `kill -9` of any single process of ours loses no session."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from agent_pty.errors import WaitTimeout
from support.agent import Agent, alive, ended, eventually, running, slay

COUNTING = "i=0; while :; do echo $((i++)); sleep 0.1; done"
LONG = 60_000


def numbers(text: str) -> list[int]:
    """Return the lines that are nothing but a number.

    If bash goes on after Ctrl-C, the echo of that stands before the next one.
    """
    return [int(line) for line in re.findall(r"(?m)^(?:\^C)*(\d+)$", text)]


def wait_for_number(agent: Agent, number: int) -> None:
    """Return once the loop has counted to *number*."""
    agent.ask("wait", id="work", until=f"regex:(?m)^{number}$", timeout_ms=LONG)


def stop_counting(agent: Agent) -> list[int]:
    """Press Ctrl-C and return everything that was counted."""

    def stopped() -> bool:
        # Bash goes on if its `sleep` had just ended by itself: it believes that one took the key.
        agent.ask("interrupt", id="work")
        try:
            agent.ask("wait", id="work", until="prompt", timeout_ms=1000)
        except WaitTimeout:
            return False
        return True

    eventually(stopped)
    return numbers(agent.transcript("work"))


def in_custody(agent: Agent) -> bool:
    """Whether the keeper holds terminal and spool of every session there is."""
    descriptors = f"/proc/{agent.pid_of('keeper')}/fd"
    try:
        held = [os.readlink(f"{descriptors}/{fd}") for fd in os.listdir(descriptors)]
    except (FileNotFoundError, PermissionError):
        # A dead keeper, or a descriptor that was just closed. Of a process that nobody has
        # reaped yet, an ordinary user may see nothing.
        return False
    sessions: int = agent.ask("status")["session_count"]
    spools = held.count("/memfd:agent-pty-spool (deleted)")
    return held.count("/dev/ptmx") == spools == sessions


def kill_nine(agent: Agent, *victims: str) -> None:
    """Kill at the same moment; what died before was replaced by now."""
    eventually(lambda: in_custody(agent))
    slay(*(agent.pid_of(victim) for victim in victims))


def count_through(agent: Agent, *victims: str) -> None:
    """Kill *victims* at the same moment; the loop goes on as if nothing had happened."""
    before = numbers(agent.transcript("work"))[-1]
    kill_nine(agent, *victims)

    listed = agent.cli("list")

    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.startswith("work active=true")
    wait_for_number(agent, before + 5)


def assert_nothing_left(agent: Agent, *pids: int) -> None:
    """Stop, and see that neither we nor the programs are there."""
    stopped = agent.cli("stop")

    assert stopped.returncode == 0, stopped.stderr
    assert agent.processes() == []
    assert [pid for pid in pids if alive(pid)] == []


def fifo(agent: Agent) -> str:
    """Make a pipe by which a test can tell a program to end when no terminal can."""
    path = str(agent.home / "fifo")
    os.mkfifo(path)
    return path


def let_end(path: str, pid: int) -> None:
    """Write the line that the program waits for, and return when it has ended."""
    Path(path).write_text("now\n")
    ended(pid)


DEATHS: dict[str, tuple[tuple[str, ...], ...]] = {
    "daemon": (("daemon",),),
    "host": (("work",),),
    "keeper": (("keeper",),),
    "each in turn": (("daemon",), ("work",), ("keeper",)),
    "each in another turn": (("keeper",), ("work",), ("daemon",)),
    "daemon and host at once": (("daemon", "work"),),
    "daemon and keeper at once": (("daemon", "keeper"),),
}


@pytest.mark.parametrize("deaths", DEATHS.values(), ids=DEATHS.keys())
def test_a_shell_counts_on_through_every_death(
    agent: Agent, deaths: tuple[tuple[str, ...], ...]
) -> None:
    """
    After `kill -9` the same shell counts on, and no number is missing or there twice.
    """
    shell = agent.new("work")["pid"]
    agent.ask("send", id="work", text=COUNTING)
    wait_for_number(agent, 3)

    for victims in deaths:
        count_through(agent, *victims)

    assert agent.info("work")["pid"] == shell
    assert alive(shell)
    counted = stop_counting(agent)
    assert counted == list(range(len(counted)))
    assert_nothing_left(agent, shell)


@pytest.mark.parametrize("victim", ["daemon", "work", "keeper"])
def test_a_new_session_starts_right_after_a_death(agent: Agent, victim: str) -> None:
    """
    Whoever died, `new` works at once, beside the session that was there.
    """
    agent.new("work")
    slay(agent.pid_of(victim))

    made = agent.cli("new", "--name", "other", "--repo", "/tmp")

    assert made.stdout == "created session other\n"
    assert {one["id"]: one["state"] for one in agent.ask("list")} == {
        "other": "running",
        "work": "running",
    }


def test_stop_after_the_daemon_died_leaves_nothing(agent: Agent) -> None:
    """
    `stop` also ends what a dead daemon left: keeper, hosts and sessions.
    """
    shell = agent.new("work")["pid"]
    slay(agent.pid_of("daemon"))

    assert_nothing_left(agent, shell)


def test_stop_after_daemon_and_keeper_died_leaves_nothing(agent: Agent) -> None:
    """
    `stop` finds sessions that only a host holds.
    """
    shell = agent.new("work")["pid"]
    slay(agent.pid_of("daemon"), agent.pid_of("keeper"))

    assert_nothing_left(agent, shell)


def test_without_keeper_and_host_a_session_is_lost_and_says_so(agent: Agent) -> None:
    """
    When both custodians of a terminal die at once it is gone; new sessions work.
    """
    shell = agent.new("work")["pid"]
    slay(agent.pid_of("keeper"), agent.pid_of("work"))
    eventually(lambda: agent.info("work")["state"] == "lost")

    looked = agent.cli("screen", "work")

    assert looked.returncode == 6
    assert "session work is lost" in looked.stderr
    assert agent.cli("kill", "work").returncode == 0
    assert not alive(shell)
    assert agent.new("work")["id"] == "work"


def test_trial_14_a_session_lost_with_keeper_and_host_says_when_and_why(agent: Agent) -> None:
    """
    The reason is a sentence and no name of an exception; the error says what helps.
    """
    agent.new("work")
    slay(agent.pid_of("keeper"), agent.pid_of("work"))
    eventually(lambda: agent.info("work")["state"] == "lost")

    found = agent.info("work")
    looked = agent.cli("screen", "work")

    assert "and with it the keeper, which held the terminal" in found["diagnosis"]
    assert "KeyError" not in found["diagnosis"]
    assert found["lost_at"].endswith("Z")
    assert "`agent-pty kill work` ends what is left of it and frees its name" in looked.stderr
    assert agent.cli("list").stdout.endswith(f" lost={found['lost_at']}\n")


OUTLIVING = "setsid nohup sleep {} >/dev/null 2>&1 &"


def kill_all_three(agent: Agent, session: str) -> None:
    """Kill daemon, keeper and host at the same moment."""
    slay(agent.pid_of("daemon"), agent.pid_of("keeper"), agent.pid_of(session))


def test_trial_14_after_the_death_of_all_three_sessions_are_reported_as_lost(
    agent: Agent,
) -> None:
    """
    The next daemon lists them with time and reason, and the time stays the same after that.
    """
    instance = agent.new("work")["instance"]
    kill_all_three(agent, "work")

    found = agent.info("work")
    agent.cli("restart", "--keep")

    assert (found["state"], found["active"], found["instance"]) == ("lost", False, instance)
    assert found["diagnosis"] == "keeper, host and daemon ended, and with them its terminal"
    assert found["lost_at"].endswith("Z")
    assert agent.info("work") == found
    assert agent.cli("screen", "work").returncode == 6


def test_trial_14_a_lost_session_can_be_killed_and_its_name_used_again(agent: Agent) -> None:
    """
    `kill` frees the name, and nothing of the lost session comes back.
    """
    agent.new("work")
    kill_all_three(agent, "work")

    killed = agent.cli("kill", "work")

    assert (killed.returncode, killed.stdout) == (0, "killed\n")
    assert agent.ask("list") == []
    agent.new("work")
    slay(agent.pid_of("daemon"))
    assert agent.info("work")["state"] == "running"


def test_trial_14_what_outlived_a_lost_session_is_ended(agent: Agent) -> None:
    """
    The next daemon ends what was left in the background, and only that.
    """
    nap = str(51_000_000 + os.getpid())
    agent.new("work")
    agent.ask("send", id="work", text=OUTLIVING.format(nap))
    eventually(lambda: bool(running("sleep", nap)))
    kill_all_three(agent, "work")
    assert running("sleep", nap)

    agent.ask("list")

    assert running("sleep", nap) == []


def test_trial_14_a_known_exit_code_outlives_all_three(agent: Agent) -> None:
    """
    A session whose program had exited is lost with its exit code.
    """
    agent.new("work", "sh", "-c", "exit 7")
    agent.ask("wait", id="work", until="exit", timeout_ms=LONG)
    index = Path(agent.layout.session_index)
    eventually(lambda: index.exists() and '"exited"' in index.read_text())
    kill_all_three(agent, "work")

    found = agent.info("work")

    assert (found["state"], found["exit_code"]) == ("lost", 7)


def test_trial_14_stop_after_the_death_of_all_three_leaves_nothing(agent: Agent) -> None:
    """
    `stop` ends what outlived a session that nobody has any more.
    """
    nap = str(52_000_000 + os.getpid())
    shell = agent.new("work")["pid"]
    agent.ask("send", id="work", text=OUTLIVING.format(nap))
    eventually(lambda: bool(running("sleep", nap)))
    kill_all_three(agent, "work")

    assert_nothing_left(agent, shell)

    assert running("sleep", nap) == []


def test_trial_14_a_session_of_a_host_that_hangs_is_not_lost_for_good(agent: Agent) -> None:
    """
    With a new keeper and a new daemon it is reported as lost, but not ended, and found again.
    """
    shell = agent.new("work")["pid"]
    host = agent.pid_of("work")
    os.kill(host, signal.SIGSTOP)
    slay(agent.pid_of("daemon"), agent.pid_of("keeper"))

    found = agent.info("work")
    os.kill(host, signal.SIGCONT)
    eventually(lambda: agent.info("work")["state"] == "running")

    assert found["state"] == "lost"
    assert "does not answer" in found["diagnosis"]
    agent.ask("send", id="work", text="echo back-$((1+1))")
    agent.ask("wait", id="work", until="back-2", timeout_ms=LONG)
    assert agent.info("work")["pid"] == shell
    assert agent.info("work")["lost_at"] is None
    count_through_custody(agent)


def count_through_custody(agent: Agent) -> None:
    """Kill the host: the session lives on if the keeper has its terminal."""
    kill_nine(agent, "work")
    agent.ask("send", id="work", text="echo again-$((1+1))")
    agent.ask("wait", id="work", until="again-2", timeout_ms=LONG)


# -- what a host knew


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_the_screen_of_vim_is_rebuilt(agent: Agent) -> None:
    """
    A new host shows the alternate screen exactly as the dead one did, and vim goes on.
    """
    text = agent.home / "poem.txt"
    text.write_text("".join(f"verse {number}\n" for number in range(1, 40)))
    agent.new("work", "vim", "-u", "NONE", "-N", "-n", str(text))
    agent.ask("wait", id="work", until="screen:verse 23", timeout_ms=LONG)
    agent.ask("wait", id="work", until="idle:500ms", timeout_ms=LONG)
    before = agent.ask("screen", id="work")

    slay(agent.pid_of("work"))

    assert before["alternate_screen"]
    assert agent.ask("screen", id="work") == before
    agent.ask("send", id="work", text="G", enter=False)
    agent.ask("wait", id="work", until="screen:verse 39", timeout_ms=LONG)


def test_a_screen_older_than_the_spool_is_rebuilt(agent: Agent) -> None:
    """
    What was drawn before the last checkpoint comes from it, not from the raw bytes.
    """
    agent.new("work", "sh", "-c", r"printf '\033[1;31mold\033[m\n'; read x; echo got-$x; cat")
    agent.ask("wait", id="work", until="old", timeout_ms=LONG)
    agent.ask("resize", id="work", rows=30, cols=100)  # makes a checkpoint
    agent.ask("send", id="work", text="new")
    agent.ask("wait", id="work", until="got-new", timeout_ms=LONG)
    before = agent.ask("screen", id="work")

    slay(agent.pid_of("work"))

    assert before["text"].rstrip() == "old\nnew\ngot-new"
    assert agent.ask("screen", id="work") == before


def test_a_flood_comes_through_the_death_of_its_host(agent: Agent) -> None:
    """
    A host killed in the middle of a flood, twice, costs not one byte of it.
    """
    agent.new("work")
    agent.ask("send", id="work", text="clear; seq 1 300000; echo end-$((1+1))")
    for reached in (1_000, 100_000):
        wait_for_number(agent, reached)
        slay(agent.pid_of("work"))

    agent.ask("wait", id="work", until="end-2", timeout_ms=LONG)

    flood = agent.transcript("work").partition("\n1\n")[2].partition("\nend-2\n")[0]
    assert flood == "\n".join(map(str, range(2, 300_001)))


def test_a_cursor_survives_the_host(agent: Agent) -> None:
    """
    A cursor given before a crash reads on after it: nothing twice, nothing left out.
    """
    agent.new("work")
    agent.ask("send", id="work", text="echo before-$((1+1))")
    agent.ask("wait", id="work", until="before-2", timeout_ms=LONG)
    agent.ask("wait", id="work", until="prompt", timeout_ms=LONG)
    cursor = agent.ask("read", id="work")["cursor"]

    slay(agent.pid_of("work"))
    agent.ask("send", id="work", text="echo after-$((1+1))")
    agent.ask("wait", id="work", until="after-2\n$ ", timeout_ms=LONG)

    assert agent.transcript("work", since=cursor) == "echo after-$((1+1))\nafter-2\n$ "


def test_a_cursor_within_a_rewritten_line_survives_the_host(agent: Agent) -> None:
    """
    Who was shown `50%` gets the whole line that replaced it, crash or no crash.
    """
    told = fifo(agent)
    script = rf"printf '50%%'; read x < {told}; printf '\r100%% done\n'"
    program = agent.new("work", "sh", "-c", script)["pid"]
    agent.ask("wait", id="work", until="50%", timeout_ms=LONG)
    cursor = agent.ask("read", id="work")["cursor"]

    slay(agent.pid_of("work"))
    let_end(told, program)
    agent.ask("wait", id="work", until="exit", timeout_ms=LONG)

    assert agent.transcript("work", since=cursor) == "100% done\n"


def test_a_cursor_behind_a_rewritten_line_survives_the_host(agent: Agent) -> None:
    """
    A line rewritten under a reader's eyes moves the cursors behind it; a crash does not.
    """
    told = fifo(agent)
    agent.new(
        "work", "sh", "-c", rf"printf '50%%'; cat {told}; printf '\r100%%\none\n'; cat {told}; cat"
    )
    agent.ask("wait", id="work", until="50%", timeout_ms=LONG)
    agent.ask("read", id="work")
    Path(told).write_text("")
    agent.ask("wait", id="work", until="one", timeout_ms=LONG)
    cursor = agent.ask("read", id="work")["cursor"]
    Path(told).write_text("two\nthree\n")
    agent.ask("wait", id="work", until="three", timeout_ms=LONG)

    slay(agent.pid_of("work"))

    assert agent.transcript("work", since=cursor) == "two\nthree\n"


@pytest.mark.parametrize("op", ["wait", "send"])
def test_a_request_in_flight_is_told_that_its_delivery_is_unknown(agent: Agent, op: str) -> None:
    """
    What a host was doing when it died is reported as unknown, never guessed.
    """
    agent.new("work", "sh", "-c", "stty raw -echo; echo up-$((1+1)); exec sleep 1000")
    agent.ask("wait", id="work", until="up-2", timeout_ms=LONG)
    # A program that never reads takes a few kilobytes; the rest of the text has to wait.
    fields: dict[str, Any] = {"wait": {"until": "never"}, "send": {"text": "x" * 100_000}}[op]

    with agent.begin(op, id="work", **fields) as answer:
        agent.ask("screen", id="work")
        slay(agent.pid_of("work"))
        envelope = answer()

    assert envelope["code"] == "host_lost"
    assert envelope["details"]["delivery"] == "unknown"


def test_a_key_whose_host_died_does_not_act_again(agent: Agent) -> None:
    """
    Repeating the key of a send that met the death of its host types nothing.
    """
    agent.new("work", "sh", "-c", "stty raw -echo; echo up-$((1+1)); exec sleep 1000")
    agent.ask("wait", id="work", until="up-2", timeout_ms=LONG)
    request = {"id": "work", "text": "x" * 100_000, "key": "once"}
    with agent.begin("send", **request) as answer:
        agent.ask("screen", id="work")
        slay(agent.pid_of("work"))
        answer()

    with agent.begin("send", **request) as answer:
        envelope = answer()

    assert envelope["code"] == "host_lost"
    assert "delivery unknown" in envelope["error"]


def test_an_isolated_session_keeps_its_own_host_through_the_death_of_the_daemon(
    agent: Agent,
) -> None:
    """
    The next daemon puts no other session on it, and ends it with its session.
    """
    agent.new("alone", isolate=True)
    host = agent.pid_of("alone")
    slay(agent.pid_of("daemon"))

    others = [agent.new(name)["id"] for name in ("one", "two", "three")]

    assert agent.pid_of("alone") == host
    assert host not in [agent.pid_of(name) for name in others]
    agent.ask("kill", id="alone")
    ended(host)


# -- what the keeper knew


@pytest.mark.parametrize("victims", [("daemon",), ("daemon", "work")], ids=" and ".join)
def test_an_exit_code_waits_for_the_next_daemon(agent: Agent, victims: tuple[str, ...]) -> None:
    """
    The keeper knows how a program ended even if nobody else was there.
    """
    told = fifo(agent)
    program = agent.new("work", "sh", "-c", f"read x < {told}; exit 7")["pid"]
    slay(*(agent.pid_of(victim) for victim in victims))

    let_end(told, program)

    agent.ask("wait", id="work", until="exit", timeout_ms=LONG)
    assert agent.info("work")["state"] == "exited"
    assert agent.info("work")["exit_code"] == 7


def test_after_the_death_of_the_keeper_an_exit_code_is_unknown(agent: Agent) -> None:
    """
    Nobody could see it, so nobody claims to know: never a fake 0.
    """
    told = fifo(agent)
    program = agent.new("work", "sh", "-c", f"read x < {told}; exit 0")["pid"]
    slay(agent.pid_of("keeper"))

    let_end(told, program)

    agent.ask("wait", id="work", until="exit", timeout_ms=LONG)
    found = agent.info("work")
    assert (found["state"], found["exit_code"], found["signal"]) == ("exited", None, None)
    assert agent.cli("list").stdout.endswith("exit=unknown\n")


def test_a_known_exit_code_outlives_keeper_and_host(agent: Agent) -> None:
    """
    What was known once stays known, whoever dies next.
    """
    agent.new("work", "sh", "-c", "exit 7")
    agent.ask("wait", id="work", until="exit", timeout_ms=LONG)

    for victim in ("keeper", "work", "daemon"):
        kill_nine(agent, victim)

    assert agent.info("work")["exit_code"] == 7


# -- on purpose


@pytest.mark.parametrize("words", [("stop", "--keep"), ("restart", "--keep")], ids=" ".join)
def test_keep_leaves_every_session_for_the_next_daemon(
    agent: Agent, words: tuple[str, ...]
) -> None:
    """
    With --keep the daemon goes and the sessions stay, their text and cursors too.
    """
    shell = agent.new("work")["pid"]
    agent.ask("send", id="work", text="echo before-$((1+1))")
    agent.ask("wait", id="work", until="before-2\n$ ", timeout_ms=LONG)
    read, daemon = agent.ask("read", id="work"), agent.pid_of("daemon")

    done = agent.cli(*words)

    assert done.returncode == 0, done.stderr
    assert not alive(daemon)
    assert agent.info("work")["pid"] == shell
    assert agent.ask("read", id="work") == read
    assert_nothing_left(agent, shell)


def test_restart_without_keep_ends_the_sessions(agent: Agent) -> None:
    """
    `restart` alone is a clean beginning.
    """
    shell = agent.new("work")["pid"]

    restarted = agent.cli("restart")

    assert restarted.stdout == "restarted: 0 session(s)\n"
    assert not alive(shell)


def test_without_isolation_the_host_is_in_the_daemon(agent: Agent) -> None:
    """
    AGENT_PTY_ISOLATION=off runs the same classes in one process; custody holds there too.
    """
    agent.env["AGENT_PTY_ISOLATION"] = "off"
    shell = agent.new("work")["pid"]
    agent.ask("send", id="work", text="echo before-$((1+1))")
    agent.ask("wait", id="work", until="before-2", timeout_ms=LONG)
    assert agent.pid_of("work") == agent.pid_of("daemon")

    slay(agent.pid_of("daemon"))

    assert "before-2" in agent.transcript("work")
    assert agent.info("work")["pid"] == shell
    assert_nothing_left(agent, shell)


@pytest.mark.parametrize(
    ("name", "value"), [("AGENT_PTY_ISOLATION", "No"), ("ANTHRACODE_PTY_ISOLATION", "0")]
)
def test_trial_02_isolation_is_switched_off_by_either_variable(
    agent: Agent, name: str, value: str
) -> None:
    """
    Every word for "off" runs the host inside the daemon, also in the seed's variable.
    """
    agent.env[name] = value

    agent.new("work")

    assert agent.pid_of("work") == agent.pid_of("daemon")


def test_trial_02_a_wrong_value_of_isolation_names_the_right_ones(agent: Agent) -> None:
    """
    A misspelt value starts no daemon; the error says what to write.
    """
    agent.env["AGENT_PTY_ISOLATION"] = "maybe"

    done = agent.cli("new", "work")

    assert done.returncode != 0
    assert "AGENT_PTY_ISOLATION='maybe'" in done.stderr
    assert "on, 1, true, yes, off, 0, false, no" in done.stderr
