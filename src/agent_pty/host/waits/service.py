"""What ops ask of a session's waits: wait, and describe what was seen."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

import msgspec

from agent_pty.core.condition import Met
from agent_pty.core.output_paused import paused_suffix
from agent_pty.errors import WaitTimeout
from agent_pty.host import principal
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.evidence.snapshots import Snapshots
from agent_pty.host.terminal import pages
from agent_pty.host.terminal.screen import ScreenReader
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.host.waits.settling import Settling
from agent_pty.host.waits.view import InputPoint
from agent_pty.host.waits.waits import ProgramEnded, Waits
from agent_pty.ops.model import TAIL_CHARACTERS, Observation, ProcessSnapshot
from agent_pty.process import table


class WaitService:
    """See `ops.context.Waits`."""

    def __init__(
        self,
        terminal: Terminal,
        screen: ScreenReader,
        waits: Waits,
        recorder: Recorder,
        snapshots: Snapshots,
    ) -> None:
        self._terminal = terminal
        self._screen = screen
        self._waits = waits
        self._recorder = recorder
        self._snapshots = snapshots

    async def wait(
        self,
        *,
        until: Sequence[str],
        fail_on: Sequence[str],
        patience: float,
        since: int | None,
        files: bool,
    ) -> Observation:
        """Return what was seen when a condition came true; with *files*, also of the work tree."""
        terminal = self._terminal
        self._recorder.note_wait(until, patience, principal.acting.get())
        waiting = self._waits.wait(
            until=until,
            fail_on=fail_on,
            point=self._waits.last_input if since is None else self._point_at(since),
            since=terminal.active_at,
            ended=not terminal.running,
        )
        try:
            async with asyncio.timeout(patience):
                met = await waiting
        except ProgramEnded:
            error = terminal.ended_error(f"{_shown(until)} can no longer come true")
            error.details["observation"] = await self._observed(None, files=files)
            raise error from None
        except TimeoutError:
            seen = await self._observed(None, files=files)
            raise WaitTimeout(
                f"timed out waiting for {_shown(until)} in session {terminal.name}"
                + paused_suffix(terminal.name, paused=seen.output_paused),
                id=terminal.name,
                observation=seen,
            ) from None
        return await self._observed(met, files=files)

    def settling(self) -> Settling:
        """Note who reads the keyboard now, before something is typed."""
        return Settling(self._terminal, self._waits)

    def _point_at(self, cursor: int) -> InputPoint:
        """Return a point in the past; if it lies before the last input, its echo is no answer."""
        output, last = self._terminal.output, self._waits.last_input
        place = output.log.place(cursor)
        if place <= last.place:
            return dataclasses.replace(last, place=place)
        return InputPoint(place=place, screen=output.emulator.text().split("\n"))

    async def _observed(self, met: Met | None, *, files: bool) -> Observation:
        """Describe what is there now, and record it before the answer leaves."""
        seen = self._observation(met)
        if files:
            snapshot, changed, skipped = await self._snapshots.seen()
            seen = msgspec.structs.replace(
                seen, git_snapshot=snapshot, files_changed=changed, git_skipped=skipped
            )
        reference = self._snapshots.reference(seen.git_snapshot)
        self._recorder.note_observation(seen, reference, principal.acting.get())
        return seen

    def _observation(self, met: Met | None) -> Observation:
        terminal = self._terminal
        cursor = terminal.output.cursor
        begin = max(0, cursor - 4 * TAIL_CHARACTERS)
        end = pages.page(terminal.output, since=begin, limit=1 << 20)
        return Observation(
            screen=self._screen.read(),
            stdout_tail=end.text[-TAIL_CHARACTERS:],
            stderr_tail="",
            exit_status=terminal.ending.status,
            files_changed=None,
            git_snapshot=None,
            process_snapshot=_processes(terminal.root.pid),
            matched=met.condition if met else "",
            failed=met.failing if met else False,
            match=met.found[:TAIL_CHARACTERS] if met else None,
            cursor=cursor,
            id=terminal.name,
            output_paused=terminal.output_paused,
            guess=met.guess if met else False,
            line=met.line[:TAIL_CHARACTERS] if met and met.line is not None else None,
        )


def _processes(root: int) -> ProcessSnapshot | None:
    found = [table.described(entry) for entry in table.family(root)]
    return ProcessSnapshot(root_pid=root, processes=found) if found else None


def _shown(conditions: Sequence[str]) -> str:
    return " or ".join(conditions)
