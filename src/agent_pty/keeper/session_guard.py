"""The execs of one guarded session that wait for an answer.

Rule of this file: nothing is decided here. The kernel gives each question once, so it is kept until
the session's host, or the one after it, has answered. Without a host it waits.
"""

from __future__ import annotations

import errno
import os
import selectors
from collections.abc import Callable, Iterable

from agent_pty import log
from agent_pty.keeper import seccomp
from agent_pty.keeper.exec_arguments import read_arguments
from agent_pty.keeper.message import ExecAsked
from agent_pty.keeper.seccomp import Question

# One session's questions keep the others waiting no longer than this many.
_MOST_AT_ONCE = 32
# A keeper that dies may have received a row of questions, but no more than this.
_MOST_LOST = 2 * _MOST_AT_ONCE
_LARGEST = (1 << 64) - 1


class SessionGuard:
    """Owns a session's *listener*; *take* gets each question as it comes."""

    def __init__(
        self,
        instance: str,
        listener: int,
        selector: selectors.BaseSelector,
        take: Callable[[Question], None] = lambda _question: None,
    ) -> None:
        self.instance = instance
        self._listener: int | None = listener
        self._selector = selector
        self._take = take
        self._forward: Callable[[ExecAsked], None] = lambda _asked: None
        self._open: dict[int, ExecAsked] = {}
        self._last: int | None = None
        selector.register(listener, selectors.EVENT_READ, self._ready)

    @property
    def listener(self) -> int | None:
        """The descriptor; None when no process is left that could ask."""
        return self._listener

    @property
    def open(self) -> list[ExecAsked]:
        """The questions without an answer, in the order in which they came."""
        return list(self._open.values())

    @property
    def last(self) -> int | None:
        """The id of the last question; None: there was none."""
        return self._last

    def _ready(self, _events: int) -> None:
        for _ in range(_MOST_AT_ONCE):
            if self._listener is None:
                return
            asked, left_alone = seccomp.state(self._listener)
            if not asked:
                if left_alone:
                    self.close()
                return
            question = seccomp.receive(self._listener)
            if question is not None:
                self._last = question.id
                self._take(question)

    def take(self, question: Question) -> None:
        """Take a question as it is taken at present."""
        self._take(question)

    def allow(self, question: Question) -> None:
        """Let an exec happen that nobody needs to judge."""
        if self._listener is not None:
            seccomp.answer(self._listener, question.id, error=None)

    # -- the session's host

    def serve(self, forward: Callable[[ExecAsked], None], known: Iterable[ExecAsked] = ()) -> None:
        """From now on *forward* questions to the session's host; *known* ones are open already."""
        self._forward = forward
        self._open |= {asked.id: asked for asked in known}
        self._take = self._keep

    def fail_lost(self, last: int | None) -> None:
        """Have questions fail that a keeper received, and with which it died before a host knew.

        The kernel gives no question twice, but it numbers them: *last* is the last one known.
        """
        if self._listener is None or last is None:
            return
        self._last = last
        for identity in (last + 1 + more & _LARGEST for more in range(_MOST_LOST)):
            if seccomp.is_open(self._listener, identity):
                seccomp.answer(self._listener, identity, error=errno.EAGAIN)
                self._last = identity
                log.line(f"keeper: an exec of {self.instance} was lost, so it has failed")

    def _keep(self, question: Question) -> None:
        if self._listener is None:
            return
        wanted = read_arguments(self._listener, question)
        if wanted is None:
            return
        asked = ExecAsked(
            instance=self.instance,
            id=question.id,
            pid=question.pid,
            path=wanted.path,
            argv=wanted.argv,
            directory=wanted.directory,
            problem=wanted.problem,
        )
        self._open[asked.id] = asked
        self._forward(asked)

    def forward_all(self) -> None:
        """Give every open question to a host that has come; what nobody waits for is forgotten."""
        for asked in self.open:
            if self._listener is not None and seccomp.is_open(self._listener, asked.id):
                self._forward(asked)
            else:
                del self._open[asked.id]

    def answered(self, identity: int) -> None:
        """Forget a question that the host has answered."""
        self._open.pop(identity, None)

    # -- the end

    def refuse_everything(self) -> None:
        """Its session is no more, so nobody judges: what still runs of it can execute nothing."""
        self._take = self._refuse
        for asked in self.open:
            self._answer_no(asked.id)
        self._open.clear()
        self._ready(0)

    def _refuse(self, question: Question) -> None:
        log.line(f"keeper: process {question.pid} outlived its guarded session: exec refused")
        self._answer_no(question.id)

    def _answer_no(self, identity: int) -> None:
        if self._listener is not None:
            seccomp.answer(self._listener, identity, error=errno.EPERM)

    def close(self) -> None:
        """Close the listener; later calls do nothing."""
        if self._listener is not None:
            self._selector.unregister(self._listener)
            os.close(self._listener)
            self._listener = None
        self._open.clear()
