"""Programs between fork and exec: each is reported when it runs, or with the reason it failed.

The kernel asks already before a guarded program itself is executed, once for each directory of
PATH. That was asked for, so it is allowed here; and only then is it certain that the guard works.
"""

from __future__ import annotations

import json
import os
import select
import selectors
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_pty.core.process_mark import process_mark
from agent_pty.keeper.message import Exit, Spawn
from agent_pty.keeper.program import Program, Started, given_listener, start
from agent_pty.keeper.seccomp import Question
from agent_pty.keeper.session_guard import SessionGuard
from agent_pty.keeper.spool import create_spool

# A program that has not reached its exec after this time hangs in chdir or on its file.
_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Starting:
    """A forked program that has not yet reached its exec, and the spool for its output."""

    started: Started
    spool: int
    instance: str
    spec: Any
    runs: Callable[[Starting], None]
    fails: Callable[[dict[str, Any]], None]
    deadline: float
    ended: Exit | None = None
    guard: SessionGuard | None = None
    no_new_privs: bool = False
    # Whether the kernel has asked: the guard works.
    was_asked: bool = False


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
            guard=spawn.guard,
            mark=process_mark(spawn.instance, guarded=spawn.guard),
        )
        spool = create_spool()
        try:
            started = start(program)
        except BaseException:
            os.close(spool)
            raise
        starting = Starting(
            started=started,
            spool=spool,
            instance=spawn.instance,
            spec=spawn.spec,
            runs=runs,
            fails=fails,
            deadline=time.monotonic() + _SECONDS,
        )
        report = started.report
        self._starting[report] = starting
        self._selector.register(
            report, selectors.EVENT_READ, lambda _events: self._settle(starting)
        )
        if started.guard is not None:
            self._selector.register(
                started.guard, selectors.EVENT_READ, lambda _events: self._take_listener(starting)
            )

    # -- the guard

    def _take_listener(self, starting: Starting) -> None:
        """Take the listener of a program; without one its report says why."""
        if starting.started.guard is None or starting.guard is not None:
            return
        given = given_listener(starting.started.guard)
        self._selector.unregister(starting.started.guard)
        if given is not None:
            listener, starting.no_new_privs = given
            starting.guard = SessionGuard(
                starting.instance,
                listener,
                self._selector,
                lambda question: self._asked(starting, question),
            )

    def _asked(self, starting: Starting, question: Question) -> None:
        """Allow the exec of the program itself; what it executes in its turn is not ours."""
        guard = starting.guard
        if guard is None:
            return
        # The report ends before the program runs, so that what it executes is never taken for it.
        if self._has(starting) and _readable(starting.started.report):
            self._settle(starting)
        if self._has(starting):
            starting.was_asked = True
            guard.allow(question)
        else:
            guard.take(question)

    def _has(self, starting: Starting) -> bool:
        return self._starting.get(starting.started.report) is starting

    # -- its end

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
        elif starting.started.guard is not None and not starting.was_asked:
            os.kill(starting.started.pid, signal.SIGKILL)
            reason = "the kernel did not ask before it executed the program"
            self._fail(starting, {"stage": "guard", "reason": reason, "errno": None})
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
        if starting.started.guard is not None:
            if starting.started.guard in self._selector.get_map():
                self._selector.unregister(starting.started.guard)
            starting.started.guard.close()

    def _fail(self, starting: Starting, why: dict[str, Any]) -> None:
        if starting.guard is not None:
            starting.guard.close()
        os.close(starting.started.master)
        os.close(starting.spool)
        starting.fails(why)


def _readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))
