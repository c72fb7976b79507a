"""`new`: start a program in a session of its own."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from agent_pty.core.command import (
    Call,
    Command,
    Fields,
    Part,
    argument,
    assignments,
    directory,
    expand,
    long_duration,
    part,
    program,
)
from agent_pty.core.guard_mode import GuardMode
from agent_pty.errors import BadRequest, SpawnFailed
from agent_pty.ops.context import Registry
from agent_pty.ops.environment import (
    CALLERS_ENVIRONMENT,
    Added,
    Environment,
    Pager,
    check_environment,
)
from agent_pty.ops.gated import WAIT_APPROVAL, Gated
from agent_pty.ops.guard_model import GuardStands
from agent_pty.ops.model import Wanted
from agent_pty.ops.op import Op
from agent_pty.ops.tmux_socket import socket_option

MOST_ROWS = 1000
MOST_COLS = 1000
Rows = Annotated[int, Meta(ge=1, le=MOST_ROWS, description="height in rows")]
Cols = Annotated[int, Meta(ge=1, le=MOST_COLS, description="width in columns")]
CompletionMode = Annotated[
    str,
    Meta(
        pattern="^(exact:|hook:/|repeat$)",
        description="how the end of a command is found: exact:PROMPT, hook:/PATH, repeat; "
        "default: the first of several methods that works",
    ),
]


class New(Gated, frozen=True, kw_only=True):
    """Start a shell or any other program in a session that outlives its clients."""

    repo: Annotated[str, Meta(description="directory to start in")]
    id: Annotated[str | None, Meta(description="session name; generated if not given")] = None
    shell: Annotated[str | None, Meta(description="shell to start; default: bash, else sh")] = None
    argv: Annotated[list[str] | None, Meta(description="program and arguments, no shell")] = None
    rows: Rows = 24
    cols: Cols = 80
    env: Added = field(default_factory=dict)
    environment: Environment = None
    pager: Pager = True
    title: Annotated[str | None, Meta(description="a label for people")] = None
    isolate: Annotated[bool, Meta(description="give it a host process of its own")] = False
    marks: Annotated[bool, Meta(description="let shells and REPLs mark where commands end")] = True
    frame: CompletionMode | None = None
    backend: Annotated[
        Literal["pty", "tmux"],
        Meta(description="what holds the terminal; in tmux it outlives agent-pty itself"),
    ] = "pty"
    tmux_socket: Annotated[
        str | None,
        Meta(
            description="tmux server to live in: a path, or `default` for your own; default: a "
            "server of agent-pty"
        ),
    ] = None
    idle_stop_ms: (
        Annotated[int, Meta(ge=0, description="end it when it was not used for so long; 0: never")]
        | None
    ) = None
    guard: Annotated[
        GuardMode | None,
        Meta(
            description="judge each program before it is executed: strict, or builds, which lets "
            "build tools delete inside the directory"
        ),
    ] = None
    prefix: Annotated[
        str | None,
        Meta(description="begin of a generated name; such a name is not used again soon"),
    ] = None


class Created(Struct, frozen=True, kw_only=True):
    """The new session."""

    id: str
    instance: str
    pid: int | None
    # Which execs are judged; null: none, nobody has asked for it.
    guard: GuardStands | None = None


async def new(registry: Registry, request: New) -> Created:
    """Check what can be checked without using the disk, then start the program."""
    if request.backend == "tmux" and request.guard is not None:
        raise BadRequest("--guard is not offered with --backend tmux", field="guard")
    if request.tmux_socket is not None and request.backend != "tmux":
        raise BadRequest("tmux_socket needs backend tmux", field="tmux_socket")
    if request.shell and request.argv:
        raise BadRequest("give either shell or argv, not both", field="argv")
    check_environment(request.env, request.environment)
    wanted = Wanted(
        name=request.id,
        prefix=request.prefix,
        argv=_program(request),
        cwd=request.repo,
        env=request.env,
        environment=request.environment,
        pager=request.pager,
        rows=request.rows,
        cols=request.cols,
        title=request.title,
        isolate=request.isolate,
        marks=request.marks,
        frame=request.frame,
        key=request.key,
        backend=request.backend,
        tmux_socket=request.tmux_socket,
        idle_stop=None if request.idle_stop_ms is None else request.idle_stop_ms / 1000,
        shell=request.shell is not None,
        approval=request.approval,
        guard=request.guard,
    )
    info = await registry.create(wanted)
    return Created(id=info.id, instance=info.instance, pid=info.pid, guard=info.guard)


def _program(request: New) -> list[str]:
    argv = request.argv if request.argv is not None else [request.shell or ""]
    if request.argv is not None and (not argv or not argv[0]):
        raise BadRequest("argv must name a program", field="argv")
    if any("\0" in word for word in [*argv, request.repo]):
        raise BadRequest("a program and its directory cannot contain NUL", field="argv")
    return argv


async def _create(call: Call, fields: Fields) -> int:
    try:
        created = await call.ask("new", **fields)
    except SpawnFailed as error:
        raise _suggesting_name(error, fields) from None
    if call.options.ready:
        await call.ask("ready", id=created["id"])
    await call.show(created, f"created session {created['id']}")
    return 0


def _suggesting_name(error: SpawnFailed, fields: Fields) -> SpawnFailed:
    """Suggest `--name` if the only word, which is no program, may have been meant as a name."""
    words = fields["argv"] or []
    missing = error.details.get("field") == "argv" and error.details.get("errno") == "ENOENT"
    if not missing or len(words) != 1 or fields["id"] is not None or "/" in words[0]:
        return error
    remedy = f"to give a session this name: agent-pty new --name {words[0]}"
    return SpawnFailed(f"{error}; {remedy}", **error.details)


async def _shell(call: Call) -> Fields:
    given = call.options.shell
    return {"shell": None if given is None else await expand(call, given)}


OP = Op(
    name="new",
    tool="terminal.new",
    answer="session_created",
    request=New,
    where="daemon",
    handler=new,
    continues=True,
    commands=(
        Command(
            parts=(
                directory(),
                part(
                    "name", "--name", into="id", metavar="NAME", help="name (default: s1, s2, ...)"
                ),
                Part(
                    arguments=(
                        argument(
                            "--shell", metavar="PATH", help="shell (default: bash, else /bin/sh)"
                        ),
                    ),
                    fields=("shell",),
                    fill=_shell,
                ),
                socket_option(default=None, note="tmux server to live in: a path, or `default`"),
                assignments("env", "--env", help="environment variable; may be repeated"),
                CALLERS_ENVIRONMENT,
                long_duration(
                    "idle_stop_ms", "--idle-stop", note="end it when it was not used for so long"
                ),
                part(
                    "ready", "--ready", action="store_true", help="return when its prompt is ready"
                ),
                WAIT_APPROVAL,
                program(required=False),
            ),
            run=_create,
            hidden=frozenset({"prefix"}),
            examples=(
                "agent-pty new --repo . --name work",
                "agent-pty new --name py --env DEBUG=1 -- python3 -q",
                "agent-pty new --name train --backend tmux",
            ),
        ),
    ),
)
