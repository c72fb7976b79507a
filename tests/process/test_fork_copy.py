"""A copy for a fork is what the source is: files, index and state; and it goes without a trace."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from agent_pty.core.fork import ForkCopy
from agent_pty.process import fork_copy
from agent_pty.process.fork_copy import CannotFork
from agent_pty.process.fork_state import DoesNotApply, apply_to_source, work_of
from agent_pty.process.git_access import Means, means, seconds_from_now
from support.git import PLACE, Repository, needs_git
from support.git_states import STATES

pytestmark = needs_git

# In these git itself does not see a change that is there; in a copy it does.
_UNSEEN = frozenset({"changed unseen", "replaced unseen"})
_SEEN = sorted(STATES.keys() - _UNSEEN)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with two commits, in a directory of its own."""
    made = Repository(tmp_path / "place" / "tree", tmp_path / "home").init()
    return made.commit(a="one\n", b="two\n").commit(a="one\nmore\n")


@pytest.fixture
def given(tmp_path: Path, repository: Repository) -> Means:
    """What git is run with."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    bounds = seconds_from_now(60.0, kept=1 << 26, read=1 << 26)
    return means(str(scratch), bounds, home=str(repository.home), path=PLACE)


def forked(directory: Path, given: Means, name: str = "b") -> ForkCopy:
    """Copy a directory."""
    store = directory.parent / f"{name}.store"
    source = fork_copy.find_source(str(directory))
    return fork_copy.make_copy(source, name, given, store=str(store))


def contents(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file and link below a directory with its mode and what is in it."""
    found = {}
    for place, directories, names in os.walk(directory):
        if ".git" in directories:
            directories.remove(".git")
        for name in [*names, *directories]:
            path = Path(place, name)
            mode = path.lstat().st_mode
            if name == ".git" or stat.S_ISDIR(mode):
                continue
            data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(directory))] = (mode, data)
    return found


def status(repository: Repository, cwd: Path) -> list[bytes]:
    """Return all that git says of a work tree."""
    calls = (
        ("status", "--porcelain=v1", "--untracked-files=all"),
        ("diff", "--binary", "--submodule=diff"),
        ("diff", "--binary", "--cached"),
        ("ls-files", "--stage"),
        ("rev-parse", "--verify", "--quiet", "HEAD"),
    )
    return [repository.git(*words, cwd=cwd, ok=False) for words in calls]


@pytest.mark.parametrize("state", _SEEN)
def test_git_06_a_fork_of_a_dirty_tree_is_exact(
    repository: Repository, given: Means, state: str
) -> None:
    """
    In every state of a work tree `git status`, diffs, index and files of the copy are the source's.
    """
    STATES[state](repository)
    expected, files = status(repository, repository.path), contents(repository.path)

    made = forked(repository.path, given)

    copy = Path(made.directory)
    assert status(repository, copy) == expected
    ignored = repository.git("ls-files", "-z", "--others", "--ignored", "--exclude-standard")
    left = {os.fsdecode(name) for name in ignored.split(b"\0")}
    assert contents(copy) == {name: file for name, file in files.items() if name not in left}
    assert status(repository, repository.path) == expected


def test_a_fork_carries_every_kind_of_change_at_once(repository: Repository, given: Means) -> None:
    """
    With all kinds of changes, also in a submodule, `git status` and the files equal the source's.
    """
    submodule = _everything(repository)
    expected, files = status(repository, repository.path), contents(repository.path)
    inside = status(repository, submodule.path)

    made = forked(repository.path, given)

    copy = Path(made.directory)
    assert status(repository, copy) == expected
    assert contents(copy) == files
    assert status(repository, copy / "module") == inside
    assert expected[0].count(b"\n") == 10, expected[0].decode()


def _everything(repository: Repository) -> Repository:
    """Bring a repository into every state at once; return its submodule."""
    other = Repository(repository.path.parent / "other", repository.home).init().commit(a="x")
    allowed = ("-c", "protocol.file.allow=always")
    repository.git(*allowed, "submodule", "--quiet", "add", str(other.path), "module")
    for name in ("staged", "unstaged", "gone", "dropped", "old name", "tool", "picture"):
        repository.write(name, f"{name}\n")
    repository.commit()
    repository.write("staged", "changed\n")
    repository.git("add", "staged")
    repository.write("unstaged", "changed\n")
    repository.write("un/tracked", "new\n")
    (repository.path / "gone").unlink()
    repository.git("rm", "--quiet", "dropped")
    repository.git("mv", "old name", "new name")
    (repository.path / "picture").write_bytes(bytes(range(256)))
    (repository.path / "tool").chmod(0o755)
    os.symlink("staged", repository.path / "link")
    submodule = Repository(repository.path / "module", repository.home)
    submodule.commit(b="committed there\n")
    submodule.write("a.txt", "changed there\n")
    submodule.write("c.txt", "new there\n")
    return submodule


def test_git_06_commits_in_a_forked_submodule_are_not_in_the_source(
    repository: Repository, given: Means
) -> None:
    """
    The submodule of a fork has a git directory of its own: nothing done there reaches the source.
    """
    submodule = _everything(repository)
    before = submodule.git("rev-parse", "HEAD"), submodule.git("status", "--short")
    made = forked(repository.path, given)

    Repository(Path(made.directory) / "module", repository.home).commit(d="only in the fork\n")

    assert (submodule.git("rev-parse", "HEAD"), submodule.git("status", "--short")) == before


def test_git_04_no_hook_and_no_filter_runs_when_a_fork_is_made(
    repository: Repository, given: Means, tmp_path: Path
) -> None:
    """
    Whatever programs a repository names, none is run, and the filtered files are as in the source.
    """
    mark = tmp_path / "was-run"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n: > '{mark}'\nexec cat\n")
    program.chmod(0o755)
    hooks = repository.path / ".git" / "hooks"
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit"):
        (hooks / name).symlink_to(program)
    for name in ("core.fsmonitor", "filter.own.smudge", "filter.own.clean", "diff.external"):
        repository.git("config", name, str(program))
    repository.write(".gitattributes", "*.txt filter=own\n")
    repository.write("a.txt", "changed\n")

    made = forked(repository.path, given)

    assert not mark.exists()
    assert (Path(made.directory) / "a.txt").read_text() == "changed\n"


def test_a_fork_is_a_work_tree_that_git_knows(repository: Repository, given: Means) -> None:
    """
    Git lists the fork as a work tree of its branch, and a commit there stays there.
    """
    made = forked(repository.path, given)

    copy = Repository(Path(made.directory), repository.home).commit(new="x\n")

    assert f"{made.directory} ".encode() in repository.git("worktree", "list")
    assert copy.git("branch", "--show-current") == b"agent-pty/b\n"
    assert repository.git("log", "--format=%s", "main") == b"x\nx\n"
    assert repository.git("fsck") == b""


def test_ignored_files_are_not_carried_and_are_named(repository: Repository, given: Means) -> None:
    """
    What git ignores is not in the fork, and the fork says so.
    """
    repository.write(".gitignore", "build\n*.log\n")
    repository.write("build/x", "made\n")
    repository.write("a.log", "said\n")

    made = forked(repository.path, given)

    assert made.left_out == ["ignored by git (2): a.log, build/"]
    assert not (Path(made.directory) / "build").exists()


# -- nothing is left of what fails


def traces(repository: Repository) -> tuple[bytes, bytes, list[str]]:
    """Return everything that a fork adds to a repository, and what is beside it."""
    beside = sorted(path.name for path in repository.path.parent.iterdir())
    return repository.git("for-each-ref"), repository.git("worktree", "list"), beside


def _directory_there(repository: Repository) -> None:
    (repository.path.parent / "tree.agent-pty-forks/b").mkdir(parents=True)


def _branch_there(repository: Repository) -> None:
    repository.git("branch", "agent-pty/b")


def _branch_in_the_way(repository: Repository) -> None:
    repository.git("branch", "agent-pty")


def _no_index(repository: Repository) -> None:
    (repository.path / ".git/index").unlink()
    os.mkfifo(repository.path / ".git/index")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_directory_there, "fork workspace already exists: "),
        (_branch_there, "branch agent-pty/b already exists"),
        (_branch_in_the_way, "cannot lock ref"),
        (_no_index, "not a regular file"),
    ],
)
def test_git_05_a_failing_fork_leaves_no_work_tree_branch_or_directory(
    repository: Repository, given: Means, spoil: Callable[[Repository], None], said: str
) -> None:
    """
    If anything prevents a fork, the repository and the directory around it are as they were.
    """
    spoil(repository)
    before = traces(repository)

    with pytest.raises(CannotFork, match=said):
        forked(repository.path, given)

    assert traces(repository) == before
    assert not (repository.path / ".git" / "worktrees").exists()


def test_a_copy_that_fails_half_way_is_taken_back(repository: Repository, given: Means) -> None:
    """
    A file that cannot be read ends the copy, and what was made of it is removed.
    """
    if os.getuid() == 0:
        pytest.skip("root can read every file")
    repository.write("new.txt", "x").chmod(0)
    before = traces(repository)

    with pytest.raises(CannotFork, match="Permission denied"):
        forked(repository.path, given)

    assert traces(repository) == before


def test_a_removed_fork_leaves_nothing_and_touches_nothing(
    repository: Repository, given: Means
) -> None:
    """
    Work tree, branch and directory go; the source is as it was.
    """
    _everything(repository)
    before = traces(repository), status(repository, repository.path), contents(repository.path)
    made = forked(repository.path, given)

    fork_copy.remove_copy("b", made, given)

    after = traces(repository), status(repository, repository.path), contents(repository.path)
    assert after == before


def test_a_file_that_names_another_directory_removes_nothing(
    repository: Repository, given: Means, tmp_path: Path
) -> None:
    """
    Only a directory that can be the fork of its source is ever removed.
    """
    made = forked(repository.path, given)
    precious = tmp_path / "precious"
    precious.mkdir()

    with pytest.raises(CannotFork, match="is not the copy of"):
        fork_copy.remove_copy("b", msgspec.structs.replace(made, directory=str(precious)), given)

    assert precious.is_dir()


# -- names that lead elsewhere


def test_git_05_a_link_in_the_way_of_a_file_leads_nowhere(
    repository: Repository, given: Means, tmp_path: Path
) -> None:
    """
    A tracked file below what is a link now is deleted: nothing is written through the link.
    """
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("outside\n")
    repository.write("place/file", "x\n")
    repository.commit()
    (repository.path / "place" / "file").unlink()
    (repository.path / "place").rmdir()
    os.symlink(outside, repository.path / "place")
    expected = status(repository, repository.path)

    made = forked(repository.path, given)

    assert status(repository, Path(made.directory)) == expected
    assert os.readlink(Path(made.directory) / "place") == str(outside)
    assert sorted(path.name for path in outside.iterdir()) == ["file"]


# -- directories without a repository


def test_a_directory_without_a_repository_is_copied_whole(tmp_path: Path, given: Means) -> None:
    """
    Files, modes, links and empty directories are the same; what is neither is named.
    """
    source = tmp_path / "plain"
    (source / "empty").mkdir(parents=True)
    (source / "folder").mkdir()
    (source / "folder" / "tool").write_text("#!/bin/sh\n")
    (source / "folder" / "tool").chmod(0o755)
    os.symlink("folder", source / "to-folder")
    os.symlink("nowhere", source / "to-nothing")
    os.mkfifo(source / "pipe")

    made = forked(source, given)

    copy = Path(made.directory)
    assert (made.kind, made.branch, copy) == ("copy", None, tmp_path / "plain.agent-pty-forks/b")
    assert (copy / "empty").is_dir()
    assert os.readlink(copy / "to-folder") == "folder"
    (source / "pipe").unlink()
    assert contents(copy) == contents(source)
    assert made.left_out == ["pipe: neither a file nor a link nor a directory"]


def test_a_repository_inside_a_plain_directory_is_independent(
    tmp_path: Path, given: Means, repository: Repository
) -> None:
    """
    A copied repository has its own branches; a linked work tree, which would not, is left out.
    """
    around = repository.path.parent
    repository.git("worktree", "add", "--quiet", "../linked")

    made = forked(around, given)

    copy = Repository(Path(made.directory) / "tree", tmp_path / "home")
    copy.commit(new="x\n")
    assert repository.git("log", "--format=%s") == b"x\nx\n"
    assert made.left_out == ["linked: its git directory is elsewhere"]
    assert [one.path for one in made.nested] == ["tree"]


# -- what was done in a fork


def test_the_work_of_a_fork_is_what_it_has_changed(repository: Repository, given: Means) -> None:
    """
    What the source had not committed is no work of the fork; what was done there since is.
    """
    _everything(repository)
    made = forked(repository.path, given)
    assert not work_of(made, given).any

    copy = Repository(Path(made.directory), repository.home)
    copy.write("un/tracked", "again\n")
    copy.commit(new="x\n")
    work = work_of(made, given)

    assert {one.path: one.status for one in work.changes} == {"un/tracked": "M", "new.txt": "A"}
    assert work.commits == 1


def test_git_11_work_in_a_submodule_counts(repository: Repository, given: Means) -> None:
    """
    A change in a repository inside the fork would be lost with it, so it is work.
    """
    _everything(repository)
    made = forked(repository.path, given)

    Repository(Path(made.directory) / "module", repository.home).write("more.txt", "x\n")

    assert work_of(made, given).nested == ["module"]


def test_the_work_of_a_fork_is_applied_whole(repository: Repository, given: Means) -> None:
    """
    Changed, new, deleted and binary files come into the source; its own changes stay.
    """
    _everything(repository)
    made = forked(repository.path, given)
    copy = Path(made.directory)
    (copy / "a.txt").write_text("from the fork\n")
    (copy / "new.bin").write_bytes(bytes(range(256)))
    (copy / "b.txt").unlink()
    expected = contents(copy)

    work = work_of(made, given, wants_patch=True)
    apply_to_source(made, work.patch, given, check=False)

    assert contents(repository.path) == expected


def test_work_that_does_not_fit_changes_nothing(repository: Repository, given: Means) -> None:
    """
    One file that does not fit is enough: none is changed, and it is named.
    """
    made = forked(repository.path, given)
    copy = Repository(Path(made.directory), repository.home)
    copy.write("a.txt", "from the fork\n")
    copy.write("b.txt", "from the fork\n")
    repository.write("b.txt", "meanwhile\n")
    before = contents(repository.path)

    work = work_of(made, given, wants_patch=True)
    with pytest.raises(DoesNotApply, match=r"b\.txt: patch does not apply"):
        apply_to_source(made, work.patch, given, check=False)

    assert contents(repository.path) == before
