"""CellRunner that have ended: kept until somebody collects them, in memory and beside the session.

A fired cell's result is also in a file, so that it outlives its host.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections import OrderedDict, deque
from dataclasses import dataclass

import msgspec

from agent_pty.errors import UnknownCell
from agent_pty.host.cells.cell import Cell, CellStart, Result
from agent_pty.host.events import CellEnded
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.ops.cell_model import CellFact, Status
from agent_pty.store import atomic
from agent_pty.store.textlog import TextLog

_KEPT = 64
_RECENT = 16
_REMEMBERED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a cell, or a note, and where the transcript was then."""

    place: int
    fact: CellFact
    message: str = ""
    who: str = ""
    exit_code: int | None = None


class Results:
    """The past of a session's cells."""

    def __init__(self, directory: str, output: TerminalOutput) -> None:
        self._directory = f"{directory}/cells"
        self._output = output
        self._kept: OrderedDict[str, Cell] = OrderedDict()
        self.last: Cell | None = None
        # Given out, but perhaps still being read by pages.
        self._recent: OrderedDict[str, Cell] = OrderedDict()
        self.events: deque[Event] = deque(maxlen=_REMEMBERED)
        self._load()

    # -- what happened

    def note(
        self,
        cell_id: str,
        status: str,
        *,
        message: str = "",
        who: str = "",
        exit_code: int | None = None,
    ) -> None:
        """Remember an event of a cell, or a person's note."""
        fact = CellFact(cell_id=cell_id, status=status, at=_now())
        place = self._output.log.committed
        self.events.append(
            Event(place=place, fact=fact, message=message, who=who, exit_code=exit_code)
        )

    def fact(self, cell_id: str) -> CellFact | None:
        """Return the last that is known of a cell."""
        found = (one.fact for one in reversed(self.events) if one.fact.cell_id == cell_id)
        if (fact := next(found, None)) is not None:
            return fact
        kept = self._kept.get(cell_id)  # of a host before us
        if kept is None or kept.result is None:
            return None
        result = kept.result
        return CellFact(cell_id=cell_id, status=event_of(result), at=_now())

    # -- results

    def begin(self, start: CellStart) -> None:
        """Note that a fired cell runs."""
        self._save(self._running, start)

    def take_running(self) -> Cell | None:
        """Return the cell that ran when the host before us died."""
        try:
            with open(self._running, "rb") as file:
                return Cell.resumed(msgspec.json.decode(file.read(), type=CellStart))
        except (OSError, msgspec.DecodeError):
            return None

    def add(self, cell: Cell, result: Result) -> None:
        """Keep how a cell ended, if nobody was told yet."""
        self.last = cell
        self.remember(cell)
        if not cell.kept:
            return
        self._kept[cell.id] = cell
        self._save(self._path(cell.id), result)
        with contextlib.suppress(OSError):
            os.unlink(self._running)
        while len(self._kept) > _KEPT:
            self._forget(next(iter(self._kept)))

    def remember(self, cell: Cell) -> None:
        """Let a cell's output be read by pages, also after its result was collected."""
        self._recent[cell.id] = cell
        while len(self._recent) > _RECENT:
            self._recent.popitem(last=False)

    def recent(self, cell_id: str) -> Cell | None:
        """Return a cell that ended not long ago, collected or not."""
        return self._recent.get(cell_id) or self._kept.get(cell_id)

    def find(self, cell_id: str) -> Cell:
        """Return a cell that waits to be collected."""
        if cell_id not in self._kept:
            raise UnknownCell(f"unknown cell {cell_id}", cell_id=cell_id)
        return self._kept[cell_id]

    def readable(self, cell_id: str) -> Cell:
        """Return a cell whose output can be read: also one that was collected just now."""
        return self._recent.get(cell_id) or self.find(cell_id)

    def newest(self) -> Cell | None:
        """Return the cell that ended last and was not collected.

        Whoever interrupted a cell knows its result: it is given by its id only. Directly after
        that, an older result would be taken for it, so there is none.
        """
        if self.last is not None and _interrupted(self.last) and self.last.id in self._kept:
            return None
        return next((one for one in reversed(self._kept.values()) if not _interrupted(one)), None)

    def collect(self, cell: Cell) -> None:
        """Forget a result that was given out."""
        self.remember(cell)
        self._forget(cell.id)

    def _forget(self, cell_id: str) -> None:
        self._kept.pop(cell_id, None)
        with contextlib.suppress(OSError):
            os.unlink(self._path(cell_id))

    # -- files

    def _path(self, cell_id: str) -> str:
        return f"{self._directory}/{cell_id}.json"

    @property
    def _running(self) -> str:
        return f"{self._directory}/running"

    def _save(self, path: str, what: Result | CellStart) -> None:
        # A full disk costs only what a crash of the host would find.
        with contextlib.suppress(OSError):
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            self._output.log.flush()
            atomic.replace(path, msgspec.json.encode(what), durable=False)

    def _load(self) -> None:
        if not os.path.isdir(self._directory):
            return
        for entry in sorted(os.scandir(self._directory), key=lambda one: one.stat().st_mtime_ns):
            if entry.name.endswith(".json"):
                self._take(entry.path)

    def _take(self, path: str) -> None:
        with open(path, "rb") as file, contextlib.suppress(msgspec.DecodeError):
            cell = Cell.ended(msgspec.json.decode(file.read(), type=Result))
            self.last = self._kept[cell.id] = cell


def _interrupted(cell: Cell) -> bool:
    return cell.result is not None and cell.result.error == "interrupted"


def event_of(result: Result) -> str:
    """Return the status that a `cell` event has for an end."""
    if result.status is Status.DONE:
        return "done"
    return result.error if result.error in ("interrupted", "exited") else "error"


def ended_signal(result: Result, log: TextLog) -> CellEnded:
    """Return what the other parts of the session are told of an end."""

    def tail(characters: int) -> str:
        return result.output.tail_text(log, characters)

    return CellEnded(
        cell_id=result.cell_id,
        status=event_of(result),
        exit_code=result.exit_code,
        duration_ms=result.duration_ms,
        output_bytes=result.output.size,
        output_tail=tail,
    )


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
