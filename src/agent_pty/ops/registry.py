"""`list`, `kill` and `rename`: ops on the registry of sessions."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agent_pty.ops.context import Registry
from agent_pty.ops.model import Killed, SessionInfo
from agent_pty.ops.op import Mutation, Op, Request


class List(Request, frozen=True, kw_only=True):
    """List every session with its state, as the operating system sees it now."""


class Kill(Mutation, frozen=True, kw_only=True):
    """End a session with its whole process tree, and free its name."""

    id: Annotated[str, Meta(description="session to end")]


class Rename(Mutation, frozen=True, kw_only=True):
    """Give a session another name."""

    id: Annotated[str, Meta(description="session to rename")]
    name: Annotated[str, Meta(description="its new name")]


class Renamed(Struct, frozen=True, kw_only=True):
    """The new name."""

    id: str


async def list_sessions(registry: Registry, _request: List) -> list[SessionInfo]:
    """Ask every host."""
    return await registry.list()


async def kill(registry: Registry, request: Kill) -> Killed:
    """End, verify, name survivors."""
    return await registry.kill(request.id)


async def rename(registry: Registry, request: Rename) -> Renamed:
    """Rename; files are named by instance and stay."""
    return Renamed(id=(await registry.rename(request.id, request.name)).id)


LIST = Op(name="list", answer="sessions", request=List, where="daemon", handler=list_sessions)
KILL = Op(name="kill", answer="killed", request=Kill, where="daemon", handler=kill)
RENAME = Op(name="rename", answer="renamed", request=Rename, where="daemon", handler=rename)
