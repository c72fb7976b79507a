"""The cell whose program waits for an approval: it says so until that is decided."""

from __future__ import annotations

from agent_pty.host.cells.cell import Cell
from agent_pty.host.cells.runner import CellRunner


class ApprovalWait:
    """Told by the guard; see `host.guard.exec_guard.Waiting`."""

    def __init__(self, runner: CellRunner) -> None:
        self._runner = runner
        self._cell: Cell | None = None
        self._hint: str | None = None

    @property
    def cell_id(self) -> str | None:
        """The cell that runs now."""
        cell = self._runner.active
        return cell.id if cell is not None and cell.start is not None else None

    @property
    def hint(self) -> str | None:
        """What waits for an approval; None: nothing does."""
        return self._hint

    def held(self, hint: str) -> None:
        """A program waits for an approval."""
        self._hint, cell = hint, self._runner.active
        if cell is not None and cell.runs:
            self._cell = cell
            cell.hold(hint)
            self._runner.publish(cell, "waiting", waiting_for="approval")

    def decided(self) -> None:
        """No program waits any more."""
        self._hint = None
        if self._cell is not None:
            self._cell.let_go()
            self._cell = None
