"""A look shows what git shows its user: real repositories in every state."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from agent_pty.core.evidence.git_snapshot import GitSnapshot, LeftOut, Skipped
from agent_pty.core.evidence.git_status import files_changed
from agent_pty.process.git_snapshot import MOST_BYTES, MOST_READ, look
from agent_pty.process.git_work_tree import WorkTree, work_tree
from support.agent import alive, eventually
from support.counts import counts
from support.git import GIT, PLACE, Repository, needs_git
from support.git_states import STATES

pytestmark = needs_git

# Nothing here depends on how fast the machine is.
LONG = 60.0


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with two commits."""
    made = Repository(tmp_path / "tree", tmp_path / "home").init()
    return made.commit(a="one\n", b="two\n").commit(a="one\nmore\n")


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A directory for looks; afterwards it is empty, and no process and no descriptor is left."""
    place = tmp_path / "scratch"
    place.mkdir()
    before = psutil.Process().num_fds()
    yield place
    assert list(place.iterdir()) == []
    assert psutil.Process().children() == []
    assert psutil.Process().num_fds() == before


def tree_at(directory: Path) -> WorkTree:
    """Find the work tree of a directory."""
    found = work_tree(str(directory))
    assert isinstance(found, WorkTree), found
    return found


def looked(
    repository: Repository,
    scratch: Path,
    *,
    limit: float = LONG,
    most_bytes: int = MOST_BYTES,
    most_read: int = MOST_READ,
    last: GitSnapshot | None = None,
    path: str = PLACE,
) -> GitSnapshot | Skipped:
    """Look at a repository for its user."""
    return look(
        tree_at(repository.path),
        scratch=str(scratch),
        limit=limit,
        most_bytes=most_bytes,
        most_read=most_read,
        last=last,
        home=str(repository.home),
        path=path,
    )


def seen(repository: Repository, scratch: Path, cwd: Path | None = None) -> GitSnapshot:
    """Look from a directory of a repository that can be looked at."""
    tree = tree_at(cwd or repository.path)
    found = look(tree, scratch=str(scratch), limit=LONG, home=str(repository.home), path=PLACE)
    assert isinstance(found, GitSnapshot), found
    return found


def contents(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file of a directory: when it was changed, and what is in it."""
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes())
        for path in sorted(directory.rglob("*"))
        if stat.S_ISREG(path.lstat().st_mode)
    }


@pytest.mark.parametrize("state", STATES)
def test_a_look_shows_what_git_shows(repository: Repository, scratch: Path, state: str) -> None:
    """
    In every state status, diffs, HEAD and branch are those of git itself, and nothing is written.
    """
    STATES[state](repository)
    before = contents(repository.path)

    found = seen(repository, scratch)

    assert contents(repository.path) == before
    assert same_as_git(found, repository, repository.path)


def same_as_git(found: GitSnapshot, repository: Repository, cwd: Path) -> bool:
    """Compare a snapshot with what git prints in a directory."""
    status = repository.git("status", "--short", cwd=cwd).decode()
    head = repository.git("rev-parse", "--quiet", "--verify", "HEAD", cwd=cwd, ok=False).decode()
    short = repository.git("rev-parse", "--short", "HEAD", cwd=cwd, ok=False).decode()
    branch = repository.git("branch", "--show-current", cwd=cwd).decode()
    assert found.workspace == str(cwd)
    assert found.status_short == status
    assert found.clean == (not status)
    assert found.diff == repository.git("diff", "--no-ext-diff", "--", cwd=cwd).decode()
    cached = repository.git("diff", "--no-ext-diff", "--cached", "--", cwd=cwd)
    assert found.staged_diff == cached.decode()
    assert found.head_commit == (head.strip() or None)
    assert found.head == (short.strip() if head else None)
    assert found.branch == (branch.strip() or None)
    assert (found.left_out, found.unfiltered, found.warnings) == ({}, [], [])
    return True


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_subdirectory_is_looked_at_from_there(
    tmp_path: Path, scratch: Path, object_format: str
) -> None:
    """
    Paths of the status are relative to the workspace, as git prints them there; hashes may be long.
    """
    made = Repository(tmp_path / "tree", tmp_path / "home").init(f"--object-format={object_format}")
    made.write("inner/deep/a.txt", "x")
    made.commit(a="one\n")
    made.write("inner/deep/a.txt", "y")
    STATES["staged and modified"](made)

    found = seen(made, scratch, made.path / "inner")

    assert same_as_git(found, made, made.path / "inner")
    assert [one.path for one in files_changed(found.status_short)] == [
        "../a.txt",
        "deep/a.txt",
        "../new.txt",
    ]


def test_a_workspace_may_be_reached_by_a_link(repository: Repository, scratch: Path) -> None:
    """
    The snapshot names the workspace as it was named, whatever it really is.
    """
    repository.write("inner/a.txt", "x")
    link = repository.path.parent / "link"
    link.symlink_to(repository.path / "inner")

    assert same_as_git(seen(repository, scratch, link), repository, link)


@pytest.mark.parametrize("bare", [False, True])
def test_a_linked_work_tree_has_an_index_and_a_head_of_its_own(
    repository: Repository, scratch: Path, *, bare: bool
) -> None:
    """
    Its repository is found by the file `.git`, even if that has no work tree of its own.
    """
    linked = repository.path.parent / "linked"
    (repository.path / ".git/info/exclude").write_text("folder\n")
    if bare:
        repository.git("config", "core.bare", "true")
    repository.git("worktree", "add", "--quiet", "-b", "side", str(linked))
    there = Repository(linked, repository.home)
    STATES["staged and modified"](there)
    STATES["untracked"](there)

    assert same_as_git(seen(there, scratch), there, linked)


def test_settings_of_one_work_tree_count_there(repository: Repository, scratch: Path) -> None:
    """
    With `extensions.worktreeConfig` each work tree has a second configuration file.
    """
    linked = repository.path.parent / "linked"
    repository.git("config", "extensions.worktreeConfig", "true")
    repository.git("worktree", "add", "--quiet", str(linked))
    there = Repository(linked, repository.home)
    there.git("config", "--worktree", "core.fileMode", "false")
    STATES["executable"](there)
    STATES["executable"](repository)

    assert same_as_git(seen(there, scratch), there, linked)
    assert same_as_git(seen(repository, scratch), repository, repository.path)


@pytest.mark.parametrize("how", ["--depth=1", "--shared", "--local"])
def test_git_08_a_clone_is_looked_at(repository: Repository, scratch: Path, how: str) -> None:
    """
    It may be shallow, and its objects may be in another repository.
    """
    copy = Repository(repository.path.parent / "copy", repository.home)
    copy.git("clone", "--quiet", how, f"file://{repository.path}", ".")
    STATES["staged and modified"](copy)

    assert same_as_git(seen(copy, scratch), copy, copy.path)


def test_a_submodule_is_a_work_tree(repository: Repository, scratch: Path) -> None:
    """
    A workspace in a submodule shows the submodule, not the repository around it.
    """
    STATES["newer submodule"](repository)
    repository.git("submodule", "--quiet", "absorbgitdirs")
    inner = Repository(repository.path / "sub", repository.home)
    STATES["modified"](inner)

    assert same_as_git(seen(inner, scratch), inner, inner.path)


def test_names_that_are_no_text(repository: Repository, scratch: Path) -> None:
    """
    A name that is no UTF-8 is shown as git quotes it; all others as they are on the disk.
    """
    raw = os.fsencode(repository.path) + b"/caf\xe9"
    Path(os.fsdecode(raw)).write_text("x")
    repository.write("café\n", "x")

    found = seen(repository, scratch)

    assert [one.path for one in files_changed(found.status_short)] == ["café\n", '"caf\\351"']
    assert msgspec.json.decode(msgspec.json.encode(found), type=GitSnapshot) == found


def test_a_diff_that_is_no_text(repository: Repository, scratch: Path) -> None:
    """
    Bytes that are no UTF-8 do not keep a diff out of the record.
    """
    (repository.path / "a.txt").write_bytes(b"caf\xe9\n")

    found = seen(repository, scratch)

    assert "+caf\ufffd\n" in found.diff
    assert msgspec.json.decode(msgspec.json.encode(found), type=GitSnapshot) == found


def test_the_keys_of_the_contract_come_first(repository: Repository, scratch: Path) -> None:
    """
    A reader that knows the contract finds its keys in its order, and ours after them.
    """
    keys = list(msgspec.to_builtins(seen(repository, scratch)))

    assert keys[:6] == ["workspace", "head", "clean", "status_short", "diff", "staged_diff"]


def test_a_long_diff_is_cut_and_its_digest_is_that_of_all_of_it(
    repository: Repository, scratch: Path
) -> None:
    """
    Of 50 MB the beginning is kept, in whole lines, and the rest is never held in memory.
    """
    repository.write("a.txt", "a line of forty characters for a long diff\n" * 1_200_000)
    whole = repository.git("diff")
    tracemalloc.start()

    found = seen(repository, scratch)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    digest = hashlib.sha256(whole).hexdigest()
    left_out = LeftOut(bytes=len(whole), sha256=digest, read=len(whole))
    assert len(whole) > 50_000_000
    assert found.left_out == {"diff": left_out}
    assert whole.decode().startswith(found.diff)
    assert (256 << 10) - 50 < len(found.diff) <= 256 << 10
    assert found.diff.endswith("\n")
    assert peak < 4_000_000
    assert msgspec.json.decode(msgspec.json.encode(found), type=GitSnapshot) == found


def test_an_endless_diff_is_not_read_to_its_end(repository: Repository, scratch: Path) -> None:
    """
    Past the hard bound git is killed; how long the diff is and its digest are unknown, not zero.
    """
    repository.write("a.txt", "line\n" * 1_000_000)
    repository.write("b.txt", "three\n")
    repository.git("add", "b.txt")

    found = looked(repository, scratch, most_read=1 << 20)

    assert isinstance(found, GitSnapshot)
    left_out = found.left_out["diff"]
    assert (left_out.bytes, left_out.sha256) == (None, None)
    assert 1 << 20 < left_out.read < 2 << 20
    assert "+three" in found.staged_diff


def test_a_long_status_is_cut_at_the_end_of_a_line(repository: Repository, scratch: Path) -> None:
    """
    No half path is shown, and diffs are made although the status shows no reason for them.
    """
    for number in range(100):
        repository.write(f"A{number}.txt", "x")
    repository.git("add", "--all")
    STATES["modified"](repository)
    status = repository.git("status", "--short").decode()

    found = looked(repository, scratch, most_bytes=400)

    assert isinstance(found, GitSnapshot)
    assert status.startswith(found.status_short)
    assert 380 < len(found.status_short) <= 400
    assert found.status_short.endswith("\n")
    assert found.left_out["status_short"].bytes == len(status)
    assert found.diff == repository.git("diff").decode()


def test_the_short_hash_of_the_last_look_is_used_again(
    repository: Repository, scratch: Path
) -> None:
    """
    Git is asked for it only when HEAD has moved.
    """
    before = seen(repository, scratch)
    told = msgspec.structs.replace(before, head="told")

    same = looked(repository, scratch, last=told)
    repository.commit(a="next\n")
    moved = looked(repository, scratch, last=told)

    assert isinstance(same, GitSnapshot)
    assert isinstance(moved, GitSnapshot)
    assert same.head == "told"
    assert same_as_git(moved, repository, repository.path)


def test_files_with_a_filter_are_named(repository: Repository, scratch: Path) -> None:
    """
    A filter is not run, so a file that has one may only seem to be changed; the snapshot says so.
    """
    repository.git("config", "filter.upper.clean", "tr a-z A-Z")
    repository.write(".gitattributes", "*.up filter=upper\n*.un filter=unknown\n")
    for name in ("same é.up", "changed.up", "changed.un", "plain"):
        repository.write(name, "text\n")
    repository.commit()
    for name in ("changed.up", "changed.un", "plain"):
        repository.write(name, "another\n")
    os.utime(repository.path / "same é.up", (1, 1))

    found = seen(repository, scratch)

    assert repository.git("diff", "--name-only") == b"changed.un\nchanged.up\nplain\n"
    assert found.unfiltered == ["changed.up", "same é.up"]


def wrapped_git(directory: Path, script: str) -> str:
    """Put a program called git into a directory; $git is the real one."""
    directory.mkdir()
    program = directory / "git"
    program.write_text(f"#!/bin/sh\ngit={GIT}\n{script}\n")
    program.chmod(0o755)
    return str(directory)


def test_a_file_that_goes_while_git_reads_it_does_not_spoil_the_look(
    repository: Repository, scratch: Path, tmp_path: Path
) -> None:
    """
    A look that fails is tried once more.
    """
    STATES["modified"](repository)
    once = "[ $1 != diff ] || mkdir ../failed 2>&- || exec $git $@\n[ $1 != diff ] && exec $git $@"
    path = wrapped_git(tmp_path / "bin", f"{once}\necho 'fatal: unable to read' >&2; exit 128")

    found = looked(repository, scratch, path=path)

    assert (tmp_path / "failed").is_dir()
    assert isinstance(found, GitSnapshot)
    assert found.diff == repository.git("diff").decode()


@pytest.mark.parametrize("ending", ["wait", "exit 0"])
def test_git_08_a_look_that_takes_too_long_is_skipped(
    repository: Repository, scratch: Path, tmp_path: Path, ending: str
) -> None:
    """
    At the deadline every process of the look is killed, also what git has started.
    """
    said = tmp_path / "child"
    said.touch()
    path = wrapped_git(tmp_path / "bin", f"sleep 1000 & echo $! > {said}; {ending}")

    # On a busy machine it may not even have begun by then.
    for limit in (0.5, 2, 8, 32):
        found = looked(repository, scratch, limit=limit, path=path)

        assert found == Skipped(why=f"it took longer than {limit} s")
        if said.read_text():
            break
    eventually(lambda: not alive(int(said.read_text())))


def test_git_08_a_pipe_in_place_of_a_file_costs_no_more_than_the_limit(
    repository: Repository, scratch: Path
) -> None:
    """
    Git would wait for ever to open it.
    """
    exclude = repository.path / ".git/info/exclude"
    exclude.unlink()
    os.mkfifo(exclude)

    assert looked(repository, scratch, limit=0.5) == Skipped(why="it took longer than 0.5 s")


def test_without_git_a_look_says_so(repository: Repository, scratch: Path, tmp_path: Path) -> None:
    """
    The reason names git, and where it was looked for.
    """
    found = looked(repository, scratch, path=str(tmp_path))

    assert found == Skipped(why=f"git is not installed, at least not in {tmp_path}")


def test_a_git_that_does_not_know_the_repository_says_so(
    repository: Repository, scratch: Path, tmp_path: Path
) -> None:
    """
    An older git names the extension that it does not know; that is the reason.
    """
    said = "fatal: unknown repository extension found:\n\trefstorage"
    path = wrapped_git(tmp_path / "bin", f"echo '{said}' >&2; exit 128")

    found = looked(repository, scratch, path=path)

    why = "git status: fatal: unknown repository extension found: refstorage"
    assert found == Skipped(why=why)


def _corrupt_index(repository: Repository) -> str:
    (repository.path / ".git/index").write_bytes(b"DIRC nonsense")
    return f"git status: fatal: {repository.path}/.git/index: index file smaller than expected"


def _corrupt_object(repository: Repository) -> str:
    STATES["staged"](repository)
    name = repository.git("rev-parse", "HEAD:a.txt").decode().strip()
    path = repository.path / f".git/objects/{name[:2]}/{name[2:]}"
    path.chmod(0o644)
    path.write_bytes(b"nonsense")
    return "git diff: "


def _missing_commit(repository: Repository) -> str:
    (repository.path / ".git/refs/heads/main").write_text("1" * 40 + "\n")
    return "git status: fatal: "


def _bare(repository: Repository) -> str:
    repository.git("config", "core.bare", "true")
    return f"{repository.path}/.git is a bare repository"


def _other_work_tree(repository: Repository) -> str:
    repository.git("config", "core.worktree", str(repository.home))
    return f"the work tree of {repository.path}/.git is {repository.home} (core.worktree)"


def _unknown_extension(repository: Repository) -> str:
    config = repository.path / ".git/config"
    config.write_text("[core]\nrepositoryformatversion = 1\n[extensions]\nquantum = yes\n")
    return "the repository's format is not known here: extensions.quantum"


def _unknown_version(repository: Repository) -> str:
    (repository.path / ".git/config").write_text("[core]\nrepositoryformatversion = 7\n")
    return "the repository's format is not known here: core.repositoryformatversion 7"


def _tree_gone(repository: Repository) -> str:
    repository.path.rename(repository.path.parent / "elsewhere")
    return f"{repository.path}/.git has no HEAD"


@pytest.mark.parametrize(
    "fault",
    [
        _corrupt_index,
        _corrupt_object,
        _missing_commit,
        _bare,
        _other_work_tree,
        _unknown_extension,
        _unknown_version,
        _tree_gone,
    ],
)
def test_git_08_what_cannot_be_looked_at_is_skipped_with_a_reason(
    repository: Repository, scratch: Path, fault: Callable[[Repository], str]
) -> None:
    """
    A repository that is damaged, bare or of a kind that we do not know is not shown half.
    """
    tree = tree_at(repository.path)
    why = fault(repository)

    found = look(tree, scratch=str(scratch), limit=LONG, home=str(repository.home), path=PLACE)

    assert isinstance(found, Skipped)
    assert found.why.startswith(why)


def test_a_workspace_that_is_gone_is_a_reason(repository: Repository, scratch: Path) -> None:
    """
    A session's directory may be removed while the repository stays.
    """
    repository.write("inner/a.txt", "x")
    tree = tree_at(repository.path / "inner")
    (repository.path / "inner").rename(repository.path / "elsewhere")

    found = look(tree, scratch=str(scratch), limit=LONG, home=str(repository.home), path=PLACE)

    why = f"[Errno 2] No such file or directory: '{repository.path / 'inner'}'"
    assert found == Skipped(why=why)


def test_without_room_for_a_directory_a_look_says_so(repository: Repository) -> None:
    """
    That the temporary directory cannot be made is a reason, not an error.
    """
    found = looked(repository, Path("/nowhere"))

    assert isinstance(found, Skipped)
    assert "No such file or directory: '/nowhere/" in found.why


def test_an_index_that_is_being_rewritten_is_read_whole(
    repository: Repository, scratch: Path
) -> None:
    """
    While somebody stages and unstages a file, each look shows one of the two states.
    """
    STATES["modified"](repository)
    stop = repository.path.parent / "stop"
    loop = f"while [ ! -e {stop} ]; do git add a.txt && git reset --quiet; done"
    writer = subprocess.Popen(["sh", "-c", loop], cwd=repository.path, env=repository.environment)

    try:
        found = [seen(repository, scratch) for _ in range(10)]
    finally:
        stop.touch()
        writer.wait()

    assert {one.status_short for one in found} <= {" M a.txt\n", "M  a.txt\n"}
    for one in found:
        assert "+changed" in one.diff + one.staged_diff


@pytest.mark.parametrize("linked", [False, True])
def test_references_in_a_reftable_are_read(tmp_path: Path, scratch: Path, *, linked: bool) -> None:
    """
    Git reads HEAD where only it can, also that of a linked work tree, and unborn or detached.
    """
    made = Repository(tmp_path / "tree", tmp_path / "home")
    made.git("init", "--quiet", "--ref-format=reftable", ok=False)
    if not (made.path / ".git/reftable").exists():
        pytest.skip("this git knows no reftable: 2.45 or later is needed")
    made.commit(a="one\n")
    if linked:
        made.git("worktree", "add", "--quiet", "-b", "side", "../linked")
        made = Repository(tmp_path / "linked", tmp_path / "home")
    STATES["staged and modified"](made)

    assert same_as_git(seen(made, scratch), made, made.path)
    made.git("checkout", "--quiet", "--detach")
    assert same_as_git(seen(made, scratch), made, made.path)
    made.git("checkout", "--quiet", "--orphan", "fresh")
    assert same_as_git(seen(made, scratch), made, made.path)


def test_what_git_warns_of_is_in_the_snapshot(repository: Repository, scratch: Path) -> None:
    """
    A complaint may mean that the status is not whole; it is shown once, without our directory.
    """
    STATES["modified"](repository)
    (repository.path / ".git/info/attributes").write_text("*.txt !!!=x\n")

    [warning] = seen(repository, scratch).warnings

    assert "is not a valid attribute name" in warning
    assert f"{repository.path}/.git/info/attributes:1" in warning


@counts(2_000, 200_000)
def test_git_08_a_large_work_tree_costs_no_more_than_the_limit(
    tmp_path: Path, scratch: Path, count: int
) -> None:
    """
    The look ends with a snapshot or the reason; with time enough it shows what git shows.
    """
    made = Repository(tmp_path / "tree", tmp_path / "home").init()
    for number in range(count):
        made.write(f"{number // 1000}/{number}", str(number))
    made.git("add", ".")
    made.git("commit", "--quiet", "--message=x")
    for number in range(0, count, count // 20):
        made.write(f"{number // 1000}/{number}", "changed")

    found = looked(made, scratch, limit=2.0)

    if isinstance(found, Skipped):
        assert found.why == "it took longer than 2 s"
    assert same_as_git(seen(made, scratch), made, made.path)
