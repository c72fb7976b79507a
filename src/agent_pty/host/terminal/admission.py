"""What stands in front of a terminal: a gate that judges what would be typed."""

from __future__ import annotations

from typing import Protocol

from agent_pty.host.principal import Principal
from agent_pty.host.terminal.input_kind import InputKind


class TypeKeys(Protocol):
    """Types keys whose effect can only be judged after they were typed."""

    async def __call__(self, keys: bytes, /) -> None:
        """Type them."""


class Gate(Protocol):
    """Judges what would be typed."""

    async def admit(
        self, data: bytes, *, kind: InputKind, by: Principal, type_keys: TypeKeys
    ) -> bytes:
        """Return what is left to be typed of *data*, or refuse by raising."""
