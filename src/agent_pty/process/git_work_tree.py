"""Where a git work tree and its repository are, and what HEAD is: found by reading files.

No git is started for this: it would read the repository's configuration, which may name programs.
What lies there was written by others, so each file is read up to a bound, and only if it is one: a
named pipe would never end.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from agent_pty.core.evidence.git_config import is_true, parsed, unknown_format
from agent_pty.core.evidence.git_snapshot import Skipped

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOST = 1 << 19
_MOST_REFERENCES = 1 << 26
_MOST_STEPS = 5
_COMMIT = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\s*")
_REFERENCE = re.compile(rb"ref:\s*(refs/[^\0-\x20\x7f]+)\s*")


class CannotLook(Exception):
    """The repository is not one that can be looked at, or not now; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTree:
    """A directory in a work tree, the tree's top, and the two directories of its repository.

    They differ in a linked work tree: index and HEAD are its own, everything else is common.
    """

    workspace: str
    root: str
    git_directory: str
    common_directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What is checked out; no commit: the branch is still unborn, no branch: it is detached."""

    commit: str | None
    branch: str | None


def work_tree(directory: str) -> WorkTree | Skipped | None:
    """Find the work tree that a directory is in, as git would; None: it is in no repository."""
    try:
        return _found(directory)
    except (CannotLook, OSError) as error:
        return Skipped(why=str(error))


def _found(directory: str) -> WorkTree | None:
    top = os.path.realpath(directory, strict=True)
    device = os.stat(top).st_dev
    while os.stat(top).st_dev == device:  # as git, stay in the file system
        git_directory = _git_directory(top)
        if git_directory is not None:
            common = _common_directory(git_directory)
            return WorkTree(
                workspace=directory,
                root=top,
                git_directory=git_directory,
                common_directory=common,
            )
        if _is_git_directory(top):
            raise CannotLook(f"{top} is a git directory without a work tree")
        if top == os.path.dirname(top):
            break
        top = os.path.dirname(top)
    return None


def _git_directory(top: str) -> str | None:
    path = os.path.join(top, ".git")
    if os.path.isdir(path):
        return os.path.realpath(path) if _is_git_directory(path) else None
    text = _file(path)
    if text is None:
        return None
    if not text.startswith(b"gitdir: "):
        raise CannotLook(f"{path} does not begin with 'gitdir: '")
    named = os.path.join(top, os.fsdecode(text[8:].rstrip(b"\r\n")))
    if not _is_git_directory(named):
        raise CannotLook(f"{path} names {named}, which is no git directory")
    return os.path.realpath(named)


def _is_git_directory(path: str) -> bool:
    # A look into every parent directory: the cheap question comes first.
    if not os.path.lexists(os.path.join(path, "HEAD")):
        return False
    common = _common_directory(path)
    return all(os.path.isdir(os.path.join(common, name)) for name in ("objects", "refs"))


def _common_directory(git_directory: str) -> str:
    text = _file(os.path.join(git_directory, "commondir"))
    if text is None:
        return git_directory
    return os.path.realpath(os.path.join(git_directory, os.fsdecode(text.rstrip(b"\r\n"))))


def repository_settings(tree: WorkTree) -> dict[str, str]:
    """Return the configuration of a repository; raise `CannotLook` if it is of an unknown kind."""
    settings = _settings(os.path.join(tree.common_directory, "config"))
    own: dict[str, str] = {}
    if is_true(settings, "extensions.worktreeconfig"):
        own = _settings(os.path.join(tree.git_directory, "config.worktree"))
    unknown = unknown_format(settings)
    if unknown is not None:
        raise CannotLook(f"the repository's format is not known here: {unknown}")
    # In a linked work tree these two of the common file concern the main one.
    linked = tree.git_directory != tree.common_directory
    _check_place(tree, own if linked else {**settings, **own})
    return {**settings, **own}


def _check_place(tree: WorkTree, settings: dict[str, str]) -> None:
    elsewhere = settings.get("core.worktree")
    if elsewhere is not None:
        named = os.path.realpath(os.path.join(tree.git_directory, elsewhere))
        if named != tree.root:
            raise CannotLook(f"the work tree of {tree.git_directory} is {named} (core.worktree)")
    elif is_true(settings, "core.bare"):
        raise CannotLook(f"{tree.git_directory} is a bare repository")


def user_settings(home: str) -> dict[str, str]:
    """Return the configuration that a user has for all repositories."""
    places = (".config/git/config", ".gitconfig")
    return {
        name: value
        for place in places
        for name, value in _settings(os.path.join(home, place)).items()
    }


def _settings(path: str) -> dict[str, str]:
    return parsed(os.fsdecode(_file(path) or b""))


def head(tree: WorkTree) -> Head:
    """Resolve HEAD; raise `CannotLook` if it names no commit and no branch."""
    text = _file(os.path.join(tree.git_directory, "HEAD"))
    if text is None:
        raise CannotLook(f"{tree.git_directory} has no HEAD")
    branch = None
    for _ in range(_MOST_STEPS):
        if text is None:
            return Head(commit=None, branch=branch)
        commit = _COMMIT.fullmatch(text)
        if commit is not None:
            return Head(commit=commit[1].decode(), branch=branch)
        reference = _REFERENCE.fullmatch(text)
        if reference is None or b".." in reference[1]:
            break
        branch = reference[1].removeprefix(b"refs/heads/").decode(errors="replace")
        text = _reference(tree, reference[1])
    raise CannotLook(f"HEAD of {tree.git_directory} names no commit: {(text or b'')[:80]!r}")


def _reference(tree: WorkTree, name: bytes) -> bytes | None:
    loose = _file(os.path.join(tree.common_directory, os.fsdecode(name)))
    if loose is not None:
        return loose
    packed = _file(os.path.join(tree.common_directory, "packed-refs"), most=_MOST_REFERENCES)
    before, found, _ = ((packed or b"") + b"\n").partition(b" " + name + b"\n")
    return before[before.rfind(b"\n") + 1 :] if found else None


def _file(path: str, *, most: int = _MOST) -> bytes | None:
    """Read a small file; None if there is none."""
    handle = regular_file(path)
    if handle is None:
        return None
    with open(handle, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise CannotLook(f"{path} is larger than {most} bytes")
    return data


def regular_file(path: str) -> int | None:
    """Open a file for reading; None if there is none. Never wait, whatever stands there."""
    try:
        handle = os.open(path, _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    if stat.S_ISDIR(mode):
        return None
    raise CannotLook(f"{path} is not a regular file")
