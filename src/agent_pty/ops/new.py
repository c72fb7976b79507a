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
    part,
    program,
)
from agent_pty.errors import BadRequest, SpawnFailed
from agent_pty.ops.context import Registry
from agent_pty.ops.environment import (
    CALLERS_ENVIRONMENT,
    Added,
    Environment,
    Pager,
    check_environment,
)
from agent_pty.ops.model import Wanted
from agent_pty.ops.op import Mutation, Op

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


class New(Mutation, frozen=True, kw_only=True):
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
    backend: Annotated[Literal["pty", "tmux"], Meta(description="what holds the terminal")] = "pty"
    prefix: Annotated[
        str | None,
        Meta(description="begin of a generated name; such a name is not used again soon"),
    ] = None


class Created(Struct, frozen=True, kw_only=True):
    """The new session."""

    id: str
    instance: str
    pid: int | None


async def new(registry: Registry, request: New) -> Created:
    """Check what can be checked without using the disk, then start the program."""
    if request.backend == "tmux":
        raise BadRequest("backend tmux is not built yet: use pty", field="backend")
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
    )
    info = await registry.create(wanted)
    return Created(id=info.id, instance=info.instance, pid=info.pid)


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
                assignments("env", "--env", help="environment variable; may be repeated"),
                CALLERS_ENVIRONMENT,
                part(
                    "ready", "--ready", action="store_true", help="return when its prompt is ready"
                ),
                program(required=False),
            ),
            run=_create,
            unlisted=frozenset({"backend"}),
            hidden=frozenset({"prefix"}),
            examples=(
                "agent-pty new --repo . --name work",
                "agent-pty new --name py --env DEBUG=1 -- python3 -q",
            ),
        ),
    ),
)
