"""`answer`: a line for the cell that waits, and what the program says to it."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from support.agent import Agent, eventually, slay
from support.k import K, within

SECRET = "tr0ub4dor-and-3"
THREE = 'for one in a b c; do read -p "$one? " got; echo "$one=$got"; done; (exit 3)'


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


@pytest.fixture
def session(k: K) -> str:
    """A free bash."""
    return k.session("bash")


def without_id(said: dict[str, object]) -> dict[str, object]:
    """Return what is said of a cell, but for its id."""
    return {key: value for key, value in said.items() if key != "cell_id"}


def files_with(root: Path, text: str) -> list[str]:
    """Return the files below *root* that contain *text*."""
    found = (path for path in root.rglob("*") if path.is_file())
    return [str(path) for path in found if text.encode() in path.read_bytes()]


def test_trial_18_an_answer_returns_the_next_question_then_the_end(k: K, session: str) -> None:
    """
    Each answer returns what is new: the reply and the next question, at last the end.
    """
    first = k.waiting(session, THREE)

    second = k.json("answer", "-j", session, "1")
    third = k.json("answer", session, "2", "-j")
    end = k.json("answer", "-j", "-t", "20", session, "3")

    assert first["output"] == "a? "
    assert {one["cell_id"] for one in (first, second, third, end)} == {first["cell_id"]}
    assert without_id(second) == {"status": "waiting", "for": "input", "output": "a=1\nb? "}
    assert without_id(third) == {"status": "waiting", "for": "input", "output": "b=2\nc? "}
    assert list(second) == ["cell_id", "status", "for", "output"]
    assert without_id(end) == {"status": "done", "output": "c=3", "exit_code": 3}
    assert k.json("poll", session)["output"] == f"no active cell on '{session}'"


@within(
    "printf 'name? '; read answer; echo \"got $answer\"",
    fish="read -P 'name? ' answer; echo \"got $answer\"",
    python="print('got', input('name? '))",
)
def test_trial_18_the_echo_of_the_answer_is_no_output(k: K, program: str, code: str) -> None:
    """
    The terminal or a line editor shows what is typed; only what the program writes is output.
    """
    name = k.session(program)
    k.waiting(name, code)

    assert without_id(k.json("answer", "-j", name, "got")) == {
        "status": "done",
        "output": "got got",
    }


def test_trial_18_an_answer_has_the_exit_statuses_of_run(k: K, session: str) -> None:
    """
    In text the output alone, with -e the status: 125 while it asks again, then its own.
    """
    k.waiting(session, "read a; echo one; read b; echo two; (exit 3)")

    asks = k.run("answer", "-e", session, "x")
    ends = k.run("answer", "-e", session, "y")

    assert (asks.returncode, asks.stdout) == (125, "one\n")
    assert all(word in asks.stderr for word in ("waiting for input", f"k answer {session}"))
    assert (ends.returncode, ends.stdout) == (3, "two\n")


def test_trial_18_an_empty_answer_is_an_enter(k: K, session: str) -> None:
    """
    Many questions have a default, which Enter alone takes.
    """
    k.waiting(session, "echo 'Sure?'; read answer; echo \"<$answer>\"")

    assert k.json("answer", "-j", session, "")["output"] == "<>"


def test_trial_18_an_answer_that_takes_long_times_out_and_runs_on(k: K, session: str) -> None:
    """
    The limit is that of the answer, whatever that of the run was; the cell runs on.
    """
    code = "read a; read b; read -u 9 c 9<>pipe; echo end"
    k.run("exec", "--", "mkfifo", "pipe")
    cell = k.waiting(session, code)["cell_id"]
    asked = k.json("answer", "-j", session, "x")

    late = k.json("answer", "-j", "-t", "1", session, "y")
    k.run("exec", "--", "sh", "-c", "echo go > pipe")

    assert asked["status"] == "waiting"
    assert late == {"cell_id": cell, "status": "timeout", "output": ""}
    assert k.collect(session, cell)["status"] == "done"


def test_trial_18_a_cell_that_asks_after_its_limit_can_be_answered(k: K, session: str) -> None:
    """
    A cell that timed out and then asks waits like any other; its next question is `waiting`.
    """
    # What `k poll` says of it is `timeout`, so the question on the screen is the sign.
    k.run("run", "-t", "1", session, "sleep 2; read -p 'a? ' a; read -p 'b? ' b; echo $a$b")
    eventually(lambda: k.run("answer", session, "1").stdout.startswith("b? "))

    assert without_id(k.json("answer", "-j", session, "2")) == {"status": "done", "output": "12"}


def test_trial_18_a_fired_cell_is_answered_and_collected(k: K, session: str) -> None:
    """
    The answer that brings the end of a fired cell is its result: `k poll` has no second one.
    """
    cell = k.json("fire", session, "read answer; echo got $answer")["cell_id"]
    eventually(lambda: k.json("poll", session)["status"] == "waiting")

    assert k.json("answer", "-j", session, "hi") == {
        "cell_id": cell,
        "status": "done",
        "output": "got hi",
    }
    assert k.json("poll", session, cell)["output"] == "unknown cell"


def test_trial_18_a_secret_is_entered_by_a_person_and_kept_nowhere(k: K, session: str) -> None:
    """
    An agent may not answer. Its text is neither in output, nor in history, nor in any file of ours.
    """
    said = k.waiting(session, "read -s -p 'Password: ' p; echo; echo ${#p}")

    refused = k.json("answer", "-j", session, "guess")
    k.agent.ask("secret", id=session, value=SECRET)
    done = k.collect(session, said["cell_id"])

    assert said["for"] == "secret"
    assert f"agent-pty secret {session}" in refused["output"]
    assert done["output"].splitlines()[-1] == str(len(SECRET))
    assert SECRET not in k.run("history", "-n", "100", session).stdout
    assert not files_with(k.agent.home, SECRET)


def test_trial_18_without_a_question_an_answer_says_what_to_do(k: K, session: str) -> None:
    """
    Nothing is typed: the error says whether nothing runs, or something that does not ask.
    """
    idle = k.run("answer", session, "typed-$((40+2))")
    k.run("fire", session, "sleep 60")
    busy = k.json("answer", "-j", session, "x")
    k.run("int", session)

    assert idle.returncode == 1
    assert idle.stdout == f"nothing runs in '{session}' that could be answered: use k run\n"
    assert busy["status"] == "error"
    assert all(word in busy["output"] for word in ("waits for no answer", "k wait", "k send"))
    assert "typed-42" not in k.run("read", session).stdout
    assert k.json("answer", "-j", "nobody", "x") == {
        "status": "error",
        "output": "no session 'nobody'",
    }
    assert k.run("answer").stdout.startswith("usage: k answer")


def test_trial_18_an_answer_directly_after_keys_finds_the_question(k: K, session: str) -> None:
    """
    When something was typed, it takes a moment to see that a cell waits again: it is waited for.
    """
    k.waiting(session, "read -p 'name? ' answer; echo \"<$answer>\"")
    typed = {"op": "send", "text": "Bo", "enter": False}

    answered = k.agent.ask("batch", id=session, steps=[typed, {"op": "answer", "text": "b"}])[
        "results"
    ][1]["data"]

    assert (answered["status"], answered["output"]) == ("done", "<Bob>")


def test_trial_18_a_program_that_no_cell_started_is_not_answered(k: K) -> None:
    """
    What was started by `k send` is no cell: the error names it and the word that types into it.
    """
    name = k.new("typed")
    k.run("send", name, "sh -c 'echo up-$((1+1)); exec cat'")
    k.run("wait", name, "--until", "up-2")
    eventually(lambda: "cat" in k.run("answer", name, "typed-into-it").stdout)

    refused = k.run("answer", name, "typed-into-it")

    assert refused.returncode == 1
    assert refused.stdout == (
        f"no cell runs in '{name}', but cat has its keyboard: use k run if it is at its prompt, "
        "else k send\n"
    )
    assert "typed-into-it" not in k.run("read", name).stdout


def test_trial_18_a_large_reply_is_complete(k: K, session: str) -> None:
    """
    A reply that is longer than an answer holds is said page by page, from where the answer was.
    """
    k.waiting(session, "seq 30000; read answer; seq 30000")

    said = k.json("answer", "-j", session, "go")

    assert said["output"] == "\n".join(map(str, range(1, 30001)))


def test_trial_18_an_answer_is_given_once_for_each_key(k: K, session: str) -> None:
    """
    The same key again returns the first answer, even a large one, and types nothing.
    """
    k.waiting(session, "read a; seq 2000; read b; echo $b")
    asked = {"id": session, "text": "x", "key": "once"}

    first = k.agent.ask("answer", **asked)
    again = k.agent.ask("answer", **asked)

    assert again.pop("replayed", True)
    assert again == first
    assert k.json("answer", "-j", session, "y")["output"] == "y"


def test_trial_18_two_answers_at_once_are_never_both_typed(k: K, session: str) -> None:
    """
    One question takes one answer: whoever comes second gets an error, or the next question.
    """
    k.run("exec", "--", "mkfifo", "gate")
    k.waiting(session, "read a; read -u 9 c 9<>gate; echo got:$a")
    asking = [k.start("answer", "-j", "-t", "20", session, text) for text in ("one", "two")]
    eventually(lambda: any(one.poll() is not None for one in asking))
    k.run("exec", "--", "sh", "-c", "echo go > gate")

    said = [json.loads(one.communicate(timeout=60)[0]) for one in asking]

    refused = [one for one in said if one["status"] == "error"]
    done = [one for one in said if one["status"] == "done"]
    assert (len(refused), len(done)) == (1, 1)
    assert "waits for no answer" in refused[0]["output"]
    assert done[0]["output"] in ("got:one", "got:two")


def test_trial_18_ctrl_c_during_an_answer_stops_the_cell(k: K, session: str) -> None:
    """
    As during `k run`: the cell is interrupted, and the session is free.
    """
    k.waiting(session, "read a; sleep 60")
    asking = k.start("answer", "-j", session, "x")
    eventually(lambda: k.json("peek", session)["status"] == "running")

    asking.send_signal(signal.SIGINT)
    said = json.loads(asking.communicate(timeout=60)[0])

    assert (said["status"], said["output"]) == ("error", "interrupted")
    assert asking.returncode == 1
    assert k.output(session, "echo free") == "free"


def test_trial_18_a_daemon_that_dies_loses_no_answer(k: K, session: str) -> None:
    """
    The line is typed once, and its caller gets what the program says to it from the next daemon.
    """
    k.run("exec", "--", "mkfifo", "between")
    k.waiting(session, "read a; read -u 9 c 9<>between; read -t 0 b && echo twice; echo got:$a")
    asking = k.start("answer", "-j", session, "x")
    eventually(lambda: k.json("peek", session)["status"] == "running")

    slay(k.agent.pid_of("daemon"))
    k.run("exec", "--", "sh", "-c", "echo go > between")
    said = json.loads(asking.communicate(timeout=60)[0])

    assert (said["status"], said["output"]) == ("done", "got:x")


def test_trial_18_agent_pty_answers_too(k: K, session: str) -> None:
    """
    `agent-pty answer` prints the new output and exits as `run` does; - reads standard input.
    """
    agent = k.agent
    k.waiting(session, "read -p 'a? ' a; read -p 'b? ' b; echo $a ${#b}; (exit 3)")

    asks = agent.cli("answer", session, "one")
    ends = agent.cli("answer", session, "-", "--json", stdin=f"{SECRET}\n")
    none = agent.cli("answer", session, "x")

    assert (asks.returncode, asks.stdout) == (8, "b? \n")
    assert "agent-pty answer" in asks.stderr
    done = json.loads(ends.stdout)
    assert (ends.returncode, done["output"]) == (3, f"one {len(SECRET)}")
    assert none.returncode == 1
    assert "nothing runs" in none.stderr
