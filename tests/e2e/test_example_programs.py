"""Every file in `examples/` is run, by its kind; a new one is run without being named here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.agent import Agent

FOLDER = Path(__file__).parents[2] / "examples"
PAGE = FOLDER / "README.md"
# What Python and pytest leave there is no example.
LEFT = re.compile(r"\.|__pycache__")
PROGRAMS = sorted(
    path
    for path in FOLDER.rglob("*")
    if path.is_file()
    and path != PAGE
    and not any(LEFT.match(part) for part in path.relative_to(FOLDER).parts)
)
# With a key, an example asks a real model.
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MSWEA_MODEL_NAME")
SAYS = re.compile(r'(?:# |""")(?P<sentence>[^"]+?\.)(?:""")?')


def command(path: Path) -> list[str]:
    """Return how a user runs an example; one of an unknown kind is a mistake."""
    if path.suffix == ".sh":
        return ["bash", str(path)]
    assert path.suffix == ".py", f"{path.name}: say here how it is run"
    if path.name.startswith("test_"):
        # No settings but its own: ours are in a directory above it.
        alone = ["-c", os.devnull, "-p", "no:cacheprovider"]
        return [sys.executable, "-m", "pytest", "-q", *alone, str(path)]
    return [sys.executable, str(path)]


def sentence(path: Path) -> str:
    """Return what the first line says that an example shows."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    said = SAYS.fullmatch(first)
    assert said is not None, f"{path.name} begins with no sentence: {first}"
    return said["sentence"]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_an_example_runs_and_leaves_nothing(path: Path, shared: Agent, tmp_path: Path) -> None:
    """
    Each succeeds in an empty directory, ends with a proof that exists, and no session is left.
    """
    env = {**shared.env, "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.defpath])}
    for name in (*KEYS, "K_SESSION"):
        env.pop(name, None)

    done = subprocess.run(
        ["timeout", "100", *command(path)],
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    if not path.name.startswith("test_"):  # what pytest runs prints nothing
        (proof,) = re.findall(r"^proof_html_path (.+)$", done.stdout, re.MULTILINE)
        assert Path(proof).read_text().startswith("<!doctype html>")
    assert [one["id"] for one in shared.ask("list")] == []


def test_the_page_lists_every_example() -> None:
    """
    Each stands in the table, with the sentence of its first line.
    """
    listed = dict(re.findall(r"^\| \[(.+?)\]\(\1\) \| (.+) \|$", PAGE.read_text(), re.MULTILINE))

    assert listed == {path.name: sentence(path) for path in PROGRAMS}
    assert len(listed) > 10


@pytest.mark.parametrize("first", ["import os", "#!/bin/sh", '"""No end', "# no point"])
def test_a_first_line_that_says_nothing_is_found(first: str, tmp_path: Path) -> None:
    """
    A line of code, an interpreter and half a sentence do not say what an example shows.
    """
    path = tmp_path / "silent.py"
    path.write_text(first + "\n")

    with pytest.raises(AssertionError, match="begins with no sentence"):
        sentence(path)
