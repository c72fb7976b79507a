"""`--policy` of commands that serve: the rules for the daemon that they start or find."""

from __future__ import annotations

import os

from agent_pty.client.connection import connect
from agent_pty.core.command import part
from agent_pty.core.layout import Layout
from agent_pty.errors import BadConfig, DaemonUnreachable
from agent_pty.store import home

POLICY = part(
    "policy",
    "--policy",
    metavar="FILE",
    help="rules about what may be typed and started, as JSON (default: as before, else built-in)",
)


def offer_policy(where: Layout, given: str | None) -> None:
    """Let the daemon that will be started use a policy; refuse one that differs from what runs."""
    if given is None:
        return
    from agent_pty.store import policy_store  # noqa: PLC0415  it loads the parser of shell text

    path = os.path.abspath(given)
    wanted = policy_store.read(path)
    try:
        with connect(where, start=False) as connection:
            running = connection.ask("policy")
    except DaemonUnreachable:
        home.prepare(where)
        policy_store.offer(where, path)
        return
    if running["hash"] != wanted.policy().digest:
        raise BadConfig(
            f"the daemon that runs has the policy {running['path'] or 'of the built-in rules'} "
            f"({running['hash'][:12]}), not {path} ({wanted.policy().digest[:12]}): "
            f"`agent-pty policy reload --policy {given}` changes it",
            path=path,
        )
