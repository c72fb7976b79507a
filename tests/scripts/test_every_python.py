"""How our scripts find a Python, and try us on each one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BROKEN = "#!/bin/sh\necho 'pyenv: python3.13: command not found' >&2\nexit 127\n"


def plant(path: Path, text: str | None = None) -> str:
    """Write a program; without a text it is the Python that runs this test."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)


def find(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `find-python` where only what was planted can be found."""
    env = {
        "PATH": f"{tmp_path}/shims:{tmp_path}/bin",
        "HOME": str(tmp_path),
        "PYENV_ROOT": f"{tmp_path}/pyenv",
    }
    plant(tmp_path / "bin/grep", f'#!/bin/sh\nexec {shutil.which("grep")} "$@"\n')
    return run("/bin/sh", str(ROOT / "scripts/find-python"), *words, env=env)


def run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_trial_28_a_python_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    """
    A shim of pyenv stands first on PATH for every version and fails for most of them.
    """
    plant(tmp_path / "shims/python3.13", BROKEN)
    works = plant(tmp_path / "bin/python3.12")

    assert find(tmp_path).stdout == f"{works}\n"


def test_trial_28_a_python_may_be_asked_for_by_name(tmp_path: Path) -> None:
    """
    It need not be on PATH: pyenv keeps it elsewhere.
    """
    plant(tmp_path / "shims/python3.13", BROKEN)
    works = plant(tmp_path / "pyenv/versions/3.13.0/bin/python3.13")

    assert find(tmp_path, "python3.13").stdout == f"{works}\n"
    # The default does not change with what pyenv has.
    assert find(tmp_path).returncode != 0


def test_trial_28_every_version_is_listed_once(tmp_path: Path) -> None:
    """
    What is older than 3.11 cannot run us.
    """
    planted = [
        plant(tmp_path / "bin/python3.14"),
        plant(tmp_path / "pyenv/versions/3.12.1/bin/python3.12"),
        plant(tmp_path / "shims/python3.11"),
    ]
    plant(tmp_path / "bin/python3.11")
    plant(tmp_path / "bin/python3.9")

    assert find(tmp_path, "--all").stdout.splitlines() == planted


def test_trial_28_another_python_has_an_environment_of_its_own() -> None:
    """
    `make test PYTHON=python3.13` leaves `.venv` as it is.
    """
    if shutil.which("make") is None:
        pytest.skip("make is not installed")

    # What a make that runs these tests was given is not meant for ours.
    given = ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL", "PYTHON", "ARGS")
    env = {name: value for name, value in os.environ.items() if name not in given}

    planned = run("make", "-n", "test", "PYTHON=/opt/bin/python3.13", env=env).stdout
    usual = run("make", "-n", "test", env=env).stdout

    assert ".venv-python3.13/bin/pytest -q" in planned
    assert ".venv/bin/pytest -q" not in planned
    assert ".venv/bin/pytest -q" in usual


def test_trial_28_the_smoke_fails_loudly(tmp_path: Path) -> None:
    """
    The first step that fails is named with what it said, and ends the smoke.
    """
    plant(tmp_path / "python")
    plant(tmp_path / "agent-pty", '#!/bin/sh\n[ "$1" = stop ] && exit\necho out of order; exit 3\n')

    done = run("/bin/sh", "scripts/smoke", str(tmp_path), env=dict(os.environ))

    assert done.returncode == 1
    assert "FAILED  agent-pty --version\n  status 3," in done.stdout
    assert "said: out of order\n" in done.stdout
    assert "  ok" not in done.stdout
