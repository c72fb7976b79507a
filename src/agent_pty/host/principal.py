"""Who acts: set where a request enters, read where its effect is recorded."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Literal

from msgspec import Struct

Kind = Literal["agent", "human", "system"]


class Principal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent, a person at a terminal, or this software itself; and where the request came in."""

    kind: Kind
    transport: str | None = None
    uid: int | None = None
    pid: int | None = None
    # Whether it is a person at a terminal of their own, outside of every session.
    terminal: bool = False


# What nobody asked for: device replies, the keys that end a program.
SYSTEM = Principal(kind="system")
_AGENT = Principal(kind="agent")
acting: ContextVar[Principal] = ContextVar("acting", default=_AGENT)
