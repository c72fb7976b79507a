"""Whether a command ran after the last change of the work tree. Pure.

A snapshot is taken some time after what it shows, and only if it differs from the one before. So a
change that is seen after a command began may be older than the command, its own work, or younger.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.event_reader import ReadEvent, TreeState
from agent_pty.core.evidence.git_status import files_changed
from agent_pty.ops.proof_model import Answer

_UNTRACKED = "??"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    at: int
    # Only files that git does not know were added, as a test run leaves its caches.
    adds_untracked: bool


class LastChange:
    """Fed with all events."""

    def __init__(self) -> None:
        self._before: TreeState | None = None
        self._baseline: int | None = None
        self._changes: list[_Change] = []
        self._inputs: list[int] = []

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        if isinstance(event.payload, events.CellStarted) or (
            isinstance(event.payload, events.SendKeys)
            and event.payload.input != "cell"
            and event.payload.entered
        ):
            self._inputs.append(event.sequence)
        tree = event.git_snapshot
        if tree is None:
            return
        if self._before is None:
            self._baseline = event.sequence
        elif _content(tree) != _content(self._before):
            change = _Change(at=event.sequence, adds_untracked=_adds_untracked(self._before, tree))
            self._changes.append(change)
        self._before = tree

    def judged(self, *, begun: int, ended: int) -> tuple[Answer, str, int | None]:
        """Judge a run that began and ended at these events; also return the event that shows it."""
        if self._baseline is None:
            return "undecidable", "the record has no snapshot of a work tree", None
        later = [one for one in self._changes if one.at > begun and not self._is_own(one, begun)]
        if not later:
            last = max((one.at for one in self._changes if one.at < begun), default=None)
            reason = "no change of the work tree was seen after it began"
            return "true", reason, last or self._baseline
        place = later[-1].at
        if sum(one.at > ended for one in later) > 1:
            return "false", "the work tree changed after it had ended", place
        reason = "a change was seen after it began, which may be older, its own, or younger"
        return "undecidable", reason, place

    def _is_own(self, change: _Change, begun: int) -> bool:
        """Whether a change can only be what the run itself left."""
        return change.adds_untracked and not any(begun < one < change.at for one in self._inputs)


def _content(tree: TreeState) -> tuple[object, ...]:
    sizes = sorted((name, left.bytes, left.sha256) for name, left in tree.left_out.items())
    return tree.head_commit, tree.status_short, tree.diff, tree.staged_diff, str(sizes)


def _adds_untracked(before: TreeState, after: TreeState) -> bool:
    if (before.head_commit, before.diff, before.staged_diff) != (
        after.head_commit,
        after.diff,
        after.staged_diff,
    ):
        return False
    old = {(one.path, one.status) for one in files_changed(before.status_short)}
    new = {(one.path, one.status) for one in files_changed(after.status_short)}
    return old <= new and all(status == _UNTRACKED for _, status in new - old)
