"""What is taken from a repository's configuration, and what never is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.evidence.git_config import (
    filters,
    is_true,
    parsed,
    private_config,
    unknown_format,
)

FILES = {
    "[core]\n\tbare = false\n": {"core.bare": "false"},
    "[core] bare = false": {"core.bare": "false"},
    "[CORE]\nBare=true\n": {"core.bare": "true"},
    "[core]\nbare\n": {"core.bare": "true"},
    "[core]\nbare =\n": {"core.bare": ""},
    "[core]\r\n\tbare = false\r\n": {"core.bare": "false"},
    "\ufeff[core]\nbare = no\n": {"core.bare": "no"},
    "[core]\nbare = false # a comment\n;another\nx = 1;2\n": {"core.bare": "false", "core.x": "1"},
    '[core]\nx = " a # b "  \n': {"core.x": " a # b "},
    "[core]\nx = a  b  \n": {"core.x": "a  b"},
    "[core]\nx = a \\\n  b\ny = c\n": {"core.x": "a   b", "core.y": "c"},
    '[core]\nx = \\"a\\" \\\\ \\t.\n': {"core.x": '"a" \\ \t.'},
    "[core]\nx = 1\nx = 2\n": {"core.x": "2"},
    '[filter "A.b \\"c"]\nclean = x\n': {'filter.A.b "c.clean': "x"},
    "# only\n\n": {},
    "[core]\nx = a \\\n": {"core.x": "a "},
    '[core]\nx = a "" b "" \n': {"core.x": "a  b "},
    "[core]\nx = a \\t \n": {"core.x": "a \t"},
}
REFUSED = {
    "nonsense\n[core\nx = 1\n": {},
    '[core]\nx = "open\ny = 2\n': {"core.x": "", "core.y": "2"},
}


@pytest.mark.parametrize("text", FILES)
def test_a_file_is_read_as_git_reads_it(text: str) -> None:
    """
    Sections, quotes, comments and continued lines mean what they mean to git.
    """
    assert parsed(text) == FILES[text]


@pytest.mark.parametrize("text", REFUSED)
def test_a_line_that_git_refuses_is_passed_over(text: str) -> None:
    """
    The rest of the file counts.
    """
    assert parsed(text) == REFUSED[text]


@pytest.mark.parametrize(
    "unit", ["\n", " ", "[", "[a ", '"', "\\\n", 'x="\\\n', "a \\a", '[a "', "x=a \n", 'a "" ']
)
def test_a_large_file_is_read_in_time_whatever_is_in_it(unit: str) -> None:
    """
    Reading takes a time that grows with the size only, so nobody can occupy us by a file.
    """
    text = unit * (500_000 // len(unit))

    assert len(parsed(text)) + len(parsed(f"[core]\nx = {text}")) < 3


@given(st.text(alphabet='[]core".=\\\n\t #;a1', max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    """
    A file that is no configuration is read without a failure, too.
    """
    assert isinstance(parsed(text), dict)


def test_harmless_settings_are_taken_over() -> None:
    """
    Words are written in the one way that every git knows; the repository counts before the user.
    """
    user = {"core.autocrlf": "INPUT", "core.filemode": "true"}
    repository = {
        "core.filemode": "off",
        "core.ignorecase": "Yes",
        "status.showuntrackedfiles": "false",
        "extensions.objectformat": "SHA256",
    }

    taken = parsed(private_config(user, repository, {}))

    assert taken["core.autocrlf"] == "input"
    assert taken["core.filemode"] == "false"
    assert taken["core.ignorecase"] == "true"
    assert taken["status.showuntrackedfiles"] == "no"
    assert taken["extensions.objectformat"] == "sha256"


NEVER = {
    "core.fsmonitor": "/evil",
    "core.hookspath": "/evil",
    "core.pager": "/evil",
    "core.sshcommand": "/evil",
    "core.worktree": "/evil",
    "core.bare": "true",
    "core.checkstat": "/evil",
    "core.autocrlf": "true\n\tfsmonitor = /evil",
    "diff.external": "/evil",
    "filter.x.clean": "/evil",
    "include.path": "/evil",
    "status.showuntrackedfiles": "/evil",
    "extensions.partialclone": "origin",
}


@pytest.mark.parametrize("name", NEVER)
def test_nothing_else_is_taken_over(name: str) -> None:
    """
    Neither a setting that is not in the list nor a value that is not.
    """
    config = private_config({name: NEVER[name]}, {name: NEVER[name]}, {})

    assert parsed(config) == parsed(private_config({}, {}, {}))
    assert "evil" not in config


def test_the_format_of_a_repository_is_not_the_users_to_say() -> None:
    """
    A user's file cannot change how a repository is read.
    """
    user = {"extensions.objectformat": "sha256", "core.repositoryformatversion": "1"}

    assert private_config(user, {}, {}) == private_config({}, {}, {})


@given(st.text(min_size=1).filter(lambda text: "\0" not in text and "\r" not in text))
def test_a_path_is_written_so_that_it_is_read_again(path: str) -> None:
    """
    Blanks, quotes, backslashes and line ends in a path do not end it.
    """
    config = private_config({}, {}, {"core.excludesfile": path})

    assert parsed(config)["core.excludesfile"] == path
    assert parsed(config)["core.fsmonitor"] == "false"


def test_filters_are_those_with_a_program() -> None:
    """
    They are named by all files together; one that only writes the work tree does not count.
    """
    user = {"filter.lfs.process": "x", "filter.a.b.clean": "x"}
    repository = {"filter.c.smudge": "x", "core.clean": "x"}

    assert filters(user, repository) == {"lfs", "a.b"}


def test_an_unknown_format_is_named() -> None:
    """
    An extension counts from version 1 on; git ignores it before.
    """
    assert unknown_format({}) is None
    assert unknown_format({"extensions.new": "1"}) is None
    known = {"core.repositoryformatversion": "1", "extensions.objectformat": "sha1"}
    assert unknown_format(known) is None
    assert unknown_format({**known, "extensions.new": "1"}) == "extensions.new"
    assert unknown_format({"core.repositoryformatversion": "2"}) == "core.repositoryformatversion 2"


@pytest.mark.parametrize(
    ("value", "true"), [("true", True), ("ON", True), ("no", False), ("", False)]
)
def test_a_switch(value: str, *, true: bool) -> None:
    """
    A setting that is not there is not true.
    """
    assert is_true({"core.bare": value}, "core.bare") is true
    assert is_true({}, "core.bare") is False
