"""A look at a git work tree that runs nothing of the repository, and leaves nothing in it.

The configuration, attributes, hooks and submodules of a repository can name programs that git runs
on `status` and `diff`, and an agent can write them. Git is not kept from each of these one by one:
it gets a git directory of ours (`git_private_directory.py`), in which there are none. Nothing of
this needs a recent git (2.30 is the oldest that was tried); a newer kind of repository needs one
that knows it.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable

from agent_pty.core.evidence.git_snapshot import GitSnapshot, LeftOut, Part, Skipped
from agent_pty.core.evidence.git_status import Entry, entries, name_text, unquoted
from agent_pty.process.bounded_run import Expired, Output
from agent_pty.process.git_access import Means, means, opened, seconds_from_now
from agent_pty.process.git_program import PATH, Git
from agent_pty.process.git_work_tree import CannotLook, Head, WorkTree

LIMIT = 2.0
MOST_BYTES = 256 << 10
MOST_READ = 64 << 20
_MOST_WARNINGS = 20
_MOST_NAMED = 200

# A submodule has a configuration of its own. So whether it has changes is not asked, only whether
# it is at another commit: git reads that without starting anything.
_STATUS = ["status", "--short", "--ignore-submodules=dirty"]
_DIFF = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"]
_STAGED_DIFF = [*_DIFF, "--cached"]


def look(
    tree: WorkTree,
    *,
    scratch: str,
    last: GitSnapshot | None = None,
    limit: float = LIMIT,
    most_bytes: int = MOST_BYTES,
    most_read: int = MOST_READ,
    home: str | None = None,
    path: str = PATH,
) -> GitSnapshot | Skipped:
    """Return the state of a work tree, or why there is none, after *limit* seconds at most.

    Call it in a thread: a file system that does not answer can hold it for longer. It makes a
    directory in *scratch* for the time being. Of each text the first *most_bytes* are kept, and the
    digest is that of all of it unless it has more than *most_read*. With the *last* snapshot of the
    tree it needs one process less. *home* is where the user's own settings and excludes are, and
    git is looked for in *path*.
    """
    bounds = seconds_from_now(limit, kept=most_bytes, read=most_read)
    try:
        return _twice(tree, means(scratch, bounds, home=home, path=path), last)
    except Expired:
        return Skipped(why=f"it took longer than {limit:g} s")
    except (CannotLook, OSError) as error:
        return Skipped(why=str(error))


def _twice(tree: WorkTree, given: Means, last: GitSnapshot | None) -> GitSnapshot:
    """Look once more if it fails: a file may have gone while git was reading it."""
    try:
        return _look(tree, given, last)
    except CannotLook as reason:
        try:
            return _look(tree, given, last)
        except Expired:
            raise reason from None


def _look(tree: WorkTree, given: Means, last: GitSnapshot | None) -> GitSnapshot:
    with opened(tree, given) as found:
        return _snapshot(found.git, found.head, found.filters, last)


def _snapshot(git: Git, at: Head, programs: set[str], last: GitSnapshot | None) -> GitSnapshot:
    taken_at = dt.datetime.now(dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    short = last.head if last is not None and last.head_commit == at.commit else None
    asked = [] if short or at.commit is None else [["rev-parse", "--short", at.commit]]
    status, *answer = git.run(_STATUS, *asked)
    found = list(entries(_text(status)))
    texts: dict[Part, Output] = {"status_short": status}
    texts |= _diffs(git, found, cut=_is_cut(status))
    return GitSnapshot(
        workspace=git.tree.workspace,
        head=answer[0].kept.decode().strip() if answer else short,
        clean=not status.read,
        status_short=_text(status),
        diff=_text(texts.get("diff")),
        staged_diff=_text(texts.get("staged_diff")),
        head_commit=at.commit,
        branch=at.branch,
        taken_at=taken_at,
        left_out={part: _left_out(text) for part, text in texts.items() if _is_cut(text)},
        unfiltered=_unfiltered(git, found, programs),
        warnings=_warnings(git, texts.values()),
    )


def _diffs(git: Git, found: list[Entry], *, cut: bool) -> dict[Part, Output]:
    """Return the diffs that are not empty by what the status says; *cut*: it does not say all."""
    unstaged = [entry for entry in found if entry.unstaged]
    staged = [entry for entry in found if entry.staged]
    calls: dict[Part, list[str]] = {}
    if unstaged or cut:
        calls["diff"] = [*_DIFF, *([] if cut else _only(unstaged))]
    if staged or cut:
        calls["staged_diff"] = [*_STAGED_DIFF, *([] if cut else _only(staged))]
    return dict(zip(calls, git.run(*calls.values()), strict=True))


def _only(found: list[Entry]) -> list[str]:
    """Return arguments for the diff of some files: git need not look at all others again."""
    if len(found) > _MOST_NAMED:
        return []
    names = [name for entry in found for name in (entry.source, entry.name) if name is not None]
    return ["--", *(os.fsdecode(unquoted(name)) for name in names)]


def _unfiltered(git: Git, found: list[Entry], programs: set[str]) -> list[str]:
    names = [entry.name for entry in found if entry.unstaged]
    if not (names and programs):
        return []
    values = git.attribute("filter", [unquoted(name) for name in names])
    return [name_text(name) for name, value in zip(names, values, strict=True) if value in programs]


def _warnings(git: Git, outputs: Iterable[Output]) -> list[str]:
    lines = [line for output in outputs for line in git.complaints(output)]
    return list(dict.fromkeys(lines))[:_MOST_WARNINGS]


def _is_cut(text: Output) -> bool:
    return text.read > len(text.kept)


def _text(output: Output | None) -> str:
    """Return what was kept of a text, up to the end of a line."""
    if output is None:
        return ""
    kept = output.kept
    if _is_cut(output):
        kept = kept[: kept.rfind(b"\n") + 1] or kept
    return kept.decode(errors="replace")


def _left_out(text: Output) -> LeftOut:
    return LeftOut(bytes=text.read if text.sha256 else None, sha256=text.sha256, read=text.read)
