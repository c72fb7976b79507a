"""Who acts: set where a request enters, read where its effect is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

_NOBODY: Mapping[str, Any] = MappingProxyType({"kind": "agent"})
# Kind (agent or human), transport, uid and pid, as the daemon's transport saw them.
acting: ContextVar[Mapping[str, Any]] = ContextVar("acting", default=_NOBODY)


def of(header: dict[str, Any], *, kind: str) -> dict[str, Any]:
    """Return the principal of a request from the daemon's header."""
    return {"kind": kind, **header.get("caller", {})}
