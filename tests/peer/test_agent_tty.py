"""The original's own black-box tests, run against our `k`.

Its source distribution is fetched by name and version and is no part of this project. There is no
tmux on the PATH but one that refuses: whoever needed it would fail. `PEER_ROUNDS=20` repeats them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.agent import Agent

pytestmark = [pytest.mark.peer, pytest.mark.timeout(3600)]

_SOURCE = "agent-tty==0.1.0"
_ROUNDS = range(int(os.environ.get("PEER_ROUNDS", "1")))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetch and unpack the original."""
    folder = tmp_path_factory.mktemp("agent-tty")
    fetch = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", _SOURCE]
    subprocess.run([sys.executable, *fetch, "-d", str(folder)], check=True)
    (archive,) = folder.glob("*.tar.gz")
    subprocess.run(["tar", "xzf", str(archive), "-C", str(folder)], check=True)
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return unpacked


@pytest.fixture
def env(agent: Agent, tmp_path: Path) -> dict[str, str]:
    """Put our `k` on the PATH, and a tmux that refuses."""
    tmux = tmp_path / "tmux"
    tmux.write_text("#!/bin/sh\nexit 1\n")
    tmux.chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{agent.env['PATH']}"
    return {**agent.env, "PATH": path}


@pytest.mark.parametrize("number", _ROUNDS)
def test_its_suite_passes_but_for_its_own_watcher(
    source: Path, env: dict[str, str], number: int
) -> None:
    """
    All of tests/test.sh holds, except `orphan`, which kills a process that only the original has.
    """
    del number
    done = subprocess.run(
        ["bash", "tests/test.sh", "k"],
        cwd=source,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert re.findall(r"✗ (\S+)", done.stdout) == ["orphan"], done.stdout + done.stderr
    passed = re.search(r"(\d+) passed, 1 failed", done.stdout)
    assert passed is not None, done.stdout
    assert int(passed[1]) >= 31, done.stdout


@pytest.mark.parametrize("number", _ROUNDS)
def test_its_regressions_stay_cured(source: Path, env: dict[str, str], number: int) -> None:
    """
    All of tests/test_regressions.py holds: timeouts keep the lock, ids do not lie, hooks work.
    """
    del number
    done = subprocess.run(
        [sys.executable, "tests/test_regressions.py", "k"],
        cwd=source,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "11 passed, 0 failed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
