"""Sessions whose program no longer marks its prompts: cells end, and the session stays usable."""

from __future__ import annotations

import shutil

import pytest

from support.agent import Agent
from support.k import K
from support.postgres import SERVER, postgres


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


def test_trial_09_a_shell_that_lost_its_marks_ends_its_cells(k: K) -> None:
    """
    The cell that removed the marks ends with an unknown exit code, and so do those after it.
    """
    session = k.new("lost", "bash")

    lost = k.cell(session, "unset PROMPT_COMMAND; PS1='new> '")
    after = [k.cell(session, code) for code in ("echo one", "sleep 0.5; printf two", "printf two")]

    outputs = ["one", "two", "two"]
    assert lost == {"status": "done", "output": "", "exit_code": None}
    assert after == [{"status": "done", "output": output, "exit_code": None} for output in outputs]


def test_trial_09_a_shell_that_writes_to_a_log_ends_its_cells(k: K) -> None:
    """
    After `exec >log 2>&1` the prompt is not seen; cells end, and their exit codes are known.
    """
    session = k.new("log", "bash")

    codes = ("exec > lost.log 2>&1", "echo one", "sleep 0.5; (exit 3)", "echo two")
    cells = [k.cell(session, code) for code in codes]

    done = {"status": "done", "output": ""}
    assert cells == [done, done, {**done, "exit_code": 3}, done]


def test_trial_09_a_shell_that_marks_again_is_believed_again(k: K) -> None:
    """
    When the marks come back, exit codes are known again.
    """
    session = k.new("back", "bash")
    k.output(session, "exec 3>&1 4>&2 > back.log 2>&1")

    k.output(session, "exec >&3 2>&4")

    assert k.cell(session, "echo hi; (exit 3)") == {
        "status": "done",
        "output": "hi",
        "exit_code": 3,
    }


def test_trial_09_a_prompt_that_looks_like_a_question_is_one_at_first(k: K) -> None:
    """
    A lost prompt that looks like none is reported as a question and ends the cell soon after.
    """
    session = k.new("odd", "bash")

    said = k.waiting(session, "unset PROMPT_COMMAND; PS1='your name? '")
    done = k.collect(session, said["cell_id"])

    assert (done["status"], done["exit_code"]) == ("done", None)
    assert k.output(session, "echo one; printf two") == "one\ntwo"


def test_trial_09_a_prompt_that_a_person_has_replaced_can_be_typed_at(k: K) -> None:
    """
    Where no cell ran, the unmarked prompt is found by the next one.
    """
    session = k.new("typed", "bash")
    k.output(session, "echo ready")

    k.agent.ask("send", id=session, text="unset PROMPT_COMMAND; PS1='new> '")

    assert k.output(session, "echo one") == "one"


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("bash", "read -p 'new> ' x"),
        ("bash", "read -n 1 -s -p '$ ' x"),
        ("zsh", "read 'x?new> '"),
        ("fish", "read x"),
        ("python3", "x = input('> ')"),
    ],
)
def test_trial_09_a_question_of_the_shell_itself_is_no_prompt(
    k: K, program: str, code: str
) -> None:
    """
    What the program asks by itself, in another way than at its prompt, stays a question.
    """
    session = k.session(program)

    said = k.waiting(session, code)
    # Until well after an unmarked prompt would have ended it.
    k.agent.ask("wait", id=session, until="idle:2s", timeout_ms=20_000)
    later = k.json("peek", session)
    k.run("int", session)

    assert later == {**said, "code": code, "cursor": 0}


ARRAY = "PROMPT_COMMAND=('echo one' 'echo two')"


def test_trial_09_what_a_list_of_prompt_commands_prints_is_no_output(k: K) -> None:
    """
    PROMPT_COMMAND may become a list: what it prints is the output of no cell.
    """
    session = k.new("list", "bash")

    outputs = [k.cell(session, code) for code in (ARRAY, "echo hi", "printf ho; (exit 3)")]

    assert outputs == [
        {"status": "done", "output": ""},
        {"status": "done", "output": "hi"},
        {"status": "done", "output": "ho", "exit_code": 3},
    ]
    assert "one\ntwo\n" in k.agent.transcript(session)


def test_trial_09_a_list_that_a_file_has_set_is_noticed(k: K) -> None:
    """
    A list that we did not see coming costs the cell after it, not all of them.
    """
    session = k.new("sourced", "bash")
    k.file("set-list", ARRAY)

    k.output(session, ". ./set-list; echo")
    k.output(session, "echo next")

    assert [k.output(session, f"echo {word}") for word in "ab"] == ["a", "b"]


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
@pytest.mark.skipif(not SERVER, reason="no PostgreSQL server (initdb) is installed")
def test_trial_09_psql_may_have_another_prompt(k: K) -> None:
    r"""
    `\set PROMPT1` removes the marks of psql; cells end all the same, and have no exit codes.
    """
    with postgres() as server:
        session = k.new("pg", f"psql -h {server} -U ann postgres")
        k.output(session, r"\pset format unaligned")

        cells = [k.cell(session, code) for code in (r"\set PROMPT1 'db> '", "select 1 as n;")]
        k.kill(session)

    assert cells == [
        {"status": "done", "output": ""},
        {"status": "done", "output": "n\n1\n(1 row)"},
    ]
