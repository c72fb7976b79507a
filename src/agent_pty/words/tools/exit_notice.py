"""Exits that a client has not been told of yet: one line each, once, with its next result."""

from __future__ import annotations

import datetime as dt

from agent_pty.errors import AgentPtyError
from agent_pty.words.tools.footer import duration, exit_words, line_of
from agent_pty.words.tools.pty_client import Info, PtyClient
from agent_pty.words.tools.tool import ToolOps


async def exit_notices(client: PtyClient, asked: ToolOps, sessions: list[Info]) -> str:
    """Return the lines, and note that the client has got them."""
    present = {one["instance"]: one for one in sessions}
    lines = ""
    for instance, known in list(client.known.items()):
        info = present.get(instance)
        if not known.notice_due(asked.request):
            if info is None:
                del client.known[instance]
        elif info is None:
            known.was_told(asked.request)
            lines += f"[{known.name} is gone: ended by somebody else, or no longer kept]\n"
        elif info["state"] != "running":
            known.was_told(asked.request)
            lines += await _notice(asked, info)
    return lines


async def _notice(asked: ToolOps, info: Info) -> str:
    text = f"{info['id']} exited {exit_words(info)}"
    if info["ended_at"] is not None:
        ended = dt.datetime.fromisoformat(info["ended_at"])
        seconds = max(0.0, (dt.datetime.now(dt.UTC) - ended).total_seconds())
        text += f", {duration(seconds)} ago"
    if info["state"] == "lost":
        return f"[{text}: {info['diagnosis']}]\n"
    try:
        last = line_of((await asked.ask("read", id=info["id"], tail=2))["text"])
    except AgentPtyError:  # it is being ended: the notice is true without its last line
        last = ""
    return f"[{text}{': ' if last else ''}{last}]\n"
