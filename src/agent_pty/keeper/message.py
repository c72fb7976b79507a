"""The messages between the keeper and the daemon, hosts and clients: a closed set.

Each is a frozen dataclass. On the wire a request is a JSON object whose `do` names it, an event
one whose `event` names it. Unknown fields are ignored and missing ones take their default, so
that messages of the previous build can be read. That build uses `session` for `instance`: both
are sent, and both are understood.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar

Answer = TypeVar("Answer")
# Fields that hold a message, or a dictionary of messages.
_NESTED, _EACH = "nested", "each"
_known_fields: dict[type, tuple[dataclasses.Field[Any], ...]] = {}


@dataclass(frozen=True, kw_only=True)
class Wire:
    """Base of everything that crosses the keeper's socket."""

    def to_wire(self) -> dict[str, Any]:
        """Return the fields as they are sent in JSON."""
        body = dataclasses.asdict(self)
        return {**body, "session": body["instance"]} if "instance" in body else body

    @classmethod
    def from_wire(cls, body: Mapping[str, Any]) -> Self:
        """Build a message from its fields."""
        if "instance" not in body and "session" in body:
            body = {**body, "instance": body["session"]}
        known = [one for one in _fields(cls) if one.name in body]
        return cls(**{one.name: _value(one.metadata, body[one.name]) for one in known})


def _fields(kind: type[Wire]) -> tuple[dataclasses.Field[Any], ...]:
    if kind not in _known_fields:
        _known_fields[kind] = dataclasses.fields(kind)
    return _known_fields[kind]


def _value(metadata: Mapping[Any, Any], value: Any) -> Any:
    if value is not None and _NESTED in metadata:
        return metadata[_NESTED].from_wire(value)
    if _EACH in metadata:
        return {name: metadata[_EACH].from_wire(each) for name, each in value.items()}
    return value


@dataclass(frozen=True, kw_only=True)
class Exit(Wire):
    """How a program ended; both are None if that is not known."""

    code: int | None = None
    signal: int | None = None


@dataclass(frozen=True, kw_only=True)
class HeldSession(Wire):
    """A session that the keeper holds."""

    pid: int
    birth: float | None
    host: str | None
    ended: Exit | None = field(default=None, metadata={_NESTED: Exit})
    spec: Any = None  # as it was given with `Spawn`


@dataclass(frozen=True, kw_only=True)
class Holdings(Wire):
    """The answer to `Hello`: the keeper and what it holds. *build* is empty from an old keeper."""

    pid: int
    version: str = ""
    build: str = ""
    hosts: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, HeldSession] = field(default_factory=dict, metadata={_EACH: HeldSession})
    gateway: int | None = None  # its pid, if there is one


@dataclass(frozen=True, kw_only=True)
class Forked(Wire):
    """The answer to `Fork`."""

    pid: int


@dataclass(frozen=True, kw_only=True)
class Spawned(Wire):
    """The answer to `Spawn`."""

    pid: int
    birth: float | None
    # Whether the kernel asks before every exec, and whether sudo and the like cannot work for that.
    guard: bool = False
    no_new_privs: bool = False


@dataclass(frozen=True, kw_only=True)
class Done(Wire):
    """The answer to everything else."""


# -- requests


@dataclass(frozen=True, kw_only=True)
class KeeperRequest(Wire, Generic[Answer]):
    """Base of requests; *do* is its name on the wire, *answer* the type of the answer."""

    do: ClassVar[str]
    answer: ClassVar[type[Wire]] = Done


@dataclass(frozen=True, kw_only=True)
class Hello(KeeperRequest[Holdings]):
    """Say who connects: a `daemon`, a `host` with its name, or a `client`."""

    do: ClassVar[str] = "hello"
    answer: ClassVar[type[Wire]] = Holdings
    role: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Fork(KeeperRequest[Forked]):
    """Fork a host, or a daemon that reports on the descriptor which comes with the message.

    With `gateway` that descriptor is one end of a connection to the daemon. A gateway that runs
    already gets it by `Connected`.
    """

    do: ClassVar[str] = "fork"
    answer: ClassVar[type[Wire]] = Forked
    role: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Spawn(KeeperRequest[Spawned]):
    """Start a program on a new PTY; *spec* is kept for a daemon that asks what is held."""

    do: ClassVar[str] = "spawn"
    answer: ClassVar[type[Wire]] = Spawned
    instance: str
    spec: Any = None
    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    rows: int
    cols: int
    secret: str | None = None  # see `program.Program`
    whole: bool = False  # see there; daemons of earlier builds send additions only
    guard: bool = False  # see there


@dataclass(frozen=True, kw_only=True)
class Hand(KeeperRequest[Done]):
    """Give a session's terminal to a host, with what it must know of the session."""

    do: ClassVar[str] = "hand"
    instance: str
    host: str
    spec: Any


@dataclass(frozen=True, kw_only=True)
class Custody(KeeperRequest[Done]):
    """Take custody of a session whose master, and after it the spool, come with the message.

    With *guard* the listener is the last descriptor; *execs* are the `ExecAsked` without an answer,
    and *last_exec* is the id of the last one that the host knows.
    """

    do: ClassVar[str] = "custody"
    instance: str
    pid: int
    birth: float | None
    host_pid: int
    spool: bool = False  # whether it comes along; hosts of the previous build have none
    guard: bool = False
    execs: Sequence[Mapping[str, Any]] = ()
    last_exec: int | None = None
    ended: Exit | None = field(default=None, metadata={_NESTED: Exit})


@dataclass(frozen=True, kw_only=True)
class Hold(KeeperRequest[Done]):
    """Hold the terminal of a program that somebody else has started; it comes with the message.

    *replaces*: in the place of the descriptor that is held for this session.
    """

    do: ClassVar[str] = "hold"
    instance: str
    pid: int
    birth: float | None
    spec: Any = None
    replaces: bool = False


@dataclass(frozen=True, kw_only=True)
class NoteEnd(KeeperRequest[Done]):
    """Note how a program ended that is no child of the keeper."""

    do: ClassVar[str] = "note_end"
    instance: str
    ended: Exit = field(metadata={_NESTED: Exit})


@dataclass(frozen=True, kw_only=True)
class Release(KeeperRequest[Done]):
    """Close the master and the spool of a session and forget it."""

    do: ClassVar[str] = "release"
    instance: str


@dataclass(frozen=True, kw_only=True)
class ExecAnswered(KeeperRequest[Done]):
    """The host has answered an exec: forget it. There is no answer to this."""

    do: ClassVar[str] = "exec_answered"
    instance: str
    id: int


@dataclass(frozen=True, kw_only=True)
class Listening(KeeperRequest[Done]):
    """Hold the daemon's listening socket, which comes with the message."""

    do: ClassVar[str] = "listening"


@dataclass(frozen=True, kw_only=True)
class Leaving(KeeperRequest[Done]):
    """The daemon ends as it was asked to: close its socket, or hold it for a *successor*."""

    do: ClassVar[str] = "leaving"
    successor: bool = False


@dataclass(frozen=True, kw_only=True)
class Upgrade(KeeperRequest[Done]):
    """Become the keeper of another build, run by *command*, with the same pid and descriptors."""

    do: ClassVar[str] = "upgrade"
    command: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Stop(KeeperRequest[Done]):
    """End the keeper."""

    do: ClassVar[str] = "stop"


REQUESTS: dict[str, type[KeeperRequest[Any]]] = {
    request.do: request
    for request in (
        Hello,
        Fork,
        Spawn,
        Hand,
        Custody,
        Hold,
        NoteEnd,
        Release,
        ExecAnswered,
        Listening,
        Leaving,
        Upgrade,
        Stop,
    )
}


# -- events


@dataclass(frozen=True, kw_only=True)
class KeeperEvent(Wire):
    """Base of what the keeper sends without a request; *event* is its name on the wire."""

    event: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class Adopt(KeeperEvent):
    """To a host: read this terminal from now on; its master and spool come with the message.

    With *guard* the listener is the last descriptor, and `ExecAsked` follows for each open exec.
    *last_exec* is the id of the last exec that the kernel has asked about.
    """

    event: ClassVar[str] = "adopt"
    instance: str
    spec: Any
    pid: int
    birth: float | None
    keeper: int
    spool: bool = False  # whether it comes along; keepers of the previous build have none
    guard: bool = False
    last_exec: int | None = None
    ended: Exit | None = field(default=None, metadata={_NESTED: Exit})


@dataclass(frozen=True, kw_only=True)
class ExecAsked(KeeperEvent):
    """To a host: the thread *pid* wants to execute something and waits for the host's answer.

    *path* is relative to the descriptor *directory* if there is one. *problem* says why not all of
    it is known. The same may come again after a connection was lost.
    """

    event: ClassVar[str] = "exec_asked"
    instance: str
    id: int
    pid: int
    path: str | None
    argv: list[str]
    directory: int | None = None
    problem: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the fields without copying them: every exec of the session waits for this."""
        return {**vars(self), "session": self.instance}


@dataclass(frozen=True, kw_only=True)
class Ended(KeeperEvent):
    """A session's program has ended."""

    event: ClassVar[str] = "ended"
    instance: str
    ended: Exit = field(metadata={_NESTED: Exit})


@dataclass(frozen=True, kw_only=True)
class HostEnded(KeeperEvent):
    """A host has ended."""

    event: ClassVar[str] = "host_ended"
    host: str
    code: int | None
    signal: int | None


@dataclass(frozen=True, kw_only=True)
class Relisten(KeeperEvent):
    """To the daemon: a client did not find its socket. Report on the descriptor that comes along.

    The file of the socket may have been removed; then the daemon makes it again.
    """

    event: ClassVar[str] = "relisten"


@dataclass(frozen=True, kw_only=True)
class Connected(KeeperEvent):
    """To the gateway: the descriptor that comes along leads to the daemon."""

    event: ClassVar[str] = "connected"


EVENTS: dict[str, type[KeeperEvent]] = {
    event.event: event for event in (Adopt, ExecAsked, Ended, HostEnded, Relisten, Connected)
}
