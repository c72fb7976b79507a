"""The end of a session, after which its last text is still known."""

from __future__ import annotations

from typing import Any

from agent_pty.errors import AgentPtyError, UnknownSession
from agent_pty.store.tombstone import Tombstone
from agent_pty.words.tools.pty_client import Info, PtyClient
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
    text, cursor, gap_end = await _kept_text(asked, info)
    try:
        killed: dict[str, Any] = await asked.ask("kill", id=name)
    except UnknownSession:  # ended by somebody else in this moment
        killed = dict(_NOTHING)
    known = client.known.pop(info["instance"], None)
    exit_code, signal = killed["exit_code"], killed["signal"]
    if info["state"] != "running":
        exit_code, signal = info["exit_code"], info["signal"]
    stone = Tombstone(
        id=name,
        argv=info["argv"],
        exit_code=exit_code,
        signal=signal,
        cursor=cursor,
        gap_end=gap_end,
        text=text,
        stopped=stopped,
    )
    client.files.save(stone)
    return {**killed, "stone": stone, "known": known}


def how_it_ended(stone: Tombstone) -> dict[str, Any]:
    """Return state, exit code and signal, as a footer needs them."""
    return {"state": "exited", "exit_code": stone.exit_code, "signal": stone.signal}


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
