"""Every error this package raises on purpose.

AgentPtyError
├── CallerError            the request is wrong; sending it again cannot help
│   ├── BadRequest
│   │   └── TooLarge
│   ├── UnknownOp
│   ├── UnknownSession
│   ├── SessionExists
│   ├── KeyReused
│   ├── AnswerGone         it was carried out; its answer is no longer kept
│   ├── UnknownCell
│   ├── UnknownFork
│   ├── ForkInUse          a session still works in it
│   ├── UnmergedWork       the fork has work that is nowhere else
│   ├── MergeConflict      the work of a fork does not fit into its source
│   ├── NotOffered         the op exists, but not for this caller or on this surface
│   ├── OperatorOnly       it decides about agents, so no agent may ask for it
│   ├── NotPermitted       the settings do not permit it to agents, or a person must first
│   ├── Unauthorized       the caller must show the token
│   ├── Forbidden          a web page of another site sent it
│   ├── BadConfig          `config.toml` cannot be read
│   └── Usage              the command line is wrong
├── Refused                the policy is against it; nothing was typed or started
│   ├── PolicyDenied       no approval can lift this
│   ├── ApprovalRequired   somebody must approve it first
│   └── SecretPrompt       a person must enter the secret
├── SpawnFailed            the program could not be started
│   └── GuardUnavailable   its execs cannot be judged, as was asked for
├── ForkFailed             no copy was made, and nothing is left of one
├── TmuxFailed             tmux is not installed, does not answer or refused a command
├── SessionEnded           the program is gone; there is nothing to type into
├── WaitTimeout            the condition did not come true in time
├── CellActive             one cell at a time, and one is running
├── NotReady               the program is not at a prompt
├── NotWaiting             there is no question that could be answered
├── InterruptFailed        the program does not stop
├── Busy                   a limit of this machine or of ours is reached
├── DiskFull               there is no room for what must be written first
├── EvidenceUnavailable    it cannot be recorded, so it is not done
├── HostLost               the host went away; what it was doing is unknown
│   └── HostUnresponsive   the host is there but does not answer
├── DaemonError            the daemon cannot be reached, started or stopped
│   ├── DaemonUnreachable
│   ├── DaemonRunning
│   └── VersionMismatch
└── Internal               our mistake; the log has the traceback

The code is the contract: renaming a class breaks nobody. The exit status tells a
shell script the class of the failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class AgentPtyError(Exception):
    """Base of all; *details* carry facts for programs, the message is for people."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details


class CallerError(AgentPtyError):
    """The request is wrong; sending it again cannot help."""

    code = "caller_error"


class BadRequest(CallerError, ValueError):
    """A field is missing, of the wrong type or out of range."""

    code = "bad_request"


class TooLarge(BadRequest):
    """The request is larger than the documented cap."""

    code = "too_large"


class UnknownOp(CallerError):
    """No op has this name."""

    code = "unknown_op"


class UnknownSession(CallerError, LookupError):
    """No session has this name, or none of this name was that instance."""

    code = "unknown_session"

    def __init__(self, name: str, instance: str | None = None) -> None:
        if instance is None:
            super().__init__(f"unknown session {name}", id=name)
            return
        super().__init__(
            f"unknown session {name}: it has no instance {instance}", id=name, instance=instance
        )


class SessionExists(CallerError):
    """The name is taken by a session that still exists."""

    code = "session_exists"

    def __init__(self, name: str) -> None:
        super().__init__(f"session {name} already exists", id=name)


class KeyReused(CallerError):
    """The idempotency key was used before with other content."""

    code = "key_reused"

    def __init__(self, key: str) -> None:
        super().__init__(f"key {key!r} was used before with other content; use a new key", key=key)


class AnswerGone(CallerError):
    """The request with this idempotency key was carried out; its answer is no longer kept."""

    code = "answer_gone"


class UnknownCell(CallerError, LookupError):
    """No cell of this session has this id, or its result was collected already."""

    code = "unknown_cell"


class UnknownFork(CallerError, LookupError):
    """No fork has this name."""

    code = "unknown_fork"

    def __init__(self, name: str) -> None:
        super().__init__(f"unknown fork {name}: agent-pty forks lists them", id=name)


class ForkInUse(CallerError):
    """A session still works in the fork."""

    code = "fork_in_use"


class UnmergedWork(CallerError):
    """The fork has work that is nowhere else."""

    code = "unmerged_work"


class MergeConflict(CallerError):
    """The work of a fork does not fit into its source; nothing was changed."""

    code = "merge_conflict"


class NotOffered(CallerError):
    """The op exists, but not for this caller or on this surface."""

    code = "not_offered"


class OperatorOnly(CallerError):
    """Only an operator may ask for it: a caller outside of every session, at the Unix socket."""

    code = "operator_only"
    exit_status = 3


class NotPermitted(CallerError):
    """The settings do not permit it to agents, or a person must permit it first."""

    code = "not_permitted"


class Unauthorized(CallerError):
    """The caller must show the token."""

    code = "unauthorized"


class Forbidden(CallerError):
    """A web page of another site sent the request, or it was sent to another name."""

    code = "forbidden"


class BadConfig(CallerError):
    """A setting is wrong."""

    code = "bad_config"


class Usage(CallerError):
    """The command line is wrong; nothing was asked."""

    code = "usage"
    exit_status = 2


class Refused(AgentPtyError):
    """The policy is against it; *details* have the rule, the place of the reason and the remedy."""

    code = "refused"
    exit_status = 3


class PolicyDenied(Refused):
    """A rule denies it, and no approval can lift that."""

    code = "policy_denied"


class ApprovalRequired(Refused):
    """A rule demands that somebody approves it first."""

    code = "approval_required"


class SecretPrompt(Refused):
    """The program asks for a secret, which a person must enter."""

    code = "secret_prompt"


class SpawnFailed(AgentPtyError):
    """The program could not be started; nothing was left behind."""

    code = "spawn_failed"


class ForkFailed(AgentPtyError):
    """No copy was made, and nothing is left of one."""

    code = "fork_failed"


class GuardUnavailable(SpawnFailed):
    """The system does not let us judge the execs of a session; nothing was started."""

    code = "guard_unavailable"


class TmuxFailed(AgentPtyError):
    """tmux is not installed, does not answer, or refused a command."""

    code = "tmux_failed"


class SessionEnded(AgentPtyError):
    """The program has ended, so nothing can be typed or waited for."""

    code = "exited"
    exit_status = 5


class WaitTimeout(AgentPtyError, TimeoutError):
    """The condition did not come true in time."""

    code = "timeout"
    exit_status = 4


class CellActive(AgentPtyError):
    """A cell is running in this session; nothing was typed."""

    code = "active_cell"

    def __init__(self, cell: str, **details: Any) -> None:
        super().__init__(f"active cell '{cell}'", cell_id=cell, **details)


class NotReady(AgentPtyError):
    """The program in the session is not at a prompt; nothing was typed."""

    code = "not_ready"


class NotWaiting(AgentPtyError):
    """No cell of the session waits for an answer; nothing was typed."""

    code = "not_waiting"


class InterruptFailed(AgentPtyError):
    """The program did not stop, whatever was tried."""

    code = "interrupt_failed"


class Busy(AgentPtyError):
    """A limit is reached (ptys, descriptors, memory, clients); try again later."""

    code = "busy"


class DiskFull(AgentPtyError):
    """The disk that holds the home is full; try again when there is room."""

    code = "disk_full"


class EvidenceUnavailable(AgentPtyError):
    """What must be recorded cannot be; nothing was done, unless *delivery* says it is unknown."""

    code = "evidence_unavailable"


class HostLost(AgentPtyError):
    """The host went away during the request; whether it acted is unknown."""

    code = "host_lost"
    exit_status = 6


class HostUnresponsive(HostLost):
    """The host lives but has not answered in time; whether it acted is unknown."""

    code = "host_unresponsive"


class DaemonError(AgentPtyError):
    """The daemon cannot be reached, started or stopped."""

    code = "daemon_error"


class DaemonUnreachable(DaemonError, ConnectionError):
    """Nothing answers at the socket."""

    code = "daemon_unreachable"


class DaemonRunning(DaemonError):
    """Another daemon holds this home."""

    code = "daemon_running"


class VersionMismatch(DaemonError):
    """Client and daemon speak different versions."""

    code = "version_mismatch"


class Internal(AgentPtyError):
    """A mistake of ours; the daemon's log has the traceback."""

    code = "internal"


def _tree(root: type[AgentPtyError]) -> list[type[AgentPtyError]]:
    return [root] + [found for child in root.__subclasses__() for found in _tree(child)]


def unwrapped(envelope: Mapping[str, Any]) -> Any:
    """Return what a decoded envelope carries, or raise the error in it.

    This is the one place where a failure becomes an exception again.
    """
    if envelope["ok"]:
        return envelope["data"]
    code, details = envelope.get("code", "error"), envelope.get("details") or {}
    raise from_wire(code, envelope["error"], details)


def from_wire(code: str, message: str, details: dict[str, Any]) -> AgentPtyError:
    """Rebuild the error that crossed the wire; an unknown code becomes the base class."""
    classes = {cls.code: cls for cls in reversed(_tree(AgentPtyError))}
    cls = classes.get(code, AgentPtyError)
    error = cls.__new__(cls)
    AgentPtyError.__init__(error, message, **details)
    return error
