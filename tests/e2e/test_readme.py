"""The README is true: its tour, typed word for word, prints what it shows; its picture is real."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.agent import Agent

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = "docs/picture.svg"
BIN = os.path.dirname(sys.executable)
# What differs each time, as the README says.
VARIABLE = {
    "<id>": "[0-9a-f]{12}",
    "<pid>": "[0-9]+",
    "<port>": "[0-9]+",
    "<dir>": "/[^ ]*",
}
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command of the tour, and what the README shows below it."""

    command: str
    shown: str


def steps(text: str) -> list[Step]:
    """Read the blocks of a tour: `$ ` begins a command, `>` continues it, the rest is output."""
    found: list[Step] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        assert block.startswith("$ "), f"a block begins with a command:\n{block}"
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            more = [line for line in lines[1:] if re.match(r">( |$)", line)]
            more = more if lines[1 : 1 + len(more)] == more else []
            command = "\n".join([lines[0], *(line[2:] for line in more)])
            shown = "\n".join(lines[1 + len(more) :])
            found.append(Step(command=command, shown=shown))
    return found


def matches(shown: str, printed: str) -> bool:
    """Compare, but for what differs each time; blanks at the ends of lines cannot be seen."""
    pattern = re.escape(_trimmed(shown))
    for word, meant in VARIABLE.items():
        pattern = pattern.replace(re.escape(word), meant)
    return re.fullmatch(pattern, _trimmed(printed)) is not None


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip()


@contextlib.contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Open a terminal of the usual size."""
    master, slave = os.openpty()
    try:
        yield master, slave
    finally:
        os.close(master)


def typed(agent: Agent, command: str, where: Path) -> str:
    """Run a line in a terminal, as a person would; return what appears there."""
    env = {**agent.env, "PATH": os.pathsep.join([BIN, agent.env["PATH"]])}
    env.pop("K_SESSION", None)
    with terminal() as (master, slave):
        argv = ["setsid", "--ctty", "timeout", "60", "bash", "-c", command]
        process = subprocess.Popen(
            argv, cwd=where, env=env, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        seen = b""
        # A terminal whose last user has left answers with an error.
        with contextlib.suppress(OSError):
            while piece := os.read(master, _CHUNK):
                seen += piece
        process.wait(timeout=60)
    return seen.decode().replace("\r\n", "\n")


def test_trial_27_the_tour_shows_what_the_readme_shows(agent: Agent, tmp_path: Path) -> None:
    """
    Typed word for word in an empty directory, each line prints what stands below it.
    """
    tour = README.split("\n## A tour\n")[1].split("\n## ")[0]

    listed = steps(tour)

    assert len(listed) > 15
    for step in listed:
        printed = typed(agent, step.command, tmp_path)
        assert matches(step.shown, printed), f"$ {step.command}\nprinted instead:\n{printed}"


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
