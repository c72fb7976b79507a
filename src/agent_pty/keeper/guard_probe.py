"""Whether the guard can work here: tried with a child that is asked about and refused."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
from typing import NoReturn

from agent_pty.keeper import seccomp
from agent_pty.keeper.exec_arguments import read_arguments
from agent_pty.keeper.program import be_guarded, given_listener
from agent_pty.keeper.seccomp import Unavailable

_MILLISECONDS = 2000
_UNKNOWN = 255
# An error that an exec has from nobody else.
_REFUSAL = errno.ECANCELED
_PROGRAM = "/agent-pty-probe"


def probe() -> bool:
    """Return whether a guarded program has to give up new privileges; raise `Unavailable`.

    The caller has no other threads.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pid = os.fork()
        if pid == 0:
            _be_asked(theirs)
        theirs.close()
        try:
            no_new_privs = _refused(ours)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
    if no_new_privs is None:
        raise Unavailable(status, seccomp.reason(status))
    if status != _REFUSAL:
        raise Unavailable(status, f"an exec was not refused as it should be (error {status})")
    return no_new_privs


def _be_asked(keeper: socket.socket) -> NoReturn:
    """In the child: try to execute something; the error is the exit status."""
    status = _UNKNOWN
    try:
        be_guarded(keeper)
        os.execv(_PROGRAM, [_PROGRAM])
    except OSError as error:
        status = error.errno or _UNKNOWN
    finally:
        os._exit(status)


def _refused(child: socket.socket) -> bool | None:
    """Answer the child's question with an error; return whether it gave up new privileges.

    None: it has no listener; its exit status says why.
    """
    given = given_listener(child)
    if given is None:
        return None
    listener, no_new_privs = given
    try:
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        if not poll.poll(_MILLISECONDS):
            raise Unavailable(errno.ETIMEDOUT, "the kernel does not ask before an exec")
        question = seccomp.receive(listener)
        wanted = None if question is None else read_arguments(listener, question)
        if question is None or wanted is None or wanted.argv != [_PROGRAM]:
            why = wanted.problem if wanted is not None else "whoever asked is gone"
            raise Unavailable(errno.EPERM, why or "the arguments of an exec are not as given")
        seccomp.answer(listener, question.id, error=_REFUSAL)
    finally:
        os.close(listener)
    return no_new_privs
