"""The arguments of the six `pty_*` tools, from which their schemas follow.

Rule of the file: models pay for every byte of a schema at every turn, so one short sentence per
tool and a few words per argument; errors and results teach the rest.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from agent_pty.errors import BadRequest

MOST_TIMEOUT_MS = 300_000
MOST_WAIT_MS = 30_000

_Command = Annotated[str, Meta(description="Executable; not a shell line")]
_Arguments = Annotated[list[str], Meta(description="Its arguments")]
_Cwd = Annotated[str, Meta(description="Directory to start in")]
_Id = Annotated[str, Meta(description="Session id")]
_WaitMs = Annotated[
    int, Meta(description=f"Wait at most this long for new output; max {MOST_WAIT_MS}")
]
_Until = Annotated[str | None, Meta(description="Wait for this text, regex:PATTERN, or exit")]


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all; the docstring of each is the description of its tool."""


class ExecArguments(Arguments, frozen=True, kw_only=True):
    """Run a program in a terminal, wait for its end, return its output and exit code.

    After timeout_ms it goes on as a session.
    """

    command: _Command
    args: _Arguments = field(default_factory=list)
    cwd: _Cwd = ""
    timeout_ms: Annotated[int, Meta(description=f"Default 60000, max {MOST_TIMEOUT_MS}")] = 60_000


class StartArguments(Arguments, frozen=True, kw_only=True):
    """Start a long-running or interactive program (server, REPL, shell); return its session id.

    With wait_ms, return what it shows first, too.
    """

    command: _Command
    args: _Arguments = field(default_factory=list)
    cwd: _Cwd = ""
    title: Annotated[str, Meta(description="Label")] = ""
    wait_ms: _WaitMs = 0
    until: _Until = None


class ReadArguments(Arguments, frozen=True, kw_only=True):
    """Read a session's output and state.

    Pass the [cursor: N] of the last answer as since to get only what is new.
    """

    id: _Id
    since: Annotated[int | None, Meta(description="Cursor; only output after it")] = None
    tail: Annotated[int | None, Meta(description="Only the last N lines")] = None
    wait_ms: _WaitMs = 0
    until: _Until = None
    pattern: Annotated[str | None, Meta(description="Only lines matching this regex")] = None
    view: Annotated[
        Literal["text", "screen", "image"] | None,
        Meta(description="screen: what a person would see; image: its picture too"),
    ] = None


class SendArguments(Arguments, frozen=True, kw_only=True):
    r"""Type into a session; \r is Enter, \x03 Ctrl-C.

    With wait_ms, return the new output too.
    """

    id: _Id
    input: Annotated[str, Meta(description=r"Text; escapes \r \n \t \e \xHH \uHHHH")] = ""
    submit: Annotated[bool, Meta(description="Press Enter afterwards")] = False
    keys: Annotated[list[str], Meta(description="Keys pressed after input: Up, Enter, C-c")] = (
        field(default_factory=list)
    )
    ask: Annotated[bool, Meta(description="Let the user answer what the program asks")] = False
    wait_ms: _WaitMs = 0
    until: _Until = None


class ListArguments(Arguments, frozen=True, kw_only=True):
    """List the sessions and their state; look here before you start something twice."""


class StopArguments(Arguments, frozen=True, kw_only=True):
    """End a session with all its processes."""

    id: _Id


ARGUMENTS: dict[str, type[Arguments]] = {
    "pty_exec": ExecArguments,
    "pty_start": StartArguments,
    "pty_read": ReadArguments,
    "pty_send": SendArguments,
    "pty_list": ListArguments,
    "pty_stop": StopArguments,
}
# As the seed declares it. A call with keys only is accepted all the same.
_ALSO_REQUIRED = {"pty_send": ["input"]}
EXAMPLES = {
    "pty_exec": '{"command": "git", "args": ["status"]}',
    "pty_start": '{"command": "npm", "args": ["run", "dev"]}',
    "pty_read": '{"id": "p1", "since": 42, "wait_ms": 2000}',
    "pty_send": r'{"id": "p1", "input": "ls\r"}',
    "pty_list": "{}",
    "pty_stop": '{"id": "p1"}',
}


def parsed(name: str, arguments: dict[str, Any]) -> Arguments:
    """Return the arguments of a call, or say how a right call looks."""
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        return msgspec.convert(given, ARGUMENTS[name])
    except msgspec.ValidationError as error:
        said = str(error).replace("`", "").replace("$.", "")
        raise BadRequest(f"{said}; for example: {name} {EXAMPLES[name]}") from error


def description(name: str) -> str:
    """Return what a tool does, in one line."""
    return " ".join((ARGUMENTS[name].__doc__ or "").split())


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, without what says nothing to a model."""
    found = msgspec.json.schema(ARGUMENTS[name])
    whole = found["$defs"][ARGUMENTS[name].__name__]
    properties = {key: _brief(one) for key, one in whole["properties"].items()}
    required = [*whole.get("required", []), *_ALSO_REQUIRED.get(name, [])]
    brief: dict[str, Any] = {"type": "object", "properties": properties}
    return {**brief, "required": required} if required else brief


def _brief(one: dict[str, Any]) -> dict[str, Any]:
    """Leave out the default, and that an argument may also be null."""
    if "anyOf" in one:
        one = {**one, **next(kind for kind in one["anyOf"] if kind.get("type") != "null")}
    if "enum" in one:
        one = {**one, "type": "string", "enum": [word for word in one["enum"] if word]}
    return {
        key: value for key, value in one.items() if key in {"type", "items", "enum", "description"}
    }
