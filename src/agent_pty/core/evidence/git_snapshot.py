"""What a look at a git work tree found: the seed's keys in the seed's order, then ours."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Part = Literal["status_short", "diff", "staged_diff"]


class LeftOut(Struct, frozen=True, kw_only=True):
    """How much there was of a text of which only the beginning is in the snapshot.

    Null: it was so long that it was not read to its end, only *read* bytes of it.
    """

    bytes: int | None
    sha256: str | None
    read: int


class GitSnapshot(Struct, frozen=True, kw_only=True):
    """A work tree as it was at one moment.

    *unfiltered* are the changed files that git would pass through a filter of the repository first,
    such as that of git-lfs. No such program is run here, so they may in truth be unchanged.
    *warnings* is what git complained of, such as a directory that it could not read.
    """

    workspace: str
    head: str | None
    clean: bool
    status_short: str
    diff: str
    staged_diff: str
    head_commit: str | None
    branch: str | None
    taken_at: str
    left_out: dict[Part, LeftOut]
    unfiltered: list[str]
    warnings: list[str]


class Skipped(Struct, frozen=True, kw_only=True):
    """There is a repository, but no snapshot of it."""

    why: str
