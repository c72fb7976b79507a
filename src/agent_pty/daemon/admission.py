"""Who asks, and whether they may: what every request passes before anything is done."""

from __future__ import annotations

from agent_pty import __version__
from agent_pty.errors import NotOffered, VersionMismatch
from agent_pty.host import message
from agent_pty.ops.op import PROTOCOL, Head, Op
from agent_pty.transports.caller import Caller


def principal(caller: Caller) -> message.Caller:
    """Return who asks, as hosts are told."""
    return message.Caller(transport=caller.transport, uid=caller.uid, pid=caller.pid)


def check_offered(op: Op, caller: Caller) -> None:
    """Refuse an op that callers of this transport may not ask for."""
    if not op.offered(caller.surface):
        raise NotOffered(f"{op.name} cannot be asked for over {caller.transport}", op=op.name)


def check_version(head: Head) -> None:
    """Refuse a client that speaks another protocol."""
    if head.v is not None and head.v != PROTOCOL:
        raise VersionMismatch(
            f"this daemon ({__version__}) speaks protocol {PROTOCOL}, the client {head.v}: "
            "run `agent-pty restart --keep` with the newer one",
            daemon=PROTOCOL,
            client=head.v,
        )
