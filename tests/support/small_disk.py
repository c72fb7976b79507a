"""A small disk of its own: a tmpfs that a test can fill and free."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_BLOCK = bytes(4096)


class SmallDisk:
    """A mounted disk; everything below *path* shares its few megabytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"
        self._files = path / "files"

    def fill(self, *, leave: int = 0) -> None:
        """Leave no room for a single block, or for *leave* of them."""
        with self._filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(_BLOCK)
        assert os.statvfs(self.path).f_bavail == 0
        os.truncate(self._filler, self._filler.stat().st_size - leave * len(_BLOCK))

    def fill_with_files(self) -> None:
        """Leave no room for another file, however small."""
        self._files.mkdir()
        with contextlib.suppress(OSError):
            for number in itertools.count():
                (self._files / str(number)).touch()
        assert os.statvfs(self.path).f_favail == 0

    def free(self) -> None:
        """Make room again."""
        self._filler.unlink(missing_ok=True)
        shutil.rmtree(self._files, ignore_errors=True)


@contextlib.contextmanager
def small_disk(megabytes: int, *, files: int = 200) -> Iterator[SmallDisk]:
    """Mount a disk; skip the test where that is not allowed."""
    # Not tmp_path: a socket's path may have 107 bytes.
    place = tempfile.mkdtemp(prefix="ap-")
    options = f"size={megabytes}m,nr_inodes={files},mode=700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        if mounted.returncode:
            pytest.skip(f"mounting a tmpfs is not allowed here: {mounted.stderr.strip()}")
        yield SmallDisk(Path(place))
    finally:
        if not mounted.returncode:
            # Lazily: a process that was killed just now may still have its log open.
            subprocess.run(["umount", "--lazy", place], check=True)
        os.rmdir(place)
