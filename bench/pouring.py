"""Large outputs: files of numbered lines, the command that shows one, the test of what came."""

from __future__ import annotations

import os
import random

# Not in the echo of the command, which has the sum.
END = "end-42."
_WORDS = ("error", "warning", "compiling", "linking", "test", "ok", "src/main.rs", "finished")


def write(path: str, megabytes: int, *, colours: bool = False) -> str:
    """Write a file of lines as a build writes them; no two are alike."""
    some = random.Random(1)  # noqa: S311  the same text in every run
    left, number = megabytes * 1_000_000, 0
    with open(path, "w", encoding="ascii") as file:
        while left > 0:
            number += 1
            words = some.choices(_WORDS, k=some.randrange(3, 12))
            if colours:
                words = [f"\x1b[3{some.randrange(8)}m{word}\x1b[0m" for word in words]
            left -= file.write(f"{number:08d} {' '.join(words)}\n")
        # Or the disk would still be busy with it while the first contestant is measured.
        file.flush()
        os.fsync(file.fileno())
    return path


def show(path: str) -> str:
    """Return the shell command that shows a file and says that it ends."""
    return f"cat {path}; echo end-$((40+2))."


def exact(text: str, path: str) -> bool:
    """Whether a text has the file within it, byte for byte, but for the line ends of a terminal."""
    with open(path, encoding="ascii") as file:
        wanted = file.read()
    return wanted in text.replace("\r\n", "\n")


def size(path: str) -> float:
    """Return the size of a file in MB."""
    return os.path.getsize(path) / 1e6
