"""What evidence costs: output and `k run` in a large repository, beside a build without it.

Without an earlier build to compare with, the other is our own that records no terminals: then the
figures are the cost of the recording alone, because a journal is always written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bench import pouring
from bench.contestant import Contestant, Measure
from bench.ground import Ground, say
from bench.our_k import OurK
from bench.ours import PROGRAMS, ours
from bench.place import Place
from bench.rows import drain, rounds
from bench.rows.rounds import Timed
from bench.series import Result

_FILES = 5_000
_CHANGED = 3
_AN_HOUR = 3600
# What a build does after its turn is not to be in the other's: at most two seconds after input it
# looks at the work tree, and it compresses what it has recorded.
_REST_SECONDS = 3.0
_NO_RECORDING = '[recording]\nbudget = "0"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Build:
    """One side of the comparison; *wait* are fields of `wait` that the build understands."""

    name: str
    note: str
    wait: dict[str, Any]
    programs: str = PROGRAMS
    config: str = ""


def run(ground: Ground) -> list[Result]:
    """Measure with evidence and without, in turns."""
    if shutil.which("git") is None:
        say("without evidence: there is no git")
        return []
    # The answer of a wait would else be held back for a look at the work tree, up to 0.1 s.
    us = _Build(name="ours", note="", wait={"files": False})
    before = _before(ground.earlier, us)
    with contextlib.ExitStack() as stack:
        repo, paths = _repository(ground.place), _outputs(ground)
        with_, without = (
            stack.enter_context(_contestant(one, ground, repo, paths)) for one in (us, before)
        )
        inner = replace(ground, cli=with_, peers=[without])
        results = [found for row in _rows(ground) for found in rounds.run(row, inner)]
    return [_noted(one, before.note) for one in results]


def _rows(ground: Ground) -> tuple[Timed, ...]:
    size = _megabytes(ground)
    return (
        Timed(key="plain", title=f"evidence, {size} MB plain", full=5, quick=1),
        Timed(key="colours", title=f"evidence, {size} MB colours", full=5, quick=1),
        Timed(key="k_runs", title="evidence, k run", full=6, quick=1),
    )


def _megabytes(ground: Ground) -> int:
    return ground.pick(50, 10)


def _outputs(ground: Ground) -> dict[str, str]:
    """Write what is shown; return the files by row."""
    return {
        key: pouring.write(
            os.path.join(ground.place.path, f"evidence-{key}.txt"),
            _megabytes(ground),
            colours=key == "colours",
        )
        for key in ("plain", "colours")
    }


def _before(earlier: str | None, us: _Build) -> _Build:
    if earlier is None:
        note = "this build, nothing recorded of terminals"
        return replace(us, name="no recording", note=note, config=_NO_RECORDING)
    return _Build(name="earlier", note=f"the build in {earlier}", wait={}, programs=earlier)


def _noted(result: Result, note: str) -> Result:
    return replace(result, peers=[replace(one, note=note) for one in result.peers])


@contextlib.contextmanager
def _contestant(
    build: _Build, ground: Ground, repo: str, paths: Mapping[str, str]
) -> Iterator[Contestant]:
    """Start a daemon of a build, with a shell for cells in the repository."""
    runs = ground.pick(100, 10)
    with (
        ours(ground.place, build.programs, config=build.config) as us,
        us.connect() as connection,
    ):
        k_run = OurK(us, repo).timed()["k_run"]

        def show(path: str) -> float:
            return drain.emptied(connection, ground.place, path, repo=repo, **build.wait)

        yield Contestant(
            name=build.name,
            timed={
                **{key: _rested(partial(show, path)) for key, path in paths.items()},
                # Many in a row: what is put off or shared, as the looks at the tree, is in it.
                "k_runs": _rested(lambda: sum(k_run() for _ in range(runs)) / runs),
            },
        )


def _rested(measure: Measure) -> Measure:
    def measured() -> float:
        taken = measure()
        threading.Event().wait(_REST_SECONDS)
        return taken

    return measured


def _repository(place: Place) -> str:
    """Make a git repository; some of its files differ from the last commit."""
    repo = place.folder()
    paths = [os.path.join(repo, f"part-{n % 50:02}", f"file-{n:04}.py") for n in range(_FILES)]
    for number, path in enumerate(paths):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(path, f"VALUE = {number}\n" * 20)
        # As old as files are as a rule: git reads a file again that is as young as its index.
        long_ago = time.time() - _AN_HOUR
        os.utime(path, (long_ago, long_ago))
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for words in (["init"], ["add", "."], [*who, "commit", "--message", "All of it"]):
        argv = ["git", "-C", repo, *words]
        subprocess.run(argv, env=place.env, capture_output=True, check=True)
    for path in paths[:_CHANGED]:
        _write(path, "VALUE = 0\n")
    return repo


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
