"""`run --until` and `k run -u`: return when the output shows what is waited for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.agent import Agent, eventually, slay
from support.k import SHELLS, K

ENDED_UNMET = 9
TIMED_OUT, WAITS = 124, 125
# It writes, then runs on. The arithmetic keeps the typed line from being what is waited for.
SERVER = "echo starting; echo port-$((8000+80)) is open; sleep 1000"


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, with one daemon for this file."""
    return K(shared)


def until(k: K, session: str, condition: str, code: str, *more: str) -> tuple[dict[str, Any], int]:
    """Run code until a condition is true; return the object and the exit status."""
    done = k.run("run", "-j", "-u", condition, *more, session, code)
    return json.loads(done.stdout), done.returncode


@pytest.mark.parametrize("shell", SHELLS)
def test_trial_20_a_run_returns_when_its_output_matches(k: K, shell: str) -> None:
    """
    The answer has the output until then and the condition; the cell runs on.
    """
    session = k.new(f"match-{shell}", shell)
    code = SERVER.replace("$((8000+80))", "(math 8000+80)") if shell == "fish" else SERVER

    said, status = until(k, session, r"regex:^port-\d+", code, "-t", "20")

    cell = said.pop("cell_id")
    expected = {
        "status": "running",
        "output": "starting\nport-8080 is open",
        "matched": r"regex:^port-\d+",
    }
    assert (said, status) == (expected, 0)
    assert k.json("poll", session) == {"cell_id": cell, "status": "running"}
    k.run("int", session)
    assert k.json("poll", session, cell)["output"] == "interrupted"


@pytest.mark.parametrize("program", ["bash", "dash", "python3"])
def test_trial_20_neither_echo_nor_prompt_nor_older_text_is_output(k: K, program: str) -> None:
    """
    Only what the code itself writes can match: not its own text, nor what stands around it.
    """
    session = k.new(f"own-{program}", program)
    code = "print('needle')" if program == "python3" else "echo needle"
    k.run("run", session, code)
    quiet = "0 or 'nee' 'dle'[9:]" if program == "python3" else ": needle '$ # >>>'"

    found, _ = until(k, session, "needle", quiet)
    prompt, _ = until(k, session, r"regex:[$#>] ?$", quiet)

    assert found["unmet"] == "needle"
    assert prompt["unmet"] == r"regex:[$#>] ?$"


@pytest.mark.parametrize(("code", "status"), [("echo other", ENDED_UNMET), ("(exit 3)", 3)])
def test_trial_20_an_end_before_the_match_is_no_success(k: K, code: str, status: int) -> None:
    """
    Code that ends without a match is `done`, `unmet` says what was missed, the status is not 0.
    """
    session = k.session("bash")

    said, returned = until(k, session, "never", code)
    plain = k.run("run", "-u", "never", session, code)
    ours = k.agent.cli("run", session, code, "--until", "never")

    assert (said["status"], said["unmet"], returned) == ("done", "never", status)
    assert (plain.returncode, plain.stderr) == (status, "k: never did not come true\n")
    assert ours.returncode == status
    assert "never did not come true before it ended" in ours.stderr


def test_trial_20_a_match_at_the_very_end_is_a_match(k: K) -> None:
    """
    Code that writes the text and ends at once has met its condition.
    """
    session = k.session("bash")

    for _ in range(20):
        said, status = until(k, session, "ready-2", "echo ready-$((1+1))")
        assert (said["matched"], status) == ("ready-2", 0)
        k.run("int", session) if said["status"] == "running" else None


def test_trial_20_a_timeout_and_a_question_are_no_match(k: K) -> None:
    """
    A run that times out or waits for a person says what did not come true, with their statuses.
    """
    session = k.session("bash")

    late, late_status = until(k, session, "never", "sleep 1000", "-t", "1")
    k.run("int", session)
    asks, asks_status = until(k, session, "never", "read -p 'sure? ' x")
    k.run("int", session)

    assert (late["status"], late["unmet"], late_status) == ("timeout", "never", TIMED_OUT)
    assert (asks["status"], asks["unmet"], asks_status) == ("waiting", "never", WAITS)


@pytest.mark.parametrize(
    ("condition", "code", "status"),
    [
        ("idle:100ms", "echo x; sleep 1000", "running"),
        ("screen:port-8080", SERVER, "running"),
        ("prompt", "echo x; printf 'ftp> '; sleep 1000", "running"),
        ("prompt", "true", "done"),
        ("exit", "exit 0", "error"),
    ],
)
def test_trial_20_other_conditions_are_those_of_wait(
    k: K, condition: str, code: str, status: str
) -> None:
    """
    Silence, the screen, a prompt and the end of the program can be waited for as well.
    """
    session = k.new("others")

    said, returned = until(k, session, condition, code)

    assert (said["status"], said["matched"], returned) == (status, condition, 0)
    k.kill(session)


@pytest.mark.parametrize("condition", ["regex:(", "", "idle:x", "cell:0123456789ab"])
def test_trial_20_a_wrong_condition_types_nothing(k: K, condition: str) -> None:
    """
    A condition that cannot be waited for is refused before the code is typed.
    """
    session = k.session("bash")

    refused = k.run("run", "-j", "-u", condition, session, "touch typed")

    assert refused.returncode == 1
    assert json.loads(refused.stdout)["status"] == "error"
    assert k.json("poll", session)["output"] == f"no active cell on '{session}'"
    assert not (k.agent.home / "typed").exists()


def test_trial_20_much_output_is_searched_and_shown_in_part(k: K) -> None:
    """
    A program that never stops writing is left running, and the answer is bounded.
    """
    session = k.new("flood")

    done = k.run("run", "-u", "regex:^50000$", "-u", "never", session, "seq 60000; yes")

    assert done.returncode == 0
    assert len(done.stdout) < 70_000
    assert done.stdout.startswith("1\n2\n")
    assert "bytes left out" in done.stdout
    assert "regex:^50000$ came true" in done.stderr
    k.kill(session)


def test_trial_20_what_runs_on_outlives_its_host(agent: Agent) -> None:
    """
    A cell that was left running is known after its host died, without the limit of its caller.
    """
    k = K(agent)
    k.new("web")
    said, _ = until(k, "web", "port-8080", SERVER, "-t", "20")
    host = agent.info("web")["host_pid"]

    slay(host)
    eventually(lambda: agent.info("web")["host_pid"] not in (host, None))

    assert k.json("poll", "web") == {"cell_id": said["cell_id"], "status": "running"}
    k.run("int", "web")
    assert k.json("poll", "web", said["cell_id"])["output"] == "interrupted"


@pytest.mark.parametrize("condition", ["ready-2", "never"])
def test_trial_20_a_repeated_request_gets_the_same_answer(shared: Agent, condition: str) -> None:
    """
    The answer to a key says, too, what came true or did not, even if it is made again.
    """
    name = f"keyed-{condition}"
    shared.new(name)
    code = "seq 30000; echo ready-$((1+1))"
    fields = {"id": name, "code": code, "until": condition, "key": "one"}

    first = shared.ask("run", **fields)
    shared.ask("ready", id=name)
    again = shared.ask("run", **fields)

    kept = ("cell_id", "status", "output", "matched", "unmet")
    assert [again[field] for field in kept] == [first[field] for field in kept]
    assert condition in (first["matched"], first["unmet"])
