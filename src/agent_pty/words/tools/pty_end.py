"""The end of a session, after which its last text is still known."""

from __future__ import annotations

from typing import Any

import msgspec

from agent_pty.errors import AgentPtyError, UnknownSession
from agent_pty.store.tombstone import Tombstone
from agent_pty.words.tools.pty_client import Info, PtyClient
from agent_pty.words.tools.pty_lost import lost_session
from agent_pty.words.tools.tool import ToolOps

# How much of the text is kept after the end.
_KEPT = 2 * 1024 * 1024
_NOTHING: dict[str, Any] = {
    "ended": [],
    "survivors": [],
    "possible_survivors": [],
    "spared": [],
    "exit_code": None,
    "signal": None,
}


async def retire(client: PtyClient, asked: ToolOps, info: Info, *, stopped: bool) -> dict[str, Any]:
    """End a session with its processes, and keep its text; return what was ended.

    The text is read before the end, because afterwards nobody has it.
    """
    name = info["id"]
    if info["state"] == "lost":
        stone = lost_session(client.layout, info)
    else:
        stone = await _last_state(asked, info)
    try:
        killed: dict[str, Any] = await asked.ask("kill", id=name)
    except UnknownSession:  # ended by somebody else in this moment
        killed = dict(_NOTHING)
    known = client.known.pop(info["instance"], None)
    ended = info if info["state"] != "running" else killed
    stone = msgspec.structs.replace(
        stone, exit_code=ended["exit_code"], signal=ended["signal"], stopped=stopped
    )
    client.files.save(stone)
    return {**killed, "stone": stone, "known": known}


def how_it_ended(stone: Tombstone) -> dict[str, Any]:
    """Return state, exit code and signal, as a footer needs them."""
    state = "lost" if stone.lost else "exited"
    return {"state": state, "exit_code": stone.exit_code, "signal": stone.signal}


async def _last_state(asked: ToolOps, info: Info) -> Tombstone:
    """Return a session with the end of its transcript, as it is before its end."""
    text, cursor, gap_end = await _kept_text(asked, info)
    return Tombstone(
        id=info["id"],
        argv=info["argv"],
        exit_code=None,
        signal=None,
        stopped=False,
        cursor=cursor,
        gap_end=gap_end,
        text=text,
    )


async def _kept_text(asked: ToolOps, info: Info) -> tuple[str, int, int]:
    """Return the end of a transcript, where it ends and where what is kept of it begins."""
    end = info["cursor"] or 0
    since = start = max(0, end - _KEPT)
    pieces: list[str] = []
    try:
        while True:
            page = await asked.ask("read", id=info["id"], since=since)
            if page["gap"] and not pieces:
                start = page["gap"]["end"]
            pieces.append(page["text"])
            since = page["cursor"]
            if not page["more"] or since > end + _KEPT:
                return "".join(pieces), since, start
    except AgentPtyError:  # it is lost: there is no text, but it can be ended
        return "", end, end
