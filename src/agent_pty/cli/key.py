"""`key`: the key that signs checkpoints. For operators: it is on no other surface."""

from __future__ import annotations

import resource

from agent_pty.cli.command import Invocation, client_command, write
from agent_pty.core.command import Command, part
from agent_pty.core.process_mark import RLIMIT_LOCKS, is_mark
from agent_pty.errors import OperatorOnly
from agent_pty.store.signing_key import SigningKey, public_keys


def key(call: Invocation) -> int:
    """Show, export or replace it."""
    directory = call.layout.keys
    signing = SigningKey(directory)
    what = call.options.action
    if what == "rotate":
        _refuse_inside_session()
        old, new = signing.rotate()
        return call.show(
            {"id": new, "before": old}, f"{new} signs from now on; what {old} signed stays valid"
        )
    if what == "export-public":
        write(public_keys(directory)[signing.id].hex() + "\n")
        return 0
    known = sorted({signing.id} | public_keys(directory).keys())
    text = f"{signing.id} signs; known: {', '.join(known)}; in {directory}"
    return call.show({"id": signing.id, "known": known, "directory": directory}, text)


def _refuse_inside_session() -> None:
    """Refuse what only operators may do, if this process belongs to a session."""
    if is_mark(resource.getrlimit(RLIMIT_LOCKS)[0]):
        raise OperatorOnly("key rotate is for operators: run it in a terminal outside of sessions")


COMMANDS = (
    client_command(
        "key",
        "Show the key that signs checkpoints, print its public half, or replace it.\n\n"
        "Public halves of replaced keys are kept: what they signed can still be verified.",
        Command(
            parts=(
                part(
                    "action",
                    choices=["show", "rotate", "export-public"],
                    nargs="?",
                    default="show",
                    help="default: show",
                ),
            ),
            examples=("agent-pty key", "agent-pty key export-public"),
        ),
    ),
)
