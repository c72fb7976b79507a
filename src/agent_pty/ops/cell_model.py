"""Cells as ops return them: one command, its output and how it ended."""

from __future__ import annotations

import enum
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

CompletedBy = Literal["marks", "tty", "exact", "hook", "repeat"]


class Status(enum.StrEnum):
    """Where a cell is in its life."""

    RUNNING = "running"
    WAITING = "waiting"
    TIMEOUT = "timeout"
    DONE = "done"
    ERROR = "error"


class CellReport(Struct, frozen=True, kw_only=True):
    """One cell as it is now.

    *output* is complete up to 64 KiB. A longer one is the beginning and the end, with a line
    between them that says so; *truncated* is true and *path* names a file that has all of it,
    but for the first *lost* bytes, which are no longer kept or did not fit on the disk.
    """

    cell_id: str
    status: Status
    # The beginning of its code, on one line: what tells it from other cells.
    code: str = ""
    output: str
    exit_code: int | None
    # There is an exit code, but nobody could report it. False with no exit code: there is none.
    exit_code_unknown: bool = False
    # Why an `error` is one: interrupted, exited, incomplete input.
    error: str | None
    # What a `waiting` cell waits for, and how to continue; the latter also if output is paused,
    # or if another program reads the keyboard now. Of a cell whose end was missed: that it was.
    waiting_for: Literal["input", "secret", "approval"] | None = field(name="for")
    hint: str | None
    # Which step of the completion ladder found the end; None while it has not ended.
    frame: CompletedBy | None
    cwd: str | None
    duration_ms: int
    size: int
    truncated: bool
    path: str | None
    # How often `poll` has answered that it timed out.
    told: int
    lost: int = 0
    # Of a run with conditions: the one that came true, or those of which none did.
    matched: str | None = None
    unmet: str | None = None
    # How many bytes of the cell's output came before *output*; only in what `answer` returns.
    since: int | UnsetType = UNSET
    # The program at the keyboard, if it is not the one that ran the code.
    now: str | None = None
    # Where what it writes next begins: `since` of a later `excerpt`.
    cursor: int = 0


class CellFact(Struct, frozen=True, kw_only=True):
    """What is remembered of a cell after its result was collected."""

    cell_id: str
    status: str
    at: str
    waiting_for: str | None = field(name="for", default=None)


class OutputPage(Struct, frozen=True, kw_only=True):
    """Part of a cell's output; if *more*, ask again with `since` = *next*."""

    text: str
    next: int
    more: bool
    lost: int


class OutputExcerpt(Struct, frozen=True, kw_only=True):
    """A cell's output from *since* on, or its beginning and its end with a line between them.

    *left_out* is how many lines are missing there, null if none is; then *path* names a file that
    has all of it. *lost* bytes are no longer kept. A later excerpt goes on at *cursor*.
    """

    text: str
    left_out: int | None = None
    path: str | None = None
    cursor: int
    lost: int = 0
