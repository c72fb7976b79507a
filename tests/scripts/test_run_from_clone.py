"""`scripts/k` and `scripts/km`: the commands of a clone, before anything is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_pty.words.help import K_HELP, KM_HELP
from support.agent import Agent

ROOT = Path(__file__).parents[2]
# In the place of make: it takes part in the setup and says what it was asked for.
MAKE = """\
#!/bin/sh
echo "make $*"
mkdir -p {clone}/.venv/bin
cp {clone}/installed {clone}/.venv/bin/k
touch {clone}/.venv/.stamp
echo made >> {clone}/made
"""
INSTALLED = '#!/bin/sh\nprintf "<%s>" "$@"\n'


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone without `.venv`."""
    for name in ("scripts", "src"):
        shutil.copytree(ROOT / name, tmp_path / "clone" / name, symlinks=True)
    return tmp_path / "clone"


def run(path: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script to its end."""
    return subprocess.run(
        [path, *words],
        cwd="/",
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def plant_make(clone: Path) -> dict[str, str]:
    """Put a `make` on PATH that installs a `k`."""
    (clone / "installed").write_text(INSTALLED)
    (clone / "installed").chmod(0o755)
    (clone / "bin").mkdir()
    (clone / "bin/make").write_text(MAKE.format(clone=clone))
    (clone / "bin/make").chmod(0o755)
    return {"PATH": f"{clone}/bin:{os.environ['PATH']}"}


@pytest.mark.parametrize(("program", "text"), [("k", K_HELP), ("km", KM_HELP)])
@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_trial_29_help_needs_no_installation(
    clone: Path, program: str, text: str, words: list[str]
) -> None:
    """
    It is printed at once, through a link too, and leaves nothing in the clone.
    """
    (clone.parent / program).symlink_to(clone / "scripts" / program)

    direct = run(clone / "scripts" / program, *words)
    linked = run(clone.parent / program, *words)

    assert (direct.returncode, direct.stdout, direct.stderr) == (0, text, "")
    assert linked.stdout == text
    assert sorted(path.name for path in clone.iterdir()) == ["scripts", "src"]


def test_trial_29_the_first_call_sets_up(clone: Path) -> None:
    """
    It makes `.venv` and then does what it was asked for; only that is on standard output.
    """
    env = plant_make(clone)
    (clone.parent / "linked").symlink_to(clone / "scripts/k")

    first = run(clone.parent / "linked", "run", "-j", "a b", "", **env)
    second = run(clone / "scripts/k", "ls", **env)

    assert (first.returncode, first.stdout) == (0, "<run><-j><a b><>")
    assert f"making {clone}/.venv, once\n" in first.stderr
    assert f"make --no-print-directory -C {clone} setup" in first.stderr
    assert (second.stdout, second.stderr) == ("<ls>", "")


def test_trial_29_calls_at_once_set_up_once(clone: Path) -> None:
    """
    An agent may begin with several calls; one of them makes `.venv`, the others wait.
    """
    if shutil.which("flock") is None:
        pytest.skip("flock is not installed")
    env = {**os.environ, **plant_make(clone)}

    calls = [
        subprocess.Popen([clone / "scripts/k", "ls"], env=env, stdout=-1, stderr=-1)
        for _ in range(4)
    ]
    said = [call.communicate()[0] for call in calls]

    assert said == [b"<ls>"] * 4
    assert (clone / "made").read_text() == "made\n"


def test_trial_29_a_setup_that_fails_is_reported(clone: Path) -> None:
    """
    Nothing is run then, and the status is not 0.
    """
    env = plant_make(clone)
    (clone / "bin/make").write_text("#!/bin/sh\necho no Python here >&2\nexit 2\n")

    done = run(clone / "scripts/k", "ls", **env)

    assert done.returncode == 2
    assert done.stdout == ""
    assert "no Python here" in done.stderr


def test_trial_29_the_commands_work(clone: Path, agent: Agent) -> None:
    """
    Sessions of a clone are sessions like all others.
    """
    (clone / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        (clone / ".venv" / path.name).symlink_to(path)
    if not (clone / ".venv/.stamp").exists():  # an environment that make did not make
        (clone / ".venv/.stamp").touch()

    made = run(clone / "scripts/k", "new", "work", "bash", **agent.env)
    said = run(clone / "scripts/k", "run", "work", "echo hi", **agent.env)

    assert made.returncode == 0, made.stderr
    assert said.stdout == "hi\n"
