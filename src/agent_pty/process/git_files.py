"""Which files of a work tree belong to a fork: all but the ignored ones, as git lists them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from agent_pty.process.git_program import Git

_SUBMODULE = b"160000"
_LIST = ("ls-files", "-z", "--full-name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Relative paths; *repositories* are submodules and other repositories inside the tree.

    Of an *ignored* directory only its own name is there.
    """

    paths: list[str]
    repositories: list[str]
    ignored: list[str]


def carried_files(git: Git) -> Files:
    """List tracked and untracked files; a tracked one need not exist any more."""
    tracked, others, ignored = git.run(
        [*_LIST, "--stage"],
        [*_LIST, "--others", "--exclude-standard"],
        [*_LIST, "--others", "--exclude-standard", "--ignored", "--directory"],
    )
    paths, repositories = dict[str, None](), dict[str, None]()
    for line in tracked.kept.split(b"\0"):
        facts, _, name = line.partition(b"\t")
        if name:
            kind = repositories if facts.startswith(_SUBMODULE) else paths
            kind[os.fsdecode(name)] = None
    for name in others.kept.split(b"\0"):
        if name.endswith(b"/"):
            repositories[os.fsdecode(name.rstrip(b"/"))] = None
        elif name:
            paths[os.fsdecode(name)] = None
    return Files(
        paths=list(paths),
        repositories=list(repositories),
        ignored=[name.decode(errors="replace") for name in ignored.kept.split(b"\0") if name],
    )
