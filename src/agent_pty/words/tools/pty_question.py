"""`pty_send` with `ask`: the person at the client answers what the program asks.

Never a secret: what is typed unseen must not pass through a client's dialog and its logs.
"""

from __future__ import annotations

from typing import Any

from agent_pty.errors import BadRequest, NotWaiting, SecretPrompt
from agent_pty.words.tools.tool import ToolOps

_LINES = 10
_MOST_CHARACTERS = 2000


async def answer_of_person(asked: ToolOps, name: str) -> str:
    """Put the program's question to the person; return the answer, if the question still stands."""
    before = await _asking(asked, name)
    question = await asked.ask("read", id=name, tail=_LINES)
    program = before["command"] or name
    text = question["text"].strip()[-_MOST_CHARACTERS:]
    answer = await asked.ask_person(f"{program} in session {name} asks:\n\n{text}")
    if not answer.isprintable():
        raise BadRequest("an answer is one line without control characters; nothing was typed")
    if (await _asking(asked, name))["cursor"] != before["cursor"]:
        raise NotWaiting(f"{name} asks something else by now: nothing was typed. Read it again")
    return answer


async def _asking(asked: ToolOps, name: str) -> dict[str, Any]:
    doing: dict[str, Any] = await asked.ask("doing", id=name)
    if doing["what"] == "secret":
        raise SecretPrompt(
            f"{name} asks for a secret, which must not pass through a dialog; nothing was typed. "
            f"Ask the user to enter it: agent-pty secret {name}"
        )
    if doing["what"] != "waiting":
        raise NotWaiting(f"{name} asks nothing now: nothing was typed. pty_read shows what it does")
    return doing
