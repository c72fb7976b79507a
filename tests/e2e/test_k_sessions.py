"""Rows 53 to 58 of the contract's list of failures, and the life of sessions (1.6, 1.12)."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from support.agent import Agent, eventually, running, slay
from support.followers import SLEEPER, await_end, await_up, fired, follower
from support.k import K


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, with one daemon for this file."""
    return K(shared)


def test_row_53_status_types_nothing(k: K) -> None:
    """
    `k status` leaves no trace in the terminal, nor in what a program reads from it.
    """
    k.new("r53")
    k.run("run", "r53", "stty -icanon; head -c 1 > r53.txt")
    before = k.json("screen", "-j", "r53")

    done = k.run("status", "r53")

    after = k.json("screen", "-j", "r53")
    assert (done.stdout, done.returncode) == ("OK r53 pipe=ok\n", 0)
    assert (before["hash"], before["cursor"]) == (after["hash"], after["cursor"])
    k.run("keys", "r53", "x")
    assert k.agent.ask("wait", id="r53", until="prompt", timeout_ms=30_000)
    assert (k.agent.home / "r53.txt").read_text() == "x"


def test_row_54_files_are_the_users_own(k: K) -> None:
    """
    Nobody else may enter the home, and what is in it is not for others either.
    """
    k.new("r54")
    cell = fired(k, "r54", "echo secret")
    await_end(k, "r54", cell)

    home = k.agent.home
    open_to_others = [
        str(path.relative_to(home))
        for path in (home / "run", *(home / "run").rglob("*"), home / "agent-pty.sock")
        if path.lstat().st_mode & 0o077 and not path.is_symlink()
    ]
    assert home.stat().st_mode & 0o777 == 0o700
    assert open_to_others == []


def test_row_54_another_user_sees_nothing(k: K) -> None:
    """
    Another user of the machine can neither list nor read what we keep, nor reach the socket.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    k.new("r54b")
    k.output("r54b", "echo secret")
    home = str(k.agent.home)

    for argv in (["ls", home], ["ls", f"{home}/run"], ["test", "-e", f"{home}/agent-pty.sock"]):
        done = subprocess.run(
            argv, user=65534, group=65534, extra_groups=[], capture_output=True, check=False
        )
        assert done.returncode != 0
        assert done.stdout == b""


def test_row_54_two_homes_are_not_in_each_others_way(k: K, agent: Agent) -> None:
    """
    Two users of one machine may have sessions of the same name.
    """
    other = K(agent)
    k.new("r54c")
    other.new("r54c")

    k.output("r54c", "whose=mine")
    other.kill("r54c")

    assert k.output("r54c", "echo $whose") == "mine"


@pytest.mark.serial
def test_row_55_a_large_log_costs_nothing(k: K) -> None:
    """
    After 20 MB of output `history` reads only the end of it; `k kill` gives the disk back.

    (That a session keeps no more than so much is shown in tests/store/test_textlog.py.)
    """
    k.new("r55")
    line = "0123456789" * 4
    filled = k.run("run", "-t", "50", "r55", f"yes {line} | head -c 20000000 > /dev/tty")
    assert (filled.stderr, filled.returncode) == ("", 0)
    k.output("r55", "echo the last word")

    began = time.monotonic()
    history = k.run("history", "r55").stdout
    took = time.monotonic() - began

    assert "the last word" in history.splitlines()
    assert took < 1
    assert stored(k) > 15_000_000
    k.kill("r55")
    assert stored(k) < 5_000_000


def stored(k: K) -> int:
    """Return how much disk the sessions of this user take."""
    return sum(path.lstat().st_blocks * 512 for path in (k.agent.home / "run").rglob("*"))


def test_row_56_ls_shows_our_sessions_and_their_state(k: K) -> None:
    """
    `k ls` shows name, state and command of each of our sessions, and nothing of tmux.
    """
    tmux = ["tmux", "-f", "/dev/null", "-S", str(k.agent.home / "tmux")]
    subprocess.run([*tmux, "new-session", "-d", "-s", "foreign"], env=k.env, check=True)
    user = K(k.agent, TMUX=f"{k.agent.home}/tmux,1,0")
    try:
        k.new("r56")
        k.new("r56.python", "python3", "-q")
        k.run("run", "r56", "exit 3")

        listed = user.run("ls").stdout.splitlines()
        facts = json.loads(user.run("ls", "-j").stdout)
    finally:
        subprocess.run([*tmux, "kill-server"], env=k.env, check=True)

    rows = {line.split()[0]: line.split()[1:] for line in listed}
    assert "foreign" not in rows
    assert rows["r56"] == ["exited", "3", "bash"]
    assert rows["r56.python"] == ["running", "python3", "-q"]
    assert {"name": "r56.python", "state": "running", "command": "python3 -q"} in facts
    assert [one["name"] for one in facts] == [line.split()[0] for line in listed]


@pytest.mark.parametrize(
    ("words", "usage", "value"),
    [
        (["run", "-t", "x", "s", "echo"], "k run [-j] [-t N] [session] <code>", "-t 'x'"),
        (["run", "-t", "1.5", "s", "echo"], "k run [-j] [-t N] [session] <code>", "-t '1.5'"),
        (["await", "-t", "", "s", "echo"], "k run [-j] [-t N] [session] <code>", "-t ''"),
        (["fire", "-t", "5h", "s", "echo"], "k fire [-t N] [session] <code>", "-t '5h'"),
        (["history", "-n", "x", "s"], "k history [-n N] [session]", "-n 'x'"),
        (["read", "-n", "x", "s"], "k read [-n N] [session]", "-n 'x'"),
        (["exec", "-t", "x", "--", "true"], "k exec [-j] [-t N] [--pager] -- argv...", "-t 'x'"),
    ],
    ids=["run", "a fraction", "nothing", "fire", "history", "read", "exec"],
)
def test_row_57_a_bad_number_is_a_usage_error(
    k: K, words: list[str], usage: str, value: str
) -> None:
    """
    What is no number, or no duration, is refused with the usage and the value, before all else.
    """
    option, shown = value.split()
    durations = "seconds or a duration such as 500ms, 30s, 5m"
    expected = durations if option == "-t" else "a whole number"

    done = k.run(*words)

    assert done.returncode == 1
    assert done.stdout == f"usage: {usage}\n{option} takes {expected}, not {shown}\n"
    assert done.stderr == ""


def test_row_58_a_timeout_is_no_silent_success(k: K) -> None:
    """
    In text mode a timeout says on standard error what its empty line means; `-e` makes it 124.
    """
    k.new("r58")

    silent = k.run("run", "r58", "true")
    late = k.run("run", "-t", "-1", "r58", "sleep 1000")
    cell = k.json("peek", "r58")["cell_id"]

    assert (silent.stdout, silent.stderr, silent.returncode) == ("\n", "", 0)
    assert (late.stdout, late.returncode) == ("\n", 0)
    assert late.stderr.startswith("k: timed out; ")
    assert cell in late.stderr
    assert late.stderr.count("\n") == 1
    k.run("int", "r58")
    assert k.run("run", "-e", "-t", "-1", "r58", "sleep 1000").returncode == 124
    k.run("int", "r58")


# -- the life of a session


def test_a_session_that_ended_makes_room(k: K) -> None:
    """
    After its program ended the name says "no session"; `k new` makes a fresh one of it.
    """
    k.new("again")
    k.run("run", "again", "old=yes; exit")

    assert k.json("fire", "again", "echo") == {"status": "error", "output": "no session 'again'"}
    assert k.run("status", "again").stdout == "ERR no session 'again'\n"
    assert k.run("int", "again").stdout == "OK\n"
    assert k.run("new", "again").stdout == "OK again\n"
    assert k.output("again", "echo [$old]") == "[]"


def test_a_shell_that_ended_between_cells(k: K) -> None:
    """
    A program that ends while no cell runs leaves no session, and the run says so at once.
    """
    k.new("between")
    k.run("keys", "between", "ctrl-d")
    k.agent.ask("wait", id="between", until="exit", timeout_ms=30_000)

    done = k.run("run", "between", "echo")

    assert (done.stdout, done.returncode) == ("no session 'between'\n", 1)


def test_new_of_what_lives_changes_nothing(k: K) -> None:
    """
    `k new` of a living session says so and ignores command and prompt.
    """
    k.new("alive")
    k.output("alive", "kept=yes")

    done = k.run("new", "alive", "python3", "--prompt=>>>")

    assert (done.stdout, done.returncode) == ("OK alive (alive)\n", 0)
    assert k.output("alive", "echo $kept") == "yes"


def test_simultaneous_new_of_one_name(k: K) -> None:
    """
    Of several `k new` of one name at once one makes the session, and to the others it is alive.
    """
    calls = [k.start("new", "many") for _ in range(4)]

    said = sorted(call.communicate(timeout=60)[0] for call in calls)

    assert said == ["OK many\n"] + ["OK many (alive)\n"] * 3
    assert [call.returncode for call in calls] == [0] * 4
    assert k.output("many", "echo ok") == "ok"


def test_simultaneous_kill_of_one_name(k: K) -> None:
    """
    Of several `k kill` at once each says what it did, with status 0.
    """
    k.new("mortal")
    calls = [k.start("kill", "mortal") for _ in range(4)]

    said = [call.communicate(timeout=60)[0] for call in calls]

    assert set(said) <= {"OK killed mortal\n", "ERR no session 'mortal'\n"}
    assert "OK killed mortal\n" in said
    assert [call.returncode for call in calls] == [0] * 4


def test_kill_ends_everything_of_the_session(k: K) -> None:
    """
    `k kill` ends the program and what it started, forgets cells, and the name is free.
    """
    k.new("tree")
    pid = int(k.output("tree", "sleep 1000 & echo $!").splitlines()[-1])
    cell = fired(k, "tree", "echo kept")
    await_end(k, "tree", cell)

    assert k.run("kill", "tree").stdout == "OK killed tree\n"

    assert pid not in k.agent.processes()
    assert k.json("poll", "tree", cell)["output"] == "unknown cell"
    k.new("tree")
    assert k.json("poll", "tree")["output"] == "no active cell on 'tree'"


# -- a session in which somebody typed by hand


def type_by_hand(k: K, session: str) -> None:
    """Start a program as a person would, without a cell."""
    k.agent.ask("send", id=session, text=SLEEPER)
    await_up(k, session)


@pytest.mark.serial
def test_the_limit_holds_for_the_wait_before_the_code(k: K) -> None:
    """
    A run into a session that is not at its prompt says so within its limit, and types nothing.
    """
    k.new("busy")
    type_by_hand(k, "busy")
    began = time.monotonic()

    done = k.run("run", "-j", "-t", "1", "busy", "touch busy.txt")

    assert time.monotonic() - began < 10
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "status": "error",
        "output": "not at a prompt: sleep is running",
    }
    assert k.run("int", "busy").stdout == "OK\n"
    assert k.output("busy", "ls busy.txt 2> /dev/null; echo free") == "free"


def test_int_stops_a_cell_before_it_is_typed(k: K) -> None:
    """
    `k int` interrupts also the cell that waits for the prompt: its code is not run any more.
    """
    k.new("early")
    type_by_hand(k, "early")
    with follower(k, "run", "-j", "early", "touch early.txt", program="k") as client:
        eventually(lambda: k.json("poll", "early")["status"] == "running")
        k.run("int", "early")
        (answer,) = client.rest()

    assert json.loads(answer)["output"] == "interrupted"
    assert client.process.returncode == 1
    assert k.output("early", "ls early.txt 2> /dev/null; echo free") == "free"


# -- who dies in the middle of a run


def test_a_run_whose_host_died(agent: Agent) -> None:
    """
    The client of a run that lost its host says so at once; the session is not stuck.
    """
    k = K(agent)
    k.new("mid")
    with follower(k, "run", "mid", SLEEPER, program="k") as client:
        await_up(k, "mid")
        slay(agent.pid_of("mid"))
        text = "".join(client.rest())
        assert client.process.stderr is not None
        text += client.process.stderr.read()

    assert client.process.returncode not in (0, None)
    assert "whether it acted is unknown" in text
    assert k.run("int", "mid").stdout == "OK\n"
    assert k.output("mid", "echo free") == "free"


@pytest.mark.parametrize("verb", ["new", "exec"])
def test_a_caller_that_dies_leaves_nothing_hidden(k: K, verb: str) -> None:
    """
    Whatever the moment at which its caller is killed, a program is listed or gone.
    """
    for number in range(8):
        program = ["sleep", f"{len(verb)}000{number}"]
        words = ["new", f"orphan{number}"] if verb == "new" else ["exec", "--"]
        with k.start(*words, *program) as client:
            await_program(program)
            client.kill()

    def hidden() -> list[int]:
        listed = k.run("ls").stdout
        found = [running("sleep", f"{len(verb)}000{number}") for number in range(8)]
        return [pid for pids in found for pid in pids if command_of(pid) not in listed]

    eventually(lambda: hidden() == [])


def await_program(argv: list[str]) -> None:
    """Return once it runs."""
    eventually(lambda: running(*argv) != [])


def command_of(pid: int) -> str:
    """Return the command line of a process, as `k ls` shows it."""
    return (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
