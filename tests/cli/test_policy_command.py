"""`agent-pty policy check`: verdicts on the command line, without a daemon."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from agent_pty.cli.main import main


def check(*words: str) -> int:
    """Run the command; return its exit status."""
    return main(["policy", "check", *words])


def test_a_line_that_needs_an_approval(capsys: pytest.CaptureFixture[str]) -> None:
    """
    The rule and the reason are named, and the exit status tells both cases apart.
    """
    asked = check("ls; git push -f", "--json")
    said = json.loads(capsys.readouterr().out)
    passed = check("git push")

    assert (asked, passed) == (3, 0)
    assert said == {
        "action": "require_approval",
        "rule": "git push --force",
        "span": [4, 15],
        "reason": "git push -f",
    }
    assert capsys.readouterr().out == "allow\n"


def test_rows_of_sends(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A row for each; U+001E divides sends, and control characters are keys.
    """
    rows = [{"command": "rm -r\x1ef build"}, {"command": "echo x\x15ls"}, {"command": "gi\t"}]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(one) + "\n" for one in rows)))

    status = check("--jsonl")

    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert status == 0
    assert [one["action"] for one in found] == ["require_approval", "allow", "require_approval"]
    assert [one["rule"] for one in found] == ["rm -rf", None, "opaque execution"]
    assert list(found[0]) == ["action", "rule", "span"]


def test_a_line_is_judged_as_send_would_judge_it(capsys: pytest.CaptureFixture[str]) -> None:
    """
    Control characters are keys, and what is deleted again does not count.
    """
    assert check("rm -rf build\x15ls") == 0
    assert check("rm -r\x02\x05f build") == 3
    assert "rm -rf" in capsys.readouterr().out


def test_without_a_file_the_rules_in_force_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The file that the settings name, as a daemon would use it.
    """
    rules = {"rules": [{"label": "no make", "pattern": "make", "action": "deny"}]}
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    (tmp_path / "config.toml").write_text(f'[policy]\nfile = "{tmp_path}/rules.json"\n')
    before = check("make")
    monkeypatch.setenv("AGENT_PTY_HOME", str(tmp_path))

    assert (before, check("make")) == (0, 3)
    assert capsys.readouterr().out.splitlines()[-1].startswith("deny: no make")


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "give the text to check"), (("--jsonl", "ls"), "leave TEXT out")],
)
def test_a_wrong_call_says_what_to_give(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    """
    The mistake and the remedy.
    """
    assert check(*words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "extra"), "policy show takes no 'extra'"),
        (("secret",), "entered at a terminal"),
    ],
)
def test_words_that_would_be_ignored_are_refused(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    """
    An operator must not believe that something was done.
    """
    monkeypatch.setattr("sys.stdin", io.StringIO(""))

    assert main(["policy", *words]) == 2
    assert said in capsys.readouterr().err
