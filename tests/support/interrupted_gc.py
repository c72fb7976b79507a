"""Run `gc` again and again, and end its process at each call that changes a file, one by one.

`python -m support.interrupted_gc DIRECTORY` prints a line of JSON for each. The process that forks
has one thread: others would be missing in its children.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_pty.store.export import BadExport
from agent_pty.store.verification import verified
from support.gc_scene import GcScene

_CHANGES = (
    *("mkdir", "rename", "replace", "unlink", "rmdir", "write", "fsync", "fdatasync", "ftruncate"),
)
_KILLED = 9


def main(directory: Path) -> None:
    """Interrupt at call 1, 2, 3 ... until a gc has come to its end."""
    first = directory / "first"
    in_child(lambda: prepared(first))
    step, completed = 0, False
    while not completed:
        step += 1
        home, archive = directory / f"home-{step}", directory / f"archive-{step}"
        shutil.copytree(first, home)
        completed = in_child(functools.partial(interrupted, home, archive, step)) == 0
        in_child(functools.partial(report, home, archive, step, completed=completed))


def in_child(work: Callable[[], None]) -> int:
    """Return the exit status of a process of its own that does this."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  a test reads it
            print(f"{error!r}", file=sys.stderr)  # noqa: T201
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def prepared(home: Path) -> None:
    """Make a past session with a recording, and its neighbour that still runs."""
    scene = GcScene(home)
    scene.past("work", "one")
    scene.evidence.record("one")
    scene.evidence.session("next", "two")


def opened(home: Path) -> GcScene:
    """Return a home as the next daemon finds it."""
    scene = GcScene(home)
    scene.find("next", "two")
    return scene


def interrupted(home: Path, archive: Path, step: int) -> None:
    """Carry out a gc, and vanish at a call that changes a file, before it is done."""
    scene = opened(home)
    left = step

    def count_down() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os._exit(_KILLED)

    for name in _CHANGES:
        setattr(os, name, vanishing(getattr(os, name), count_down))
    scene.collect(larger_than=0, export=str(archive))


def vanishing(call: Callable[..., Any], count_down: Callable[[], None]) -> Callable[..., Any]:
    """Return a function that counts, and then calls."""

    def counted(*what: Any, **more: Any) -> Any:
        count_down()
        return call(*what, **more)

    return counted


def report(home: Path, archive: Path, step: int, *, completed: bool) -> None:
    """Say what is left, then go on as the next daemon would, and say what is left then."""
    scene = opened(home)
    signed = scene.evidence.signed()
    found: dict[str, Any] = {
        "step": step,
        "completed": completed,
        "journal": journal(scene, "work.jsonl"),
        "neighbour": journal(scene, "next.jsonl"),
        "copy": copy(scene, archive / "one"),
        "removal": signed.removal_of("one") is not None,
        "chain": signed.broken,
    }
    scene.collect(larger_than=0, export=str(archive))
    found["then"] = {
        "files": scene.files(),
        "index": scene.indexed(),
        "copy": copy(scene, archive / "one"),
    }
    print(json.dumps(found))  # noqa: T201


def journal(scene: GcScene, name: str) -> str | None:
    """Return what a check of a journal says; None: it is gone."""
    path = scene.evidence.logs / name
    return verified(str(path), scene.evidence.signed()).verdict.result if path.exists() else None


def copy(scene: GcScene, directory: Path) -> str | None:
    """Return what a check of an export says; None: there is none."""
    try:
        return scene.exported(directory) if directory.exists() else None
    except BadExport as bad:
        return str(bad)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
