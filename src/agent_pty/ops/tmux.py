"""`adopt`, `release` and `tmux_panes`: terminals that a person already works in."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from agent_pty.core.command import NAME, Call, Command, part
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Mutation, Op, Request
from agent_pty.ops.tmux_socket import OWN, socket_option

TmuxSocket = Annotated[
    str | None, Meta(description="path of the tmux server's socket; default: the user's own")
]


class Adopt(Mutation, frozen=True, kw_only=True):
    """Take a pane of a running tmux as a session: what happens in it from now on.

    Its program, its size and its place in tmux stay as they are. `release` gives it back.
    """

    target: Annotated[str, Meta(description="SESSION, SESSION:WINDOW.PANE or a pane's id (%3)")]
    id: Annotated[str | None, Meta(description="session name; generated if not given")] = None
    tmux_socket: TmuxSocket = None


class Adopted(Struct, frozen=True, kw_only=True):
    """The session that a pane has become."""

    id: str
    instance: str
    pid: int | None
    tmux_session: str
    pane: str


class Release(Mutation, frozen=True, kw_only=True):
    """Give an adopted pane back to its tmux, untouched; the session ends, the program does not."""

    id: Annotated[str, Meta(description="session that was adopted")]


class Released(Struct, frozen=True, kw_only=True):
    """The pane that was given back; *note* says so if it was not there to be given back."""

    id: str
    pane: str
    note: str | None = None


class TmuxPanes(Request, frozen=True, kw_only=True):
    """List the panes of a running tmux that could be adopted."""

    tmux_socket: TmuxSocket = None


class TmuxPane(Struct, frozen=True, kw_only=True):
    """A pane; *id* is the session that it is, *reason* why it cannot be adopted."""

    target: str
    pane: str
    pid: int
    command: str
    cwd: str
    rows: int
    cols: int
    id: str | None
    reason: str | None


async def adopt(registry: Registry, request: Adopt) -> Adopted:
    """Connect with the pane."""
    adopted: Adopted = await registry.tmux.adopt(request)
    return adopted


async def release(registry: Registry, request: Release) -> Released:
    """Disconnect from the pane."""
    released: Released = await registry.tmux.release(request.id)
    return released


async def tmux_panes(registry: Registry, request: TmuxPanes) -> list[TmuxPane]:
    """Ask the server."""
    found: list[TmuxPane] = await registry.tmux.panes(request.tmux_socket)
    return found


async def print_panes(call: Call, socket: str | None) -> int:
    """Print what could be adopted."""
    found: list[dict[str, Any]] = await call.ask("tmux_panes", tmux_socket=socket)
    if call.json:
        await call.show_json(found)
    elif not found and call.terminal:
        await call.print("no tmux panes\n")
    else:
        await call.print("".join(_line(one) for one in found))
    return 0


def _line(one: dict[str, Any]) -> str:
    state = f"session={one['id']}" if one["id"] else one["reason"] or "adoptable"
    line = f"{one['target']} {one['pane']} pid={one['pid']} {one['command']} {one['cwd']} {state}"
    # Letters stay as they are: `adopt` must find what is copied from here.
    shown = (one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)
    return "".join(shown) + "\n"


USERS_SERVER = socket_option(default=OWN, note="tmux server (default: your own)")

ADOPT = Op(
    name="adopt",
    answer="adopted",
    request=Adopt,
    where="daemon",
    handler=adopt,
    commands=(
        Command(
            parts=(
                part("target", into="target", help="SESSION, SESSION:WINDOW.PANE or %%PANE"),
                part("name", "--name", into="id", metavar="NAME", help="name (default: s1, ...)"),
                USERS_SERVER,
            ),
            text=lambda call, made: f"adopted {call.options.target} as {made['id']}",
            examples=("agent-pty adopt mine", "agent-pty adopt mine:1.0 --name build"),
        ),
    ),
)
RELEASE = Op(
    name="release",
    answer="released",
    request=Release,
    where="daemon",
    handler=release,
    commands=(
        Command(
            parts=(NAME,),
            text=lambda _call, done: (
                f"released {': '.join(filter(None, (done['id'], done['note'])))}"
            ),
            examples=("agent-pty release build",),
        ),
    ),
)
PANES = Op(
    name="tmux_panes",
    answer="tmux_panes",
    request=TmuxPanes,
    where="daemon",
    handler=tmux_panes,
)
