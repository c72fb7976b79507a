"""Which commands of a line certainly ran, and whose exit code the line has."""

from __future__ import annotations

import pytest

from agent_pty.core.policy.certain_run import Ending, certain_run

PYTEST = ("pytest",)
OWN = {
    ("pytest", 0): True,
    ("pytest > log", 1): True,
    ("make && pytest -q", 0): True,
    ("make && pytest -q > log", 0): True,
    ("cd src && [ -f x ] && export A=1 && pytest", 0): True,
    ("make && pytest -q", 1): False,
    ("pytest; true", 0): False,
    ("pytest || true", 0): False,
    ("make || true && pytest", 0): True,
    ("make && pytest || true", 0): False,
    ("pytest | tee log", 0): False,
    ("pytest &", 0): False,
    ("make && pytest &", 0): False,
    ("if pytest; then echo; fi", 0): False,
    ("pytest 'unfinished", 0): False,
    ("! pytest", 0): False,
    ("make && ! pytest", 0): False,
    ("(pytest)", 0): False,
    ("{ pytest; true; } > log", 0): False,
    ("pytest <<E || true\nx\nE", 0): False,
    ("pytest <<E\nx\nE", 0): True,
    ('bash -c "pytest; true"', 0): False,
    ("bash -c pytest", 0): False,
    ('echo "$(pytest)"', 0): False,
    ('eval "pytest || true"', 0): False,
    (r"find . -maxdepth 0 -exec pytest \;", 0): False,
    ("setsid -f pytest", 0): False,
    ("echo | xargs pytest", 0): False,
    ("X=$(pytest) true", 0): False,
    # The other one may have failed.
    ("pytest a && bash -c 'pytest b; true'", 0): False,
    ("pytest() { command pytest; true; }\npytest", 0): False,
    ("$X pytest", 0): False,
}


@pytest.mark.parametrize(("line", "code"), OWN)
def test_an_exit_code_is_a_commands_own_only_if_it_must_be(line: str, code: int) -> None:
    """
    Of one command alone, or of a chain of `&&` that ended with 0; in doubt it is not.
    """
    assert certain_run(line, PYTEST, code=code).code_is_its_own is OWN[line, code]


WRAPPED = {
    "CI=1 pytest": True,
    "env -i -u HOME CI=1 pytest": True,
    "env CI=1 timeout -k 5 60 pytest -q": True,
    "nice -n 10 pytest": True,
    "nice -10 pytest": True,
    "time -p pytest": True,
    "timeout --signal=KILL 60 pytest": True,
    "nohup pytest": True,
    "stdbuf -oL pytest": True,
    "sudo -n -u me pytest": True,
    "command pytest": True,
    "exec pytest": True,
    "xvfb-run -a pytest": True,
    "uv run pytest": True,
    "sudo -b pytest": False,
    "sudo -l pytest": False,
    "command -v pytest": False,
    "nice --help pytest": False,
    "env -S 'pytest; true' pytest": False,
    "env $X pytest": False,
    "strace -f pytest": False,
}


@pytest.mark.parametrize("line", WRAPPED)
def test_a_few_programs_end_as_the_one_they_run(line: str) -> None:
    """
    With options that are known not to change it; other programs and options are in doubt.
    """
    assert certain_run(line, PYTEST, code=0).code_is_its_own is WRAPPED[line]


@pytest.mark.parametrize(
    ("line", "code", "doubt"),
    [
        ("timeout 60 pytest", 124, True),
        ("timeout 60 pytest", 1, False),
        ("sudo pytest", 1, True),
        ("sudo pytest", 0, False),
        ("pytest", 124, False),
    ],
)
def test_a_wrapper_has_exit_codes_of_its_own(line: str, code: int, *, doubt: bool) -> None:
    """
    124 of `timeout` says that time was up; `sudo` fails with 1 before it runs anything.
    """
    found = certain_run(line, PYTEST, code=code)

    assert (found.code_is_its_own, found.code_is_a_wrappers) == (True, doubt)
    assert found.ran is not doubt


RAN = {
    ("pytest", 1): True,
    ("pytest; false", 1): True,
    ("cd src; pytest; false", 1): True,
    ("cd src\npytest\ntrue", 0): True,
    ("pytest && false", 1): True,
    ("pytest || true", 0): True,
    ("pytest | tee log", 0): True,
    ("yes | pytest", 0): True,
    ("if pytest; then echo; fi", 0): True,
    ("! pytest", 1): True,
    ("(pytest; true)", 0): True,
    ("make && pytest", 0): True,
    ("cd src; make && pytest", 0): True,
    ("timeout 60 pytest; true", 0): True,
    ("make && pytest", 1): False,
    ("make && pytest; true", 0): False,
    ("false && pytest", 1): False,
    ("true || pytest", 0): False,
    ("if false; then pytest; fi", 0): False,
    ("while false; do pytest; done", 0): False,
    ("case x in y) pytest;; esac", 0): False,
    ("for x in $none; do pytest; done", 0): False,
    ("cat <<E || pytest\nx\nE", 0): False,
    ("sudo pytest; true", 0): False,
    ("pytest &", 0): False,
    ("alias pytest='false && pytest'\npytest", 1): False,
    # Ctrl-C ends the line, not only the command.
    ("sleep 60; pytest", 130): False,
}


@pytest.mark.parametrize(("line", "code"), RAN)
def test_a_command_ran_only_if_nothing_could_have_kept_the_shell_from_it(
    line: str, code: int
) -> None:
    """
    The first one, those after `;` and line ends, and all of a chain of `&&` that ended with 0.
    """
    assert certain_run(line, PYTEST, code=code).ran is RAN[line, code]


@pytest.mark.parametrize(
    ("line", "code", "ending"),
    [
        ("exit 0 && pytest", 0, "exited"),
        ("exec true; pytest", 0, "exited"),
        ("sleep 60; pytest", 1, "interrupted"),
    ],
)
def test_a_shell_that_ended_did_not_come_to_the_rest(line: str, code: int, ending: Ending) -> None:
    """
    `exit 0 && pytest` ends with 0, and runs nothing.
    """
    found = certain_run(line, PYTEST, code=code, ending=ending)

    assert (found.ran, found.code_is_its_own) == (False, False)


def test_a_program_that_replaced_the_shell_ended_as_the_shell_did() -> None:
    """
    `exec pytest` has the exit code of the session; the shell's own end says nothing of `pytest`.
    """
    replaced = certain_run("exec pytest", PYTEST, code=0, ending="exited")
    killed = certain_run("pytest", PYTEST, code=0, ending="exited")

    assert (replaced.code_is_its_own, killed.code_is_its_own) == (True, False)
