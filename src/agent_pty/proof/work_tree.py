"""What became of the files of a session's work tree, by the snapshots in its record."""

from __future__ import annotations

import hashlib

from agent_pty.core.evidence.event_reader import ReadEvent, TreeState
from agent_pty.core.evidence.git_status import files_changed
from agent_pty.ops.proof_model import Omitted, ProvedFile

_MOST_FILES = 2000
_LONGEST_DIFF = 64 << 10


class FileHistory:
    """Fed with all events. The first snapshot is how the tree was before the session."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}
        self._first: dict[str, str] | None = None
        self._now: dict[str, str] = {}
        self._state: TreeState | None = None
        self._with_diffs: TreeState | None = None

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        tree = event.tree
        if tree is None:
            return
        if event.git_snapshot is not None:
            self._with_diffs = tree
        if self._state is None or self._state.status_short != tree.status_short:
            self._now = {one.path: one.status for one in files_changed(tree.status_short)}
            self._last.update(self._now)
        if self._first is None:
            self._first = dict(self._now)
        self._state = tree

    @property
    def state(self) -> TreeState | None:
        """The newest snapshot; its diffs are in `diff` and `staged_diff`."""
        return self._state

    @property
    def files(self) -> list[ProvedFile]:
        """The files, sorted by their paths, as many as a bundle may have."""
        return self._files[:_MOST_FILES]

    @property
    def _files(self) -> list[ProvedFile]:
        first = self._first or {}
        return [
            ProvedFile(
                path=path,
                status=status,
                before=first.get(path) == status,
                reverted=path not in self._now,
            )
            for path, status in sorted(self._last.items())
        ]

    @property
    def diff(self) -> str | None:
        """What is not staged of the changes; None: no snapshot says it."""
        return None if self._with_diffs is None else self._with_diffs.diff[:_LONGEST_DIFF]

    @property
    def staged_diff(self) -> str | None:
        """What is staged of the changes."""
        return None if self._with_diffs is None else self._with_diffs.staged_diff[:_LONGEST_DIFF]

    @property
    def omitted(self) -> dict[str, Omitted]:
        """What of it is not in the bundle."""
        found: dict[str, Omitted] = {}
        rest = self._files[_MOST_FILES:]
        if rest:
            lines = "".join(f"{one.status} {one.path}\n" for one in rest)
            found["files_changed"] = Omitted(
                count=len(rest),
                sha256=hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest(),
                note="files left out; digest of their lines `STATUS PATH`",
            )
        names = {"status_short": "latest_git_status", "diff": "git_diff"}
        for key, left in (self._with_diffs.left_out if self._with_diffs else {}).items():
            whole = "of unknown length" if left.bytes is None else f"of {left.bytes} bytes"
            found[names.get(key, key)] = Omitted(
                count=left.bytes,
                sha256=left.sha256,
                note=f"text {whole}, of which only the beginning is recorded; digest of all of it",
            )
        return found
