"""Which tmux server is meant: a path, or the user's own."""

from __future__ import annotations

import os
from collections.abc import Mapping

from agent_pty.core.command import Call, Fields, Part, argument, expand

OWN = "default"


def user_socket(environment: Mapping[str, str]) -> str:
    """Return the socket of the user's own tmux server, by the environment of one of its panes."""
    inside = environment.get("TMUX", "").partition(",")[0]
    directory = environment.get("TMUX_TMPDIR") or "/tmp"  # noqa: S108  # as tmux itself
    return inside or f"{directory}/tmux-{os.getuid()}/default"


def socket_option(*, default: str | None, note: str) -> Part:
    """Return `--tmux-socket`, as the caller's environment has it."""

    async def fill(call: Call) -> Fields:
        given = call.options.tmux_socket or default
        if given == OWN:
            given = user_socket(await call.environment())
        return {"tmux_socket": given and await expand(call, given)}

    given = argument("--tmux-socket", dest="tmux_socket", metavar="PATH", help=note)
    return Part(arguments=(given,), fields=("tmux_socket",), fill=fill)
