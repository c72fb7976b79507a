"""Which files of the log directory belong to a session instance, and how large they are.

A file belongs to an instance if its name is the stem of the instance's journal (`<name>` or
`<name>.<instance>`) and the ending below, whole. Of two stems that fit, the longer one owns the
file: `a.b.jsonl.torn-1` is that of session `a.b`, never of `a`. The recording has a directory of
its own, which is named by the instance.
"""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent_pty.store.journal_files import ENDING, locate, names_of
from agent_pty.store.recording import directory_of

# Beside the journal: ends of it that were torn.
_ENDINGS = re.compile(r"\.jsonl\.torn-\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFiles:
    """The files of an instance; *journal* is None if it is gone, *changed* when it was written.

    *recording* is the directory of its recording, whether there is one or not.
    """

    recording: str
    journal: str | None = None
    others: tuple[str, ...] = ()
    size: int = 0
    changed: float = 0.0

    @property
    def paths(self) -> tuple[str, ...]:
        """All files; the journal last, so that what is left of a removal is still found by it."""
        return (*self.others, self.journal) if self.journal is not None else self.others


def survey(directory: str, sessions: Iterable[tuple[str, str]]) -> dict[str, InstanceFiles]:
    """Return the files of sessions, given by name and instance, also of those that run."""
    known = list(sessions)
    located = locate(directory, known).paths
    sizes = dict(_files(directory))
    stems = {name.removesuffix(ENDING) for name in names_of(directory)} | {
        name for name, _ in known
    }
    of_stem: defaultdict[str, list[str]] = defaultdict(list)
    for name in sizes:
        stem = None if name.endswith(ENDING) else _stem(name, stems)
        if stem is not None:
            of_stem[stem].append(name)
    found = {}
    for _, instance in known:
        journal = located.get(instance)
        file = os.path.basename(journal) if journal is not None else ""
        others = sorted(of_stem[file.removesuffix(ENDING)]) if file else []
        size, changed = sizes.get(file, (0, 0.0))
        recording = directory_of(directory, instance)
        shown = sorted(_files(recording)) if os.path.isdir(recording) else []
        found[instance] = InstanceFiles(
            recording=recording,
            journal=journal,
            others=(
                *(f"{directory}/{one}" for one in others),
                *(f"{recording}/{one}" for one, _ in shown),
            ),
            size=size + sum(sizes[one][0] for one in others) + sum(one[0] for _, one in shown),
            changed=changed,
        )
    return found


def _stem(name: str, stems: set[str]) -> str | None:
    """Return the longest stem that owns a file; None: the file is nobody's."""
    dot = len(name)
    while (dot := name.rfind(".", 0, dot)) > 0:
        if name[:dot] in stems and _ENDINGS.fullmatch(name, dot):
            return name[:dot]
    return None


def _files(directory: str) -> Iterator[tuple[str, tuple[int, float]]]:
    """Yield names, sizes and times of the ordinary files of a directory."""
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # it was removed meanwhile
            if stat.S_ISREG(found.st_mode):
                yield entry.name, (found.st_size, found.st_mtime)
