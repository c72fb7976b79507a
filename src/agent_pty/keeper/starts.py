"""Programs between fork and exec: each is reported when it runs, or with the reason it failed."""

from __future__ import annotations

import json
import os
import selectors
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_pty.core.process_mark import process_mark
from agent_pty.keeper.message import Exit, Spawn
from agent_pty.keeper.program import Program, Started, start

# A program that has not reached its exec after this time hangs in chdir or on its file.
_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Starting:
    """A forked program that has not yet reached its exec."""

    started: Started
    instance: str
    spec: Any
    runs: Callable[[Starting], None]
    fails: Callable[[dict[str, Any]], None]
    deadline: float
    ended: Exit | None = None


class Starts:
    """Every program that is being started."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._starting: dict[int, Starting] = {}

    def __len__(self) -> int:
        return len(self._starting)

    @property
    def patience(self) -> float | None:
        """How many seconds the loop may sleep; None if no program is being started."""
        deadlines = [starting.deadline for starting in self._starting.values()]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def begin(
        self,
        spawn: Spawn,
        *,
        runs: Callable[[Starting], None],
        fails: Callable[[dict[str, Any]], None],
    ) -> None:
        """Fork a program; *runs* is called once it runs, *fails* if it could not be started."""
        program = Program(
            argv=spawn.argv,
            cwd=spawn.cwd,
            env=spawn.env,
            rows=spawn.rows,
            cols=spawn.cols,
            secret=spawn.secret,
            whole=spawn.whole,
            mark=process_mark(spawn.instance),
        )
        starting = Starting(
            started=start(program),
            instance=spawn.instance,
            spec=spawn.spec,
            runs=runs,
            fails=fails,
            deadline=time.monotonic() + _SECONDS,
        )
        report = starting.started.report
        self._starting[report] = starting
        self._selector.register(
            report, selectors.EVENT_READ, lambda _events: self._settle(starting)
        )

    def ended(self, pid: int, ended: Exit) -> None:
        """Note that a child ended: a short program can be reaped before the loop sees its exec."""
        for starting in self._starting.values():
            if starting.started.pid == pid:
                starting.ended = ended

    def _settle(self, starting: Starting) -> None:
        """Read the report: the program has reached its exec, or the reason why it could not."""
        report = os.read(starting.started.report, 1 << 16)
        self._forget(starting)
        if report:
            self._fail(starting, json.loads(report))
        else:
            starting.runs(starting)

    def abandon_late(self) -> None:
        """End the programs that take too long."""
        now = time.monotonic()
        for starting in [one for one in self._starting.values() if one.deadline <= now]:
            if starting.ended is None:
                os.kill(starting.started.pid, signal.SIGKILL)  # our own unreaped child
            self._forget(starting)
            reason = f"not started within {_SECONDS:g} s: is its directory reachable?"
            self._fail(starting, {"stage": "cwd", "reason": reason, "errno": None})

    def _forget(self, starting: Starting) -> None:
        self._selector.unregister(starting.started.report)
        del self._starting[starting.started.report]
        os.close(starting.started.report)

    def _fail(self, starting: Starting, why: dict[str, Any]) -> None:
        os.close(starting.started.master)
        starting.fails(why)
