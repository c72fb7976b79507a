"""Rows 38 to 50 of the contract's list of failures: how cells end, and who may run one."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from support.agent import Agent, alive, eventually, running, slay
from support.followers import SLEEPER, await_end, await_up, fired
from support.k import K

# Each says "up" once it does not hear Ctrl-C any more.
DEAF = {
    "bash": "bash -c \"trap '' INT; echo up; sleep 1000\"",
    "python": (
        "python3 -c 'import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        ' print("up", flush=True); time.sleep(1000)\''
    ),
    "python, to SIGTERM too": (
        "python3 -c 'import signal, time; signal.signal(2, signal.SIG_IGN);"
        ' signal.signal(15, signal.SIG_IGN); print("up", flush=True); time.sleep(1000)\''
    ),
}


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, with one daemon for this file."""
    return K(shared)


def test_row_38_exit_status_is_reported(k: K) -> None:
    """
    The exit code is the last key unless it is 0; `-e` makes it the status of `k`.
    """
    k.new("r38")

    failed = k.run("run", "-j", "r38", "echo no; (exit 42)")
    good = k.json("run", "-j", "r38", "true")

    assert failed.returncode == 0
    assert list(json.loads(failed.stdout)) == ["cell_id", "status", "output", "exit_code"]
    assert json.loads(failed.stdout)["exit_code"] == 42
    assert list(good) == ["cell_id", "status", "output"]
    assert k.run("run", "-e", "r38", "(exit 42)").returncode == 42
    assert k.run("run", "-e", "r38", "true").returncode == 0


@pytest.mark.serial
def test_row_39_exit_is_told_at_once(k: K) -> None:
    """
    A program that ends during a cell ends the cell at once, with its exit code.
    """
    k.new("r39")
    began = time.monotonic()

    said = k.run("run", "-j", "r39", "echo bye; exit 7")

    assert time.monotonic() - began < 10
    assert said.returncode == 1
    answer = json.loads(said.stdout)
    assert list(answer.items())[1:] == [
        ("status", "error"),
        ("output", "exited"),
        ("exit_code", 7),
    ]
    assert k.run("run", "-j", "r39", "echo").stdout == (
        '{"status": "error", "output": "no session \'r39\'"}\n'
    )


def test_row_39_exit_of_a_fired_cell_can_be_collected(k: K) -> None:
    """
    A fired cell whose program ended is collected like any other, also when the session is gone.
    """
    k.new("r39f", "python3")
    cell = fired(k, "r39f", "import os; os._exit(5)")
    k.agent.ask("wait", id="r39f", until="exit", timeout_ms=30_000)

    said = k.json("poll", "r39f")

    assert said == {"cell_id": cell, "status": "error", "output": "exited", "exit_code": 5}


def test_row_40_late_background_output_is_readable(k: K) -> None:
    """
    What a background job writes between two cells is in the transcript, not in the next cell.
    """
    k.new("r40")
    os.mkfifo(k.agent.home / "r40")
    k.output("r40", "(read line < r40; echo from-behind) & :")

    (k.agent.home / "r40").write_text("now\n")
    k.agent.ask("wait", id="r40", until="regex:(?m)from-behind$", timeout_ms=30_000)

    assert k.output("r40", "echo next") == "next"
    assert "from-behind" in k.run("read", "r40").stdout


@pytest.mark.parametrize("code", DEAF.values(), ids=DEAF.keys())
def test_row_41_int_escalates_until_the_program_stopped(k: K, code: str) -> None:
    """
    `k int` returns when the program has stopped, whatever that took; the next cell is safe.
    """
    name = k.new(f"deaf-{len(code)}")  # a session of its own: "up" stands in it once
    cell = fired(k, name, code)
    await_up(k, name)

    done = k.run("int", name)

    assert (done.stdout, done.returncode) == ("OK\n", 0)
    assert k.json("poll", name, cell) == {
        "cell_id": cell,
        "status": "error",
        "output": "interrupted",
    }
    assert k.output(name, "echo free") == "free"


def test_row_41_int_admits_that_it_failed(k: K) -> None:
    """
    What can only be stopped with its session goes on: `k int` says so, and the cell is kept.
    """
    k.new("r41", "python3")
    k.run("run", "r41", "import signal, time; _ = signal.signal(2, signal.SIG_IGN)")
    cell = fired(k, "r41", "print('up', flush=True); time.sleep(1000)")
    await_up(k, "r41")

    done = k.run("int", "r41")

    assert done.returncode == 1
    assert done.stdout == (
        f'{{"cell_id": "{cell}", "status": "error", "output": "interrupt failed; use k kill"}}\n'
    )
    assert k.json("poll", "r41") == {"cell_id": cell, "status": "running"}
    assert k.run("run", "r41", "1").stdout == f"active cell '{cell}'\n"
    assert k.run("kill", "r41").stdout == "OK killed r41\n"


def test_row_42_a_timed_out_command_is_collected_when_it_ends(k: K) -> None:
    """
    A command that took longer than its limit runs on; its result is collected, then all is free.
    """
    k.new("r42")
    os.mkfifo(k.agent.home / "r42")
    late = k.json("run", "-j", "-t", "1", "r42", "read line < r42; echo $line; (exit 3)")
    assert (late["status"], late["output"]) == ("timeout", "")
    cell = late["cell_id"]

    (k.agent.home / "r42").write_text("at last\n")
    await_end(k, "r42", cell)

    assert k.json("poll", "r42", cell) == {
        "cell_id": cell,
        "status": "done",
        "output": "at last",
        "exit_code": 3,
    }
    assert k.output("r42", "echo free") == "free"


def test_row_43_a_prefix_of_a_name_is_another_name(k: K) -> None:
    """
    `k new r43` makes a session although `r43long` is there.
    """
    k.new("r43long")

    done = k.run("new", "r43")

    assert done.stdout == "OK r43\n"
    assert k.output("r43", "shell=$$; echo ok") == "ok"
    assert k.output("r43long", "echo [$shell]") == "[]"


def test_row_44_kill_takes_the_name_as_it_is(k: K) -> None:
    """
    `k kill r44` without such a session kills nothing, least of all `r44long`.
    """
    k.new("r44long")
    k.output("r44long", "kept=yes")

    done = k.run("kill", "r44")

    assert (done.stdout, done.returncode) == ("ERR no session 'r44'\n", 0)
    assert k.output("r44long", "echo $kept") == "yes"


def test_row_45_a_dot_in_a_name_works(k: K) -> None:
    """
    `r45.b` is a name like any other, and not the same as `r45_b`.
    """
    assert k.run("new", "r45.b").stdout == "OK r45.b\n"

    assert k.output("r45.b", "echo dotted") == "dotted"
    assert k.run("run", "r45_b", "echo").stdout == "no session 'r45_b'\n"
    assert k.run("kill", "r45.b").stdout == "OK killed r45.b\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["nosuchcmd"], "nosuchcmd"),
        (["nosuchcmd", "--flag"], "nosuchcmd"),
        (["echo no luck; exit 4"], "no luck"),
        (["sh", "-c", "'echo >&2 no luck either; exit 4'"], "no luck either"),
        (["true"], "exited at once (exit code 0)"),
    ],
    ids=["unknown", "unknown with a flag", "a line of shell", "standard error", "silent"],
)
def test_row_46_a_command_that_does_not_live_is_an_error(
    k: K, command: list[str], message: str
) -> None:
    """
    `k new` of what ends at once says in one line what it said, and leaves nothing behind.
    """
    done = k.run("new", "r46", *command)

    assert done.returncode == 1
    assert done.stdout.startswith("ERR ")
    assert message in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not [line for line in k.run("ls").stdout.splitlines() if line.startswith("r46")]
    assert k.run("run", "r46", "echo").stdout == "no session 'r46'\n"


def test_row_47_a_finished_cell_does_not_block(k: K) -> None:
    """
    A fired cell that nobody polls leaves the session free when it ends, and its result waits.
    """
    k.new("r47")
    cells = []
    for number in range(3):
        cells.append(fired(k, "r47", f"echo {number}"))
        await_end(k, "r47", cells[-1])

    assert k.output("r47", "echo free") == "free"
    for number, cell in enumerate(cells):
        assert k.json("poll", "r47", cell)["output"] == str(number)
    assert k.json("poll", "r47")["output"] == "no active cell on 'r47'"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_row_48_the_lock_dies_with_its_owner(k: K, number: signal.Signals) -> None:
    """
    A client that is killed in the middle of `k run` stops its cell; the session is free.
    """
    name = k.new(f"r48-{number.name}")
    with k.start("run", name, SLEEPER) as client:
        await_up(k, name)
        sleepers = running("sleep", "1000")
        client.send_signal(number)
        assert client.wait(10) == -number

    eventually(lambda: k.run("poll", name).returncode == 1)
    assert k.output(name, "echo free") == "free"
    assert not [pid for pid in sleepers if pid in k.agent.processes() and alive(pid)]


def test_row_48_ctrl_c_of_the_client_is_ctrl_c_of_the_cell(k: K) -> None:
    """
    SIGINT to `k run` stops its cell, says `interrupted` with status 1 and frees the session.
    """
    k.new("r48")
    with k.start("run", "-j", "r48", SLEEPER) as client:
        await_up(k, "r48")
        client.send_signal(signal.SIGINT)
        said, complaint = client.communicate(timeout=20)

    assert client.returncode == 1
    assert list(json.loads(said).items())[1:] == [("status", "error"), ("output", "interrupted")]
    assert complaint == ""
    assert k.output("r48", "echo free") == "free"


def in_custody(agent: Agent) -> bool:
    """Whether the keeper holds a terminal for every session: then a host may die."""
    descriptors = f"/proc/{agent.pid_of('keeper')}/fd"
    held = [os.readlink(f"{descriptors}/{fd}") for fd in os.listdir(descriptors)]
    sessions: int = agent.ask("status")["session_count"]
    return held.count("/dev/ptmx") == sessions


@pytest.mark.parametrize("victims", [("daemon",), ("r49",), ("daemon", "r49")])
def test_row_49_a_result_survives_who_watched_it(agent: Agent, victims: tuple[str, ...]) -> None:
    """
    `kill -9` of daemon and host loses no finished cell that was not collected yet.
    """
    k = K(agent)
    k.new("r49")
    small = fired(k, "r49", "echo small; (exit 2)")
    await_end(k, "r49", small)
    large = fired(k, "r49", "seq 20000")
    await_end(k, "r49", large)
    eventually(lambda: in_custody(agent))

    slay(*(agent.pid_of(victim) for victim in victims))

    assert k.json("poll", "r49", small) == {
        "cell_id": small,
        "status": "done",
        "output": "small",
        "exit_code": 2,
    }
    assert k.json("poll", "r49")["output"].split() == [str(number) for number in range(1, 20001)]
    assert k.output("r49", "echo free") == "free"


def test_row_49_a_running_cell_outlives_its_host(agent: Agent) -> None:
    """
    A fired cell whose host died goes on, is told as running, and is collected when it ends.
    """
    k = K(agent)
    k.new("r49")
    os.mkfifo(agent.home / "r49")
    cell = fired(k, "r49", "echo up; read line < r49; echo $line; (exit 6)")
    await_up(k, "r49")
    eventually(lambda: in_custody(agent))

    slay(agent.pid_of("r49"))

    assert k.json("poll", "r49", cell) == {"cell_id": cell, "status": "running"}
    assert k.json("run", "-j", "r49", "echo")["output"] == f"active cell '{cell}'"
    (agent.home / "r49").write_text("its own\n")
    await_end(k, "r49", cell)
    assert k.json("poll", "r49", cell) == {
        "cell_id": cell,
        "status": "done",
        "output": "up\nits own",
        "exit_code": 6,
    }
    assert k.output("r49", "echo free") == "free"


def test_row_50_of_simultaneous_runs_the_refused_did_nothing(k: K) -> None:
    """
    Of eight runs at once each either ran or says `active cell`, and none did both or neither.
    """
    k.new("r50")
    calls = [
        k.start("run", "-j", "r50", f"echo {number} >> r50.txt; sleep 0.2") for number in range(8)
    ]
    answers = [json.loads(call.communicate(timeout=60)[0]) for call in calls]

    ran = [number for number, said in enumerate(answers) if said["status"] == "done"]
    refused = [said for said in answers if said["status"] != "done"]
    assert ran
    assert len(ran) + len(refused) == 8
    for said in refused:
        assert said["status"] == "error"
        assert said["output"].startswith("active cell '")
    written = (k.agent.home / "r50.txt").read_text().split()
    assert sorted(written) == [str(number) for number in ran]


def test_kill_ends_a_run_at_once(k: K) -> None:
    """
    `k kill` during `k run` ends the run, which says that its program exited.
    """
    k.new("killed")
    with k.start("run", "-j", "killed", SLEEPER) as client:
        await_up(k, "killed")
        done = k.run("kill", "killed")
        said, _ = client.communicate(timeout=10)

    assert done.stdout == "OK killed killed\n"
    assert client.returncode == 1
    assert (json.loads(said)["status"], json.loads(said)["output"]) == ("error", "exited")


def test_a_run_that_is_interrupted_in_vain_says_so(k: K) -> None:
    """
    Ctrl-C of a client whose cell does not stop gives the cell's error, and the cell is kept.
    """
    k.new("vain", "python3")
    k.run("run", "vain", "import signal, time; _ = signal.signal(2, signal.SIG_IGN)")
    with k.start("run", "-j", "vain", "print('up', flush=True); time.sleep(1000)") as client:
        await_up(k, "vain")
        cell = k.json("peek", "vain")["cell_id"]
        client.send_signal(signal.SIGINT)
        said, _ = client.communicate(timeout=20)

    k.kill("vain")
    assert client.returncode == 1
    assert json.loads(said) == {
        "cell_id": cell,
        "status": "error",
        "output": "interrupt failed; use k kill",
    }
