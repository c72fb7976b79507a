"""JSON of `agent-pty --json`: which fields stay, and in which form."""

from __future__ import annotations

from agent_pty.core.compact_json import json_line


def test_trial_19_our_own_empty_fields_go() -> None:
    """
    What says nothing is left out at every depth; zero, false and an unknown exit code say much.
    """
    cell = {"output": "", "exit_code": None, "hint": None, "size": 0, "truncated": False, "lost": 0}

    assert json_line([cell], for_people=False) == (
        '[{"output":"","exit_code":null,"size":0,"truncated":false}]\n'
    )


def test_trial_19_what_the_contract_names_stays() -> None:
    """
    Nulls and empty lists of the contract's objects stay, ours beside them do not.
    """
    screen = {"text": "", "spans": [], "semantic": {"prompt": None, "spinner_lines": []}}
    status = {"session_count": 0, "error": None, "trace_path": None, "keeper_error": None}

    assert json_line({**screen, "links": []}, for_people=False) == (
        '{"text":"","spans":[],"semantic":{"prompt":null,"spinner_lines":[]}}\n'
    )
    assert json_line(status, for_people=False) == (
        '{"session_count":0,"error":null,"trace_path":null}\n'
    )


def test_a_fork_without_a_branch_says_so() -> None:
    """
    The contract has `branch` in every fork; null: no branch was made for it.
    """
    fork: dict[str, object] = {
        "id": "b",
        "source_id": "a",
        "workspace": "/src",
        "branch": None,
        "left_out": [],
    }

    assert json_line(fork, for_people=False) == (
        '{"id":"b","source_id":"a","workspace":"/src","branch":null}\n'
    )


def test_trial_19_people_get_lines() -> None:
    """
    For a person the same object is indented; controls never reach the terminal.
    """
    assert json_line({"title": "\x9b"}, for_people=True) == '{\n  "title": "\\u009b"\n}\n'
