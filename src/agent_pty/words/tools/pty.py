"""The six `pty_*` tools: terminal sessions in the words that models know."""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable
from typing import Any

from agent_pty.errors import AgentPtyError, Refused
from agent_pty.words.tools.crash_retry import RetryingOps
from agent_pty.words.tools.exit_notice import exit_notices
from agent_pty.words.tools.footer import age, footer
from agent_pty.words.tools.pty_answer import PtyAnswer
from agent_pty.words.tools.pty_arguments import ARGUMENTS, description, parsed, schema
from agent_pty.words.tools.pty_client import Info, PtyClient
from agent_pty.words.tools.pty_exec import execute
from agent_pty.words.tools.pty_list import list_sessions
from agent_pty.words.tools.pty_read import read
from agent_pty.words.tools.pty_send import send
from agent_pty.words.tools.pty_start import start
from agent_pty.words.tools.pty_stop import stop
from agent_pty.words.tools.refusal import refusal_text
from agent_pty.words.tools.tool import Tool, ToolOps, ToolResult

_ACTS: dict[str, Callable[[PtyClient, ToolOps, Any], Awaitable[PtyAnswer]]] = {
    "pty_exec": execute,
    "pty_start": start,
    "pty_read": read,
    "pty_send": send,
    "pty_list": list_sessions,
    "pty_stop": stop,
}
_READS = frozenset({"pty_read", "pty_list"})


def pty_tools(client: PtyClient) -> tuple[Tool, ...]:
    """Return the six tools for one client."""
    return tuple(_tool(client, name) for name in ARGUMENTS)


def _tool(client: PtyClient, name: str) -> Tool:
    async def call(asked: ToolOps, arguments: dict[str, Any]) -> ToolResult:
        mine, asked = client.named(asked.client), RetryingOps(asked)
        try:
            answer = await _ACTS[name](mine, asked, parsed(name, arguments))
            text = await _completed(mine, asked, answer)
            return ToolResult(text=text, image=answer.image)
        except Refused as error:
            return ToolResult(text=refusal_text(error), failed=True)
        except AgentPtyError as error:
            return ToolResult(text=str(error), failed=True)

    return Tool(
        name=name,
        description=description(name),
        schema=schema(name),
        call=call,
        hints={"readOnlyHint": name in _READS, "destructiveHint": name == "pty_stop"},
    )


async def _completed(client: PtyClient, asked: ToolOps, answer: PtyAnswer) -> str:
    """Add what has ended meanwhile, and the footer, which is last."""
    sessions: list[Info] = await asked.ask("list")
    last = ""
    if answer.cursor is not None and answer.ended is not None:
        info = next((one for one in sessions if one["id"] == answer.name), None)
        last = _footer(client, answer, info)
    notices = await exit_notices(client, asked, sessions)
    client.save()
    return (answer.body + notices + last).removesuffix("\n")


def _footer(client: PtyClient, answer: PtyAnswer, info: Info | None) -> str:
    assert answer.cursor is not None  # noqa: S101  for the type checker
    assert answer.ended is not None  # noqa: S101
    seconds, quiet = answer.seconds, None
    if info is not None:
        known = client.knows(info)
        known.saw(answer.cursor)
        if answer.ended["state"] != "running":
            known.saw_exit()
        seconds = age(info, dt.datetime.now(dt.UTC)) if seconds is None else seconds
        quiet = info["quiet_ms"]
    return footer(
        answer.name,
        answer.ended,
        cursor=answer.cursor,
        seconds=seconds,
        quiet_ms=quiet,
        doing=answer.doing,
    )
