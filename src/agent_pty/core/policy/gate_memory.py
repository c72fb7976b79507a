"""What a gate must not forget when its process dies: the line, and what its shell knows. Pure."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from agent_pty.core.policy.input_line import InputLine
from agent_pty.core.policy.line_gate import State


class GateMemory(Struct, frozen=True, kw_only=True):
    """What is known of a shell, and the line of another program."""

    shell: State
    program: InputLine


def encoded(memory: GateMemory) -> bytes:
    """Return it as bytes; none if it cannot be written down, because a part of it is no text."""
    try:
        return msgspec.msgpack.encode(memory)
    except UnicodeEncodeError:
        return b""


def decoded(data: bytes | None) -> GateMemory | None:
    """Return what `encoded` has made; None: nothing is known."""
    try:
        return msgspec.msgpack.decode(data, type=GateMemory) if data else None
    except msgspec.DecodeError:  # of another build
        return None
