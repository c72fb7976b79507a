"""What is recorded of waits and cells: what was waited for, what was seen, how it ended."""

from __future__ import annotations

import pytest

from agent_pty.errors import WaitTimeout
from support.agent import Agent
from support.journal import file_of, payloads, recorded

LONG = 30_000
_KEY_LINES = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 30)


def test_a_wait_is_recorded_with_what_it_saw(shared: Agent) -> None:
    """
    First what is waited for, as the seed writes it, then the screen and the end of the output.
    """
    shared.new("seen")
    shared.ask("send", id="seen", text="echo a''nswer")

    shared.ask("wait", id="seen", until="answer", timeout_ms=LONG)
    shared.ask("wait", id="seen", until=["idle:50ms", "regex:x.y"], timeout_ms=LONG)

    waits = payloads(shared, "seen", "wait_for")
    assert waits[-2]["predicate"] == {"type": "regex", "pattern": "answer"}
    assert waits[-2]["timeout"] == {"secs": 30, "nanos": 0}
    assert [one["type"] for one in waits[-1]["predicate"]["of"]] == ["idle", "regex"]
    seen = payloads(shared, "seen", "observation")[-2]
    assert list(seen)[:6] == [
        *("screen_text", "stdout_tail", "stderr_tail", "exit_status", "files_changed"),
        "git_snapshot",
    ]
    assert "answer" in seen["screen_text"]
    assert "answer" in seen["stdout_tail"]
    assert seen["process_snapshot"]["root_pid"] == seen["process_snapshot"]["processes"][0]["pid"]
    lines = shared.cli("replay", "seen").stdout
    assert ' wait Regex { pattern: "answer" } for 30s\n' in lines
    assert ' wait Idle { quiet_for: 50ms } or Regex { pattern: "x.y" } for 30s\n' in lines
    assert " observe screen=" in lines


def test_a_wait_that_times_out_is_recorded_too(shared: Agent) -> None:
    """
    What was on the screen when nothing came is evidence as well.
    """
    shared.new("late", "cat")

    with pytest.raises(WaitTimeout):
        shared.ask("wait", id="late", until="never", timeout_ms=0)

    assert payloads(shared, "late", "observation")[-1]["matched"] == ""


def test_a_cell_is_recorded_with_its_code_and_its_end(shared: Agent) -> None:
    """
    Which code ran, its exit code, how long it took, and the end of what it wrote.
    """
    shared.new("cells")

    shared.ask("run", id="cells", code="seq 1 5000; (exit 3)")

    (began,) = payloads(shared, "cells", "cell_started")
    (ended,) = payloads(shared, "cells", "cell_finished")
    assert began["code"] == "seq 1 5000; (exit 3)"
    assert (ended["status"], ended["exit_code"], ended["output_bytes"]) == ("done", 3, 23892)
    assert ended["output"].endswith("4999\n5000")
    assert len(ended["output"]) == 2000
    assert ended["duration_ms"] >= 0


def test_red_01_secrets_of_output_are_not_recorded(shared: Agent) -> None:
    """
    What a program shows is recorded without its secrets, which are counted by their kind.
    """
    shared.new("shows")
    token = "ghp_" + "a1B2" * 9

    shared.ask("run", id="shows", code=f"echo {token[:9]}''{token[9:]}")
    shared.ask("wait", id="shows", until="prompt", timeout_ms=LONG)

    assert token not in file_of(shared, "shows").read_text()
    counted = [one["redacted"] for one in recorded(shared, "shows") if "redacted" in one]
    assert {"github_token": 1} in counted


def test_red_07_a_key_of_which_only_the_end_is_on_the_screen(shared: Agent) -> None:
    """
    The screen may show a private key without its first line; no line of it is recorded.
    """
    shared.new("key")
    block = f"-----BEGIN PRIVATE KEY-----\n{_KEY_LINES}\n-----END PRIVATE KEY-----"
    shared.ask("run", id="key", code=f"printf '%s\\n' '{block}' > \"$HOME/key\"")

    shared.ask("send", id="key", text='cat "$HOME/key"')
    shared.ask("wait", id="key", until="END PRIVATE", timeout_ms=LONG)

    seen = payloads(shared, "key", "observation")[-1]
    assert "MIIEvQ" not in seen["screen_text"] + seen["stdout_tail"]
    assert "[REDACTED:private_key]" in seen["screen_text"]
