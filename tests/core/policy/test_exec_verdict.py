"""The verdict on an exec: by every name of the program, typed or further down."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.policy.exec_verdict import judged_exec, runs_others
from agent_pty.core.policy.policy_file import parsed_policy

WORDS = st.lists(st.text(st.characters(exclude_characters="\0"), max_size=8), max_size=6)


def judged(line: str, *, typed: bool) -> str | None:
    """Return the rule that an exec of these words needs an approval for."""
    argv = line.split("|")
    return judged_exec([argv[0].rpartition("/")[2]], argv, typed=typed).rule


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("rm|-rf|x", "rm -rf"),
        ("/bin/rm|-r|--force|x", "rm -rf"),
        ("git|push|--force", "git push --force"),
        ("terraform|apply", "terraform apply"),
        ("kubectl|delete|pod|x", "kubectl delete"),
        ("busybox|rm|-rf|x", "rm -rf"),
        ("ssh|host|rm -rf /srv", "rm -rf"),
        ("docker|exec|c|rm|-rf|/data", "rm -rf"),
        ("python3|-c|import shutil; shutil.rmtree('x')", "rm -rf"),
        ("find|build|-delete", "rm -rf"),
    ],
)
@pytest.mark.parametrize("typed", [False, True])
def test_what_a_program_does_itself_counts_everywhere(line: str, rule: str, *, typed: bool) -> None:
    """
    The program itself, and what it does elsewhere or without another exec.
    """
    assert judged(line, typed=typed) == rule


@pytest.mark.parametrize(
    "line",
    [
        "env|rm|-rf|x",
        "sh|-c|rm -rf x",
        "xargs|rm|-rf",
        "find|.|-exec|rm|-rf|{}|;",
        "sudo|rm|-rf|x",
        "nice|-n|5|rm|-rf|x",
    ],
)
def test_what_it_executes_counts_where_it_is_typed(line: str) -> None:
    """
    Further down each exec is asked about by itself, with its real arguments.
    """
    assert judged(line, typed=True) == "rm -rf"
    assert judged(line, typed=False) is None
    argv = line.split("|")
    assert runs_others([argv[0]], argv)


@pytest.mark.parametrize(
    "line",
    [
        "gcc|-c|x.c",
        "rm|x",
        "rm|-r|x",
        "git|push",
        'sh|-c|eval "$x"',
        "bash|./script.sh",
        "python3|setup.py|build",
        "echo|rm -rf x",
    ],
)
@pytest.mark.parametrize("typed", [False, True])
def test_what_is_harmless_or_only_unknown_is_allowed(line: str, *, typed: bool) -> None:
    """
    What nobody can know from the arguments is no reason to ask: what it executes is judged.
    """
    assert judged(line, typed=typed) is None


def test_a_name_is_no_disguise() -> None:
    """
    A program is judged by the name it is given, by that of its path and by that of its file.
    """
    assert judged_exec(["ls", "x", "rm"], ["ls", "-rf", "y"], typed=False).rule == "rm -rf"
    assert judged_exec(["rm", "busybox"], ["rm", "-rf", "y"], typed=False).rule == "rm -rf"


def test_rules_of_a_file_count_for_execs() -> None:
    """
    A rule that allows covers all names of the program, or it covers nothing.
    """
    rules = [
        {"label": "mine", "argv": ["rm", "-rf", "build"], "action": "allow"},
        {"label": "no nc", "pattern": "^nc ", "action": "deny"},
    ]
    policy = parsed_policy(json.dumps({"rules": rules}).encode(), path="p")

    def action(*argv: str, names: tuple[str, ...] = ()) -> str:
        return judged_exec([argv[0], *names], list(argv), typed=False, policy=policy).action

    assert action("rm", "-rf", "build") == "allow"
    assert action("rm", "-rf", "build", "other") == "require_approval"
    assert action("rmx", "-rf", "build", names=("rm",)) == "allow"
    assert action("nc", "-l", "1") == "deny"


@given(argv=WORDS, typed=st.booleans())
def test_no_arguments_crash_it(argv: list[str], *, typed: bool) -> None:
    """
    Whatever a process passes to the kernel can be judged.
    """
    judged_exec(argv[:1] or ["x"], argv, typed=typed)
    runs_others(argv[:1] or ["x"], argv)


def test_very_many_arguments_are_judged() -> None:
    """
    A row of arguments that is longer than the stack is deep is judged, or asked about.
    """
    argv = ["rm", "-rf", *map(str, range(50_000))]
    rules = [{"label": "r", "argv": ["rm", "**", "x"], "action": "deny"}]
    policy = parsed_policy(json.dumps({"rules": rules}).encode(), path="p")

    found = judged_exec(["rm"], argv, typed=True, policy=policy)

    assert found.action == "require_approval"
