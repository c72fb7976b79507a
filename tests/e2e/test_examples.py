"""What agents are told works as written: `EXAMPLES.md` and `SKILL.md` are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import agent_pty
from agent_pty.words.help import K_HELP
from agent_pty.words.k import _VERBS
from support.agent import Agent

FOLDER = Path(agent_pty.__file__).parent / "agents"
SKILL = (FOLDER / "SKILL.md").read_text(encoding="utf-8")
EXAMPLES = (FOLDER / "EXAMPLES.md").read_text(encoding="utf-8")

# What a pattern may need that a machine may not have.
PROGRAMS = ("node", "sqlite3", "vim")
VARIABLE = {"<id>": "[0-9a-f]{12}", "<ts>": r"[-0-9T:.]+\+00:00", "<port>": "[0-9]+"}
SHAPE = re.compile(
    r"(?P<heading>.+)\n\n(?P<sentence>.+)\n\n"
    r"```sh\n(?P<script>(?:.*\n)+?)```\n\n"
    r"```text\n(?P<expected>(?:.*\n)+?)```\n+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One section of EXAMPLES.md."""

    heading: str
    script: str
    expected: str


def patterns(text: str) -> list[Pattern]:
    """Read every section; one of another shape is a mistake, not a section to leave out."""
    found = []
    for section in text.split("\n## ")[1:]:
        shaped = SHAPE.fullmatch(section + "\n")
        assert shaped is not None, f"not heading, sentence, sh block, text block:\n{section}"
        script, expected = shaped["script"], shaped["expected"]
        found.append(Pattern(heading=shaped["heading"], script=script, expected=expected))
    return found


def shape_of(expected: str) -> re.Pattern[str]:
    """Return what matches the output meant by a text block."""
    lines = []
    for line in expected.splitlines():
        shaped = re.escape(line)
        for word, meant in VARIABLE.items():
            shaped = shaped.replace(re.escape(word), meant)
        lines.append("(?:.*\n)*?" if line == "..." else shaped + "\n")
    return re.compile("".join(lines))


@pytest.fixture
def fresh(shared: Agent) -> Iterator[Agent]:
    """A user without a session; what the test opens is closed again."""
    yield shared
    for session in shared.ask("list"):
        shared.ask("kill", id=session["id"])


def bash(agent: Agent, script: str, where: Path, *options: str) -> tuple[int, str]:
    """Run a block as an agent would; return its status and all that it printed, in order."""
    path = os.pathsep.join([os.path.dirname(sys.executable), agent.env["PATH"]])
    env = {**agent.env, "PATH": path}
    env.pop("K_SESSION", None)
    done = subprocess.run(
        # `timeout` ends the group; otherwise a monitor that never returns would keep the pipe.
        ["timeout", "60", "bash", *options, "-c", script],
        cwd=where,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


def need(script: str) -> None:
    """Skip where a program that the block names is missing."""
    named = set(re.findall(r"[\w-]+", script))
    missing = [name for name in PROGRAMS if name in named and shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.mark.parametrize("pattern", [pytest.param(p, id=p.heading) for p in patterns(EXAMPLES)])
def test_a_pattern_prints_what_it_says(pattern: Pattern, fresh: Agent, tmp_path: Path) -> None:
    """
    Each pattern, run without a session in an empty directory, prints what stands below it.
    """
    need(pattern.script)

    _, printed = bash(fresh, pattern.script, tmp_path)

    assert shape_of(pattern.expected).fullmatch(printed), f"printed instead:\n{printed}"


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("one\n", "one\ntwo\n"),
        ("one\ntwo\n", "one\n"),
        ("cell <id>\n", "cell 0123456789a\n"),
        ("a.c\n", "abc\n"),
        ("...\nend\n", "begin\nend"),
        ("one...\n", "one and more\n"),
    ],
)
def test_another_output_is_no_match(expected: str, printed: str) -> None:
    """
    The comparison tells a missing, an additional and a different line.
    """
    assert shape_of(expected).fullmatch(printed) is None


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("one\n...\nend\n", "one\nend\n"),
        ("...\nend\n", "1\n\n3\nend\n"),
        ('"<id>" (<port>)\n', '"0123456789ab" (80)\n'),
    ],
)
def test_what_differs_each_time_matches(expected: str, printed: str) -> None:
    """
    Dots stand for any number of lines, names in angle brackets for what varies.
    """
    assert shape_of(expected).fullmatch(printed)


# -- SKILL.md


def blocks(text: str) -> list[str]:
    """Return the sh blocks."""
    return re.findall(r"^```sh\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[str]:
    """Return everything written as a command: code within a line, and lines of sh blocks."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", prose) + "\n".join(blocks(text)).splitlines()


def test_the_skill_is_short_and_says_when_it_is_for() -> None:
    """
    An agent pays for every line, and finds the skill by its description.
    """
    assert len(SKILL.splitlines()) <= 120
    assert re.match(r"---\nname: agent-pty\ndescription: .+\n---\n", SKILL)


@pytest.mark.parametrize("number", range(len(blocks(SKILL))))
def test_a_block_of_the_skill_runs(number: int, fresh: Agent, tmp_path: Path) -> None:
    """
    Every sh block of the skill succeeds as it stands, each of its commands included.
    """
    status, printed = bash(fresh, blocks(SKILL)[number], tmp_path, "-e", "-o", "pipefail")

    assert status == 0, printed


def test_trial_24_every_word_of_the_skill_is_run() -> None:
    """
    Each verb of `k` that the skill names stands in a block, and every block is run.
    """
    run = set(re.findall(r"^k ([a-z]+)", "".join(blocks(SKILL)), flags=re.MULTILINE))

    assert {one[1] for line in commands(SKILL) if (one := re.match(r"k ([a-z]+)", line))} <= run
    assert {"run", "answer", "keys", "wait", "batch", "peek"} <= run


def test_trial_24_the_skill_is_shorter_than_it_was() -> None:
    """
    An agent pays for each byte of the skill: new words replace old ones.
    """
    assert len(SKILL.encode()) < 6174


def test_every_word_of_k_in_the_skill_exists() -> None:
    """
    Each verb of `k` that the skill names is one, with the options that it is named with.
    """
    named = [re.match(r"k ([a-z]+)((?: -[a-z](?: \d+| N)?)*)", one) for one in commands(SKILL)]
    used = {(one[1], option) for one in named if one for option in ["", *one[2].split()]}
    options = {(verb, word) for verb, word in used if re.fullmatch("-[a-z]", word)}

    assert {verb for verb, _ in used} <= _VERBS.keys()
    everywhere = {(verb, option) for verb in _VERBS for option in ("-j", "-m")}
    for verb, option in options - everywhere:
        assert re.search(rf"^  k {verb} .*\[{option}\b", K_HELP, flags=re.MULTILINE), option
    assert ("run", "-u") in options, "nothing was found, so nothing was checked"


def test_every_command_of_agent_pty_in_the_skill_exists(shared: Agent) -> None:
    """
    Each subcommand that the skill names explains itself, and knows the options it is named with.
    """
    named = [one.split() for one in commands(SKILL) if re.match(r"agent-pty [a-z]", one)]
    used: dict[str, set[str]] = {}
    for _, command, *words in named:
        used.setdefault(command, set()).update(one for one in words if one.startswith("--"))

    assert "--all" in used["skill"], "nothing was found, so nothing was checked"
    for command, options in used.items():
        shown = shared.cli(command, "--help")
        assert shown.returncode == 0, command
        assert options <= set(re.findall(r"--[a-z-]+", shown.stdout)), command


def test_the_command_prints_what_is_installed(shared: Agent) -> None:
    """
    `agent-pty skill` prints the skill; with --all, the patterns too.
    """
    assert shared.cli("skill").stdout == SKILL
    assert shared.cli("skill", "--all").stdout == f"{SKILL}\n{EXAMPLES}"
