"""The kernel's side of the guard: it asks before every exec, and waits for the answer.

Rule of this file: a question is received once, by the keeper. Whoever has a duplicate of the
listener may answer it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import select
import struct
import sys
from dataclasses import dataclass

from agent_pty.keeper.seccomp_filter import MACHINES, Calls, calls_of, encoded, instructions

_SYSCALL = {"x86_64": 317, "aarch64": 277}  # of seccomp itself
_SET_FILTER = 1
_NEW_LISTENER = 1 << 3
# Since Linux 5.19: once a question was received, only SIGKILL ends the wait for its answer.
# Otherwise any signal would, and the exec that is then repeated would be asked about twice.
_WAIT_KILLABLE = 1 << 5
_NO_NEW_PRIVILEGES = 38
_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_QUESTION = struct.Struct("=QII iIQ 6Q")
_ANSWER = struct.Struct("=QqiI")
_GO_ON = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A thread *pid* wants to execute something and waits; *arguments* are those of the call."""

    id: int
    pid: int
    calls: Calls
    number: int
    arguments: tuple[int, ...]

    @property
    def is_at(self) -> bool:
        """Whether the path is relative to a descriptor (execveat)."""
        return self.number in self.calls.at

    @property
    def word(self) -> int:
        """How many bytes a pointer has."""
        return 4 if self.number in self.calls.narrow else 8


class Unavailable(OSError):
    """The system does not let us ask; its text says why."""


def install() -> tuple[int, bool]:
    """Have the kernel ask before every exec of this process and all that it starts.

    Return the listener, which gets the questions, and whether this process had to give up getting
    new privileges: without that only a privileged one may have a filter.
    """
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        here = f"{sys.platform} on {platform.machine()}"
        raise Unavailable(errno.ENOSYS, f"there is no guard for {here}")
    try:
        try:
            return _listener(), False
        except PermissionError:
            _give_up_new_privileges()
            return _listener(), True
    except OSError as error:
        raise Unavailable(error.errno, reason(error.errno)) from error


def _listener() -> int:
    try:
        return _set_filter(_NEW_LISTENER | _WAIT_KILLABLE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return _set_filter(_NEW_LISTENER)


def _set_filter(flags: int) -> int:
    machine = platform.machine()
    code = encoded(instructions(MACHINES[machine]))
    kept = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: a count and, at the place of a pointer, the address.
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    found: int = libc.syscall(_SYSCALL[machine], _SET_FILTER, ctypes.c_uint(flags), program)
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found


def _give_up_new_privileges() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def reason(number: int | None) -> str:
    """Say in plain words why there is no listener."""
    reasons = {
        errno.EBUSY: "another program asks already: we run inside a guarded session or container",
        errno.EINVAL: "the kernel is older than 5.5, or does not offer this",
        errno.ENOSYS: "the kernel has no seccomp, or not on this kind of machine",
        errno.EPERM: "a container or a security module forbids seccomp filters",
        errno.EACCES: "a container or a security module forbids seccomp filters",
    }
    return reasons.get(number or 0) or f"the kernel refuses the filter: {os.strerror(number or 0)}"


def receive(listener: int) -> Question | None:
    """Return the next question; None if whoever asked is gone. Call it when there is one."""
    buffer = bytearray(_QUESTION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, buffer)
    except (FileNotFoundError, InterruptedError):
        return None
    identity, pid, _, number, architecture, _, *arguments = _QUESTION.unpack(buffer)
    calls = calls_of(platform.machine(), architecture)
    if calls is None:  # cannot be: the filter lets no other kind of program through
        answer(listener, identity, error=errno.EPERM)
        return None
    return Question(
        id=identity,
        pid=pid,
        calls=calls,
        number=number & calls.mask,
        arguments=tuple(arguments),
    )


def is_open(listener: int, identity: int) -> bool:
    """Whether whoever asked still waits: only then does its pid still mean the same process."""
    try:
        fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", identity))
    except FileNotFoundError:
        return False
    return True


def is_later(identity: int, other: int) -> bool:
    """Whether a question came after another one; their numbers begin anywhere and go on at 0.

    >>> is_later(7, 6), is_later(0, 2**64 - 1), is_later(6, 7)
    (True, True, False)
    """
    return 0 < (identity - other) % (1 << 64) < 1 << 63


def answer(listener: int, identity: int, *, error: int | None) -> None:
    """Let the exec happen, or have it fail with *error*; nothing if nobody waits any more."""
    body = _ANSWER.pack(identity, 0, 0 if error is None else -error, _GO_ON if error is None else 0)
    with contextlib.suppress(FileNotFoundError, BlockingIOError):
        fcntl.ioctl(listener, _SEND, body)


def state(listener: int) -> tuple[bool, bool]:
    """Return whether there is a question, and whether nobody is left who could ask one."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    events = sum(event for _, event in poll.poll(0))
    return bool(events & select.POLLIN), bool(events & select.POLLHUP)
