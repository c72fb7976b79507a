"""Whether a command ran, how it ended, and whether that was after the last change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.claim import Ran
from agent_pty.core.evidence.event_reader import ReadEvent
from agent_pty.core.policy.carried_out import base
from agent_pty.core.policy.certain_run import CertainRun, Ending, certain_run
from agent_pty.core.policy.shell_line import runs
from agent_pty.ops.proof_model import ClaimResult
from agent_pty.proof.claim_answer import answer, damaged
from agent_pty.proof.last_change import LastChange
from agent_pty.proof.typed_command import typed_text

# Cells that ended in another way may not have been run at all: they were incomplete or refused.
_ENDINGS: dict[str, Ending] = {"done": "done", "interrupted": "interrupted", "exited": "exited"}
_NOT_CERTAIN = "the line has it; whether it ran is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A cell whose line has the command; *programs* are what the guard saw in it."""

    cell_id: str
    begun: int
    code: str
    ended: int | None = None
    exit_code: int | None = None
    certain: CertainRun = field(default_factory=CertainRun)
    programs: frozenset[str] = frozenset()

    @property
    def shown(self) -> tuple[int | None, ...]:
        """The events that show it."""
        return self.begun, self.ended


class RanCheck:
    """The claim that a command ran."""

    def __init__(self, claim: Ran) -> None:
        self._claim = claim
        self._open: dict[str, _Run] = {}
        # The last cell with the command that ended, and the last of which it is certain.
        self._last: _Run | None = None
        self._certain: _Run | None = None
        self._typed: int | None = None
        self._change = LastChange()

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        self._change.feed(event)
        match event.payload:
            case events.CellStarted(cell_id=cell_id, code=code) if runs(code, self._claim.words):
                self._open[cell_id] = _Run(cell_id=cell_id, begun=event.sequence, code=code)
            case events.CellFinished(cell_id=cell_id) as end if cell_id in self._open:
                self._end(event, end)
            case events.GuardedPrograms(programs=programs, cell_id=cell_id):
                self._note_programs(cell_id, programs)
            case events.SendKeys(input=kind) as keys if kind != "cell":
                if runs(typed_text(keys), self._claim.words):
                    self._typed = event.sequence

    def _end(self, event: ReadEvent, end: events.CellFinished) -> None:
        run = self._open.pop(end.cell_id)
        ending = _ENDINGS.get(end.status)
        certain = CertainRun()
        if ending is not None:
            words = self._claim.words
            certain = certain_run(run.code, words, code=end.exit_code, ending=ending)
        self._take(replace(run, ended=event.sequence, exit_code=end.exit_code, certain=certain))

    def _note_programs(self, cell_id: str | None, programs: dict[str, int]) -> None:
        """Note what the guard saw; it reports the last programs of a cell after its end."""
        seen = frozenset(programs)
        if cell_id in self._open:
            run = self._open[cell_id]
            self._open[cell_id] = replace(run, programs=run.programs | seen)
        elif self._last is not None and cell_id == self._last.cell_id:
            self._take(replace(self._last, programs=self._last.programs | seen))

    def _take(self, run: _Run) -> None:
        self._last = run
        if run.certain.ran or self._was_seen(run):
            self._certain = run

    def _was_seen(self, run: _Run) -> bool:
        """Whether the guard saw the program; with which arguments, it does not tell."""
        (name, *arguments) = self._claim.words
        names = run.programs if "/" in name else {base(one) for one in run.programs}
        return not arguments and name in names

    def result(self, *, whole: bool) -> ClaimResult:
        """Judge the last cell that ran the command and ended."""
        claim = self._claim
        run = self._certain if claim.exit_code is None else self._last
        if run is None:
            return self._without_run(whole=whole)
        if claim.exit_code is not None:
            wrong = self._wrong_exit(run, claim.exit_code)
            if wrong is not None:
                return wrong
        if claim.after_last_change:
            return self._after_last_change(run, whole=whole)
        return answer(claim, "true", "a cell ran it and ended", *run.shown)

    def _after_last_change(self, run: _Run, *, whole: bool) -> ClaimResult:
        claim = self._claim
        result, reason, at = self._change.judged(begun=run.begun, ended=run.ended or run.begun)
        if result != "true":
            return answer(claim, result, reason, *run.shown, at)
        if not whole:
            return damaged(claim)
        return answer(claim, "true", reason, at, *run.shown)

    def _wrong_exit(self, run: _Run, wanted: int) -> ClaimResult | None:
        claim, certain = self._claim, run.certain
        if run.exit_code is None:
            return answer(claim, "undecidable", "the exit code is not known", *run.shown)
        if not certain.code_is_its_own:
            reason = (
                "the exit code is that of the whole line, which need not be this command's: "
                "run it alone"
            )
            return answer(claim, "undecidable", reason, *run.shown)
        if run.exit_code != wanted:
            return answer(claim, "false", f"the last run ended with {run.exit_code}", *run.shown)
        if certain.code_is_a_wrappers:
            reason = f"the program that ran it may have ended with {wanted} itself"
            return answer(claim, "undecidable", reason, *run.shown)
        return None

    def _without_run(self, *, whole: bool) -> ClaimResult:
        claim = self._claim
        if self._last is not None:
            return answer(claim, "undecidable", _NOT_CERTAIN, *self._last.shown)
        for run in self._open.values():
            return answer(claim, "undecidable", "it has not ended", run.begun)
        if self._typed is not None:
            reason = "it was typed, not run as a cell: nobody knows how it ended"
            return answer(claim, "undecidable", reason, self._typed)
        if not whole:
            return damaged(claim)
        return answer(claim, "false", "no cell and no line that was typed runs it")
