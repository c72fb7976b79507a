"""`pty_stop`: end a session with all its processes, and prove it."""

from __future__ import annotations

from typing import Any

from agent_pty.errors import NotPermitted
from agent_pty.store.tombstone import Tombstone
from agent_pty.words.tools.pty_answer import PtyAnswer, joined
from agent_pty.words.tools.pty_arguments import StopArguments
from agent_pty.words.tools.pty_client import PtyClient, find
from agent_pty.words.tools.pty_end import how_it_ended, retire
from agent_pty.words.tools.pty_output import fitted, last_lines
from agent_pty.words.tools.pty_permission import check_stop
from agent_pty.words.tools.tool import ToolOps

_LAST_LINES = 10
_NAMED = 20


async def stop(client: PtyClient, asked: ToolOps, arguments: StopArguments) -> PtyAnswer:
    """Stop it; a second time is no error."""
    found = await find(client, asked, arguments.id)
    if isinstance(found, Tombstone):
        word = "stopped" if found.stopped else "ended"
        return PtyAnswer(
            body=f"{found.id} is already {word}\n",
            name=found.id,
            cursor=found.cursor,
            ended=how_it_ended(found),
        )
    if (client.environment or {}).get("AGENT_PTY_INSTANCE") == found["instance"]:
        raise NotPermitted(
            f"{arguments.id} is the session in which you run: it would end you; nothing was "
            f"stopped. If the user wants that: agent-pty kill {arguments.id}"
        )
    await check_stop(client, asked, found)
    killed = await retire(client, asked, found, stopped=True)
    stone: Tombstone = killed["stone"]
    last = fitted(client.files, stone.id, last_lines(stone.text, _LAST_LINES), end=stone.cursor)
    return PtyAnswer(
        body=joined(last, _proof(stone.id, killed)),
        name=stone.id,
        cursor=stone.cursor,
        ended=how_it_ended(stone),
    )


def _proof(name: str, killed: dict[str, Any]) -> str:
    count = len(killed["ended"])
    text = f"stopped {count} process{'' if count == 1 else 'es'} of {name}\n"
    for key, word in (
        ("survivors", "survived"),
        ("possible_survivors", "possible survivor"),
        ("spared", "not ended"),
    ):
        found = killed[key]
        text += "".join(f"[{word}: {one['pid']} {one['command']}]\n" for one in found[:_NAMED])
        if len(found) > _NAMED:
            text += f"[{word}: {len(found) - _NAMED} more]\n"
    return text
