"""The README is true: its tour, typed word for word, prints what it shows; its picture is real."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.agent import Agent
from support.page import Reader, Step, matches, steps

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = "docs/picture.svg"


def test_trial_27_the_tour_shows_what_the_readme_shows(agent: Agent, tmp_path: Path) -> None:
    """
    Typed word for word in an empty directory, each line prints what stands below it.
    """
    tour = README.split("\n## A tour\n")[1].split("\n## ")[0]

    listed = steps(tour)

    assert len(listed) > 15
    Reader(agent, tmp_path).follow(tour)


def test_a_tour_is_read_line_by_line() -> None:
    """
    A prompt that a program shows is output; the lines of one command belong together.
    """
    text = "```console\n$ k run py 'f(\n> 7)'\n49\n$ screen\n>>> f(7)\n49\n>>>\n$ true\n```\n"

    assert steps(text) == [
        Step(command="k run py 'f(\n7)'", shown="49"),
        Step(command="screen", shown=">>> f(7)\n49\n>>>"),
        Step(command="true", shown=""),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("pid=<pid>", "pid=12\n", True),
        ("Go on? ", "Go on?", True),
        ("", "", True),
        ("pid=<pid>", "pid=none", False),
        ("a.c", "abc", False),
        ("", "error: no\n", False),
        ("one\n...\nfour", "one\ntwo\nthree\nfour\n", True),
        ("one\n...\nfour", "one\nfour\n", True),
        ("one\n...\nfour", "one\ntwo\n", False),
        ("one", "one\ntwo\n", False),
    ],
)
def test_another_output_than_that_shown_is_found(
    shown: str, printed: str, *, expected: bool
) -> None:
    """
    Only what is said to differ may differ.
    """
    assert matches(shown, printed) is expected


def test_trial_27_the_readme_opens_with_a_picture_of_a_real_session(
    agent: Agent, tmp_path: Path
) -> None:
    """
    It is the first thing below the name, and drawing it again gives the same file.
    """
    drawn = tmp_path / "again.svg"
    env = {**agent.env, "PYTHON": sys.executable}

    subprocess.run(
        ["sh", str(ROOT / "scripts" / "picture"), str(drawn)], env=env, check=True, timeout=120
    )

    first = next(line for line in README.splitlines()[1:] if line)
    assert re.fullmatch(rf"!\[.+\]\({PICTURE}\)", first)
    assert drawn.read_text() == (ROOT / PICTURE).read_text(), "stale: make picture"


def test_trial_27_every_link_of_the_readme_leads_to_a_file() -> None:
    """
    What it links in this repository is there, and the claim of speed has its figures.
    """
    links = re.findall(r"\]\(([^)]+)\)", README)

    local = [link.partition("#")[0] for link in links if not link.startswith("https://")]
    assert all((ROOT / path).is_file() for path in local), local
    assert "[five times faster](bench/README.md" in README
