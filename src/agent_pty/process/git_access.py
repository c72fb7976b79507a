"""Git for one work tree, through a git directory of ours that is there as long as it is used."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass

from agent_pty.core.evidence.git_config import Settings, filters, private_config
from agent_pty.process.bounded_run import Bounds
from agent_pty.process.git_private_directory import fill, temporary_directory
from agent_pty.process.git_program import PATH, Git
from agent_pty.process.git_reftable import fill_for_reftable, has_reftable, reftable_head
from agent_pty.process.git_work_tree import (
    CannotLook,
    Head,
    WorkTree,
    head,
    repository_settings,
    user_settings,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What git is run with: *scratch* is where our directories are made for the time being."""

    program: str
    scratch: str
    home: str
    bounds: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Git for a work tree, what is checked out there, and the filters that would run programs."""

    git: Git
    head: Head
    filters: set[str]


def found_git(path: str = PATH) -> str:
    """Return the git program; raise `CannotLook` if there is none."""
    program = shutil.which("git", path=path)
    if program is None:
        raise CannotLook(f"git is not installed, at least not in {path}")
    return program


def means(scratch: str, bounds: Bounds, *, home: str | None = None, path: str = PATH) -> Means:
    """Return what git is run with; *home* is where the user's own settings and excludes are."""
    user = os.path.expanduser("~") if home is None else home
    return Means(program=found_git(path), scratch=scratch, home=user, bounds=bounds)


@contextlib.contextmanager
def opened(tree: WorkTree, given: Means, *, objects: str | None = None) -> Iterator[Opened]:
    """Yield git for a work tree; with *objects*, what git writes goes into that directory."""
    repository = repository_settings(tree)
    user = user_settings(given.home)
    config = private_config(user, repository, _paths({**user, **repository}, given.home))
    at = _head(tree, repository, given)
    with temporary_directory(given.scratch) as place:
        fill(place, tree, at, config=config, until=given.bounds.until)
        git = Git(
            program=given.program,
            directory=place,
            tree=tree,
            bounds=given.bounds,
            objects=objects,
        )
        yield Opened(git=git, head=at, filters=filters(user, repository))


def seconds_from_now(seconds: float, *, kept: int, read: int) -> Bounds:
    """Return bounds that begin now."""
    return Bounds(kept=kept, read=read, until=time.monotonic() + seconds)


def _head(tree: WorkTree, repository: Settings, given: Means) -> Head:
    if not has_reftable(repository):
        return head(tree)
    with temporary_directory(given.scratch) as place:
        fill_for_reftable(place, tree, repository)
        return reftable_head(
            Git(program=given.program, directory=place, tree=tree, bounds=given.bounds)
        )


def _paths(settings: Settings, home: str) -> Settings:
    """Return where the patterns are that the user has for all repositories."""
    return {
        f"core.{name}file": _path(settings.get(f"core.{name}file", ""), home)
        or os.path.join(home, ".config", "git", default)
        for name, default in (("excludes", "ignore"), ("attributes", "attributes"))
    }


def _path(named: str, home: str) -> str | None:
    whole = os.path.join(home, named[2:]) if named.startswith("~/") else named
    return whole if os.path.isabs(whole) else None
