"""A git repository for a test, made and asked by the real git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

GIT = shutil.which("git") or ""
# Where looks must find the same git.
PLACE = os.path.dirname(GIT)
needs_git = pytest.mark.skipif(not GIT, reason="git is not installed")


class Repository:
    """A work tree, and a user with a home of their own who works in it."""

    def __init__(self, path: Path, home: Path) -> None:
        self.path = path
        self.home = home
        path.mkdir(parents=True, exist_ok=True)
        home.mkdir(exist_ok=True)

    def git(self, *words: str, cwd: Path | None = None, ok: bool = True) -> bytes:
        """Run git as the user would, and return what it prints."""
        done = subprocess.run(
            [GIT, *words],
            cwd=cwd or self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0 or not ok, done.stderr.decode(errors="replace")
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        """The user's environment: an identity, and nothing of whoever runs the tests."""
        who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in _WHO}
        own = {"HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        return {"PATH": os.environ["PATH"], **own, **who}

    def init(self, *words: str) -> Repository:
        """Make an empty repository."""
        self.git("init", "--quiet", "--initial-branch=main", *words)
        return self

    def write(self, name: str, text: str) -> Path:
        """Write a file of the work tree."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, **files: str) -> Repository:
        """Commit files, by their names; a name ends in `.txt`."""
        for name, text in files.items():
            self.write(f"{name}.txt", text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=x")
        return self


_WHO = ("NAME", "EMAIL")
