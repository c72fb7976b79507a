"""A cell of `k` that waits for a person: nothing is typed for them, and their answer ends it."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass

import pytest

from support.agent import Agent, eventually
from support.k import K

LIMIT = 30  # seconds, the default of `k run`
# Far below the limit, and far above what it takes on a busy machine.
SOON = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Code that waits; what it shows meanwhile, keys that answer it, what comes of them."""

    code: str
    wants: str = "input"
    shows: str = ""
    keys: tuple[str, ...] = ("h", "i", "enter")
    check: str = 'echo "<$answer>"'
    empty: str = "<>"
    full: str = "<hi>"


FILE = "cat answer 2>&-"
FORMS = {
    "cat": Question(
        code="cat > answer", keys=("h", "i", "enter", "ctrl-d"), check=FILE, empty="", full="hi"
    ),
    "read": Question(code="read answer"),
    "input": Question(
        code="""python3 -c 'open("answer", "w").write(input("name? "))'""",
        shows="name? ",
        check=FILE,
        empty="",
        full="hi",
    ),
    "secret": Question(code="read -s -p 'Password: ' answer", wants="secret", shows="Password: "),
}


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


@pytest.fixture
def session(k: K) -> str:
    """A free bash in which nothing was answered yet."""
    name = k.session("bash")
    k.output(name, "unset answer; rm -f answer")
    return name


@pytest.mark.serial
@pytest.mark.parametrize("form", FORMS)
def test_waiting_is_told_well_before_the_timeout(k: K, session: str, form: str) -> None:
    """
    `k run` returns with what the program shows as soon as it waits, and says what for.
    """
    question, began = FORMS[form], time.monotonic()

    said = k.waiting(session, question.code)

    assert time.monotonic() - began < SOON < LIMIT
    assert list(said) == ["cell_id", "status", "for", "output"]
    assert (said["for"], said["output"]) == (question.wants, question.shows)


@pytest.mark.parametrize("form", FORMS)
def test_no_key_is_injected_and_an_interrupt_recovers(k: K, session: str, form: str) -> None:
    """
    Asked again and again, the program gets nothing to read; `k int` ends it without an answer.
    """
    question = FORMS[form]
    cell = k.waiting(session, question.code)["cell_id"]

    for verb in ("poll", "peek", "poll"):
        assert k.json(verb, session)["status"] == "waiting"
    busy = k.run("run", "-j", session, "echo typed-into-it")
    stopped = k.run("int", session)

    assert (busy.returncode, busy.stdout) == (
        1,
        f'{{"status": "error", "output": "active cell \'{cell}\'"}}\n',
    )
    assert (stopped.returncode, stopped.stdout) == (0, "OK\n")
    assert k.output(session, question.check) == question.empty


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_finishes_the_cell(k: K, session: str, form: str) -> None:
    """
    Keys answer the question; `k poll` has the result once, and the session is free.
    """
    question = FORMS[form]
    cell = k.waiting(session, question.code)["cell_id"]

    if question.wants == "secret":
        k.agent.ask("secret", id=session, value="hi")  # no agent may type it
    else:
        k.run("keys", session, *question.keys)
    done = k.collect(session, cell)

    assert (done["cell_id"], done["status"]) == (cell, "done")
    assert done["output"].startswith(question.shows)
    assert ("hi" in done["output"]) == (question.wants == "input")  # the echo of the answer
    assert k.json("poll", session, cell)["output"] == "unknown cell"
    assert k.output(session, question.check) == question.full


def test_a_fired_cell_waits_as_well(k: K, session: str) -> None:
    """
    `k poll` tells that a fired cell waits, and later how it ended.
    """
    cell = k.json("fire", session, "read answer; echo got $answer")["cell_id"]
    eventually(lambda: k.json("poll", session)["status"] == "waiting")

    k.run("keys", session, "h", "i", "enter")

    assert k.collect(session, cell) == {
        "cell_id": cell,
        "status": "done",
        "output": "hi\ngot hi",
    }


def test_in_plain_words_a_question_is_told(k: K, session: str) -> None:
    """
    Without -j the question is on standard output, and what to do about it on standard error.
    """
    done = k.run("run", session, FORMS["input"].code)

    assert (done.returncode, done.stdout) == (0, "name? \n")
    assert all(word in done.stderr for word in ("waiting for input", "k keys", "k int"))


def test_waiting_has_an_exit_status_of_its_own(k: K, session: str) -> None:
    """
    With -e a script sees that a cell waits: 125.
    """
    assert k.run("run", "-e", session, "read answer").returncode == 125


def test_the_monitor_tells_of_a_question(k: K, session: str) -> None:
    """
    `km` has an event for it, with what is waited for.
    """
    monitor = k.monitor(session)

    k.waiting(session, "read -s answer")
    k.run("int", session)
    k.kill(session)
    told = [json.loads(line) for line in monitor.communicate(timeout=60)[0].splitlines()]

    waits = [one for one in told if one["status"] == "waiting"]
    assert [list(one) for one in waits] == [["cell_id", "session", "status", "for", "ts"]]
    assert waits[0]["for"] == "secret"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_promise_is_no_question(k: K) -> None:
    """
    Node polls its keyboard while it waits for a promise; that is work, not a question to a person.
    """
    k.new("promise", "node")

    # Longer than a question has to stand still to be one.
    said = k.cell("promise", "await new Promise(done => setTimeout(done, 1000)); 5")

    assert said == {"status": "done", "output": "5"}
