"""The states that a work tree can be in: by its name, what brings a repository there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from support.agent import eventually
from support.git import Repository

_MOMENT = (1_000_000_000, 1_000_000_000)


def _clean(repository: Repository) -> None:
    assert repository.git("status", "--short") == b""


def _modified(repository: Repository) -> None:
    repository.write("a.txt", "changed\n")


def _staged(repository: Repository) -> None:
    repository.write("a.txt", "changed\n")
    repository.write("new.txt", "new\n")
    repository.git("add", "--all")


def _staged_and_modified(repository: Repository) -> None:
    _staged(repository)
    repository.write("a.txt", "changed again\n")


def _deleted(repository: Repository) -> None:
    (repository.path / "a.txt").unlink()
    repository.git("rm", "--quiet", "b.txt")


def _renamed(repository: Repository) -> None:
    repository.git("mv", "b.txt", "c d.txt")


def _untracked(repository: Repository) -> None:
    repository.write("new.txt", "x")
    repository.write("folder/new.txt", "x")


def _intended(repository: Repository) -> None:
    repository.write("new.txt", "x")
    repository.git("add", "--intent-to-add", "new.txt")


def _unmerged(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "other", "HEAD~1")
    repository.commit(a="another\n")
    repository.git("merge", "--quiet", "main", ok=False)


def _executable(repository: Repository) -> None:
    (repository.path / "a.txt").chmod(0o755)


def _executable_without_file_mode(repository: Repository) -> None:
    repository.git("config", "core.fileMode", "false")
    _executable(repository)


def _symbolic_link(repository: Repository) -> None:
    os.symlink("a.txt", repository.path / "link")
    repository.git("add", "link")
    (repository.path / "link").unlink()
    os.symlink("/etc/passwd", repository.path / "link")


def _carriage_returns(repository: Repository) -> None:
    repository.git("config", "core.autocrlf", "input")
    repository.write("a.txt", "one\r\nmore\r\n")
    repository.write("b.txt", "two\r\nthree\r\n")


def _carriage_returns_of_the_user(repository: Repository) -> None:
    repository.git("config", "--global", "core.autocrlf", "true")
    repository.write("a.txt", "one\r\nmore\r\n")


def _end_of_line_attribute(repository: Repository) -> None:
    repository.write(".gitattributes", "a.txt text eol=crlf\n")
    repository.write("a.txt", "one\r\nmore\r\n")


def _attributes_of_the_repository(repository: Repository) -> None:
    (repository.path / ".git/info/attributes").write_text("*.txt -diff\n")
    _modified(repository)


def _excluded(repository: Repository) -> None:
    _untracked(repository)
    (repository.path / ".git/info/exclude").write_text("folder\n")


def _excluded_by_file(repository: Repository) -> None:
    _untracked(repository)
    repository.write(".gitignore", "new.txt\n")


def _excluded_by_user(repository: Repository) -> None:
    _untracked(repository)
    ignore = repository.home / ".config/git/ignore"
    ignore.parent.mkdir(parents=True)
    ignore.write_text("new.txt\n")


def _excluded_by_a_file_that_the_user_names(repository: Repository) -> None:
    _untracked(repository)
    (repository.home / 'my "own"\\ excludes').write_text("folder\n")
    repository.git("config", "--global", "core.excludesFile", '~/my "own"\\ excludes')


def _untracked_files_not_wanted(repository: Repository) -> None:
    _untracked(repository)
    repository.git("config", "status.showUntrackedFiles", "no")


def _unborn(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--orphan", "fresh")


def _unborn_and_empty(repository: Repository) -> None:
    _unborn(repository)
    repository.git("rm", "--quiet", "-r", "--cached", ".")
    (repository.path / ".git/index").unlink()


def _detached(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--detach", "HEAD~1")
    _modified(repository)


def _packed_references(repository: Repository) -> None:
    repository.git("pack-refs", "--all")
    _modified(repository)


def _packed_objects(repository: Repository) -> None:
    repository.git("gc", "--quiet")
    _modified(repository)


def _split_index(repository: Repository) -> None:
    repository.git("update-index", "--split-index")
    _staged_and_modified(repository)
    assert list((repository.path / ".git").glob("sharedindex.*"))


def _fourth_version(repository: Repository) -> None:
    repository.git("update-index", "--index-version", "4")
    _staged_and_modified(repository)


def _untracked_cache(repository: Repository) -> None:
    repository.git("update-index", "--force-untracked-cache")
    _untracked(repository)
    repository.git("status")
    repository.write("folder/newer.txt", "x")
    repository.write("newest.txt", "x")


def _sparse(repository: Repository) -> None:
    repository.write("in/a.txt", "x")
    repository.write("out/a.txt", "x")
    repository.commit()
    repository.git("sparse-checkout", "set", "--cone", "in")
    repository.write("in/a.txt", "changed")


def _sparse_index(repository: Repository) -> None:
    _sparse(repository)
    repository.git("sparse-checkout", "reapply", "--sparse-index")


def _newer_submodule(repository: Repository) -> None:
    other = Repository(repository.path.parent / "other", repository.home).init().commit(a="x")
    allowed = ("-c", "protocol.file.allow=always")
    repository.git(*allowed, "submodule", "--quiet", "add", str(other.path), "sub")
    repository.commit()
    Repository(repository.path / "sub", repository.home).commit(a="y")


def _binary(repository: Repository) -> None:
    (repository.path / "a.txt").write_bytes(bytes(range(256)))


def _odd_names(repository: Repository) -> None:
    for name in ("new\nline", 'quo"te', "back\\slash", "two words", "a -> b", "tab\t", "café"):
        repository.write(name, "x")
        repository.write(f"{name} staged", "x")
        repository.git("add", f"{name} staged")


def _times_changed(repository: Repository) -> None:
    _modified(repository)
    os.utime(repository.path / "b.txt", (1, 1))


def _changed_in_the_moment_of_the_index(repository: Repository) -> None:
    """Change a file so that only its content shows it: git calls this racy."""
    _changed_unseen(repository)
    os.utime(repository.path / ".git/index", _MOMENT)


def _changed_unseen(repository: Repository) -> None:
    """Change a file so that nothing shows it that git looks at."""
    path = repository.path / "a.txt"
    repository.git("config", "core.trustctime", "false")
    os.utime(path, _MOMENT)
    repository.git("update-index", "--refresh")
    path.write_text("one\nMORE\n")
    # The time of this change cannot be set, but git was told not to look at it.
    known = int(path.stat().st_ctime)
    eventually(lambda: int(_set_time(path).stat().st_ctime) > known)


def _set_time(path: Path) -> Path:
    os.utime(path, _MOMENT)
    return path


def _replaced_unseen(repository: Repository) -> None:
    """Put another file in the place of one so that nothing shows it that git looks at."""
    _changed_unseen(repository)
    repository.git("config", "core.checkStat", "minimal")
    path = repository.path / "a.txt"
    path.rename(repository.path / "b.txt")
    path.write_text("two\nMORE\n")
    os.utime(path, _MOMENT)


def _link_as_file(repository: Repository) -> None:
    os.symlink("a.txt", repository.path / "link")
    repository.commit()
    repository.git("config", "core.symlinks", "false")
    (repository.path / "link").unlink()
    repository.write("link", "a.txt")


def _excluded_in_any_case(repository: Repository) -> None:
    _untracked(repository)
    repository.git("config", "core.ignoreCase", "true")
    repository.write(".gitignore", "NEW.TXT\n")


def _many(repository: Repository) -> None:
    for number in range(300):
        repository.write(f"{number}.txt", "x\n")
    repository.commit()
    for number in range(300):
        repository.write(f"{number}.txt", "changed\n")


def _patterns_as_names(repository: Repository) -> None:
    for name in ("[a].txt", ":(top)x", "-x", "caf\udce9"):
        repository.write(name, "x\n")
    repository.git("add", "--all")
    repository.commit()
    for name in ("[a].txt", ":(top)x", "-x", "caf\udce9"):
        repository.write(name, "changed\n")


def _locked(repository: Repository) -> None:
    (repository.path / ".git/index.lock").write_text("")
    _modified(repository)


STATES: dict[str, Callable[[Repository], None]] = {
    "clean": _clean,
    "modified": _modified,
    "staged": _staged,
    "staged and modified": _staged_and_modified,
    "deleted": _deleted,
    "renamed": _renamed,
    "untracked": _untracked,
    "intended": _intended,
    "unmerged": _unmerged,
    "executable": _executable,
    "executable without file mode": _executable_without_file_mode,
    "symbolic link": _symbolic_link,
    "carriage returns": _carriage_returns,
    "carriage returns of the user": _carriage_returns_of_the_user,
    "end of line attribute": _end_of_line_attribute,
    "attributes of the repository": _attributes_of_the_repository,
    "excluded": _excluded,
    "excluded by file": _excluded_by_file,
    "excluded by user": _excluded_by_user,
    "excluded by a file that the user names": _excluded_by_a_file_that_the_user_names,
    "untracked files not wanted": _untracked_files_not_wanted,
    "unborn": _unborn,
    "unborn and empty": _unborn_and_empty,
    "detached": _detached,
    "packed references": _packed_references,
    "packed objects": _packed_objects,
    "split index": _split_index,
    "fourth version": _fourth_version,
    "untracked cache": _untracked_cache,
    "sparse": _sparse,
    "sparse index": _sparse_index,
    "newer submodule": _newer_submodule,
    "binary": _binary,
    "odd names": _odd_names,
    "times changed": _times_changed,
    "changed in the moment of the index": _changed_in_the_moment_of_the_index,
    "changed unseen": _changed_unseen,
    "replaced unseen": _replaced_unseen,
    "link as file": _link_as_file,
    "excluded in any case": _excluded_in_any_case,
    "many": _many,
    "patterns as names": _patterns_as_names,
    "locked": _locked,
}
