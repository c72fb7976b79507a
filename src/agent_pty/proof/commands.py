"""The commands of a session: what was typed, and its cells with what came of them."""

from __future__ import annotations

from collections import Counter

import msgspec

from agent_pty.core.evidence.event import (
    CellFinished,
    CellStarted,
    Exec,
    GuardedPrograms,
    SendKeys,
)
from agent_pty.core.evidence.event_reader import ReadEvent
from agent_pty.ops.proof_model import ProvedCell
from agent_pty.proof.both_ends import BothEnds
from agent_pty.proof.person import who
from agent_pty.proof.typed_command import started, typed_text

_COMMANDS_ROOM = 256_000
_CELLS_ROOM = 400_000
_LONGEST_CODE = 16_000
_MOST_PROGRAMS = 1000
_CELL_INPUT = "cell"


class Commands:
    """Fed with all events."""

    def __init__(self) -> None:
        self.run: BothEnds[str] = BothEnds(_COMMANDS_ROOM)
        self.failed = 0
        self._cells: BothEnds[ProvedCell] = BothEnds(_CELLS_ROOM)
        self._open: dict[str, ProvedCell] = {}
        self._newest: str | None = None
        # What ended last: the guard counts its programs a moment later.
        self._ended: ProvedCell | None = None
        self._programs: Counter[str] = Counter()

    @property
    def cells(self) -> BothEnds[ProvedCell]:
        """Every cell; ask once all events were fed."""
        self._put_ended()
        for one in self._open.values():
            self._cells.add(one)
        self._open.clear()
        return self._cells

    @property
    def programs(self) -> dict[str, int]:
        """How often each program ran where the guard stood, the most frequent first."""
        return dict(self._programs.most_common(_MOST_PROGRAMS))

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        match event.payload:
            case Exec() as action:
                self.run.add(started(action))
            case SendKeys() as keys:
                self._note_input(event, keys)
            case CellStarted() as begun:
                self._begin(event, begun)
            case CellFinished() as end:
                self._end(event, end)
            case GuardedPrograms() as seen:
                self._count(seen)

    def _note_input(self, event: ReadEvent, keys: SendKeys) -> None:
        text = typed_text(keys)
        if text:
            self.run.add(text)
        cell = self._open.get(self._newest or "")
        if keys.input == _CELL_INPUT and cell is not None and cell.by is None:
            by = who(event.principal)
            self._open[cell.cell_id] = msgspec.structs.replace(cell, by=by)

    def _begin(self, event: ReadEvent, begun: CellStarted) -> None:
        self._put_ended()
        self._newest = begun.cell_id
        self._open[begun.cell_id] = ProvedCell(
            cell_id=begun.cell_id,
            code=begun.code[:_LONGEST_CODE],
            status=None,
            exit_code=None,
            duration_ms=None,
            output=None,
            output_bytes=None,
            started_event=event.sequence,
            finished_event=None,
            started_at=event.timestamp,
            by=who(event.principal),
        )

    def _end(self, event: ReadEvent, end: CellFinished) -> None:
        self._put_ended()
        self.failed += bool(end.exit_code)
        begun = self._open.pop(end.cell_id, None) or ProvedCell(
            cell_id=end.cell_id,
            code="",
            status=None,
            exit_code=None,
            duration_ms=None,
            output=None,
            output_bytes=None,
            started_event=None,
            finished_event=None,
            started_at=None,
            by=None,
        )
        self._ended = msgspec.structs.replace(
            begun,
            status=end.status,
            exit_code=end.exit_code,
            duration_ms=end.duration_ms,
            output=end.output,
            output_bytes=end.output_bytes,
            finished_event=event.sequence,
        )

    def _put_ended(self) -> None:
        if self._ended is not None:
            self._cells.add(self._ended)
            self._ended = None

    def _count(self, seen: GuardedPrograms) -> None:
        self._programs.update(seen.programs)
        if self._ended is not None and seen.cell_id == self._ended.cell_id:
            self._ended = _with_programs(self._ended, seen)
        elif seen.cell_id in self._open:
            self._open[seen.cell_id] = _with_programs(self._open[seen.cell_id], seen)


def _with_programs(cell: ProvedCell, seen: GuardedPrograms) -> ProvedCell:
    total = Counter(cell.programs)
    total.update(seen.programs)
    return msgspec.structs.replace(cell, programs=dict(total.most_common(_MOST_PROGRAMS)))
