"""The machine and the moment: what a figure means only together with."""

from __future__ import annotations

import os
import platform
import subprocess
from typing import Any

from bench.install import ROOT


def describe() -> dict[str, Any]:
    """Return what does not change during a run."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        "changed_files": len(_git("status", "--porcelain").splitlines()),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "tmux": _output("tmux", "-V"),
    }


def load() -> list[float]:
    """Return the load averages of 1, 5 and 15 minutes."""
    return [round(one, 2) for one in os.getloadavg()]


def _git(*words: str) -> str:
    return _output("git", "-C", ROOT, *words)


def _output(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
