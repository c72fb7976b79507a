"""`pty_exec`: a program that is waited for. It is never killed for taking long."""

from __future__ import annotations

import time

from agent_pty.errors import UnknownSession
from agent_pty.words.tools.footer import duration, line_of
from agent_pty.words.tools.pty_answer import PtyAnswer, joined
from agent_pty.words.tools.pty_arguments import MOST_TIMEOUT_MS, ExecArguments
from agent_pty.words.tools.pty_client import Info, PtyClient
from agent_pty.words.tools.pty_end import retire
from agent_pty.words.tools.pty_output import Output, collected
from agent_pty.words.tools.pty_program import checked, created
from agent_pty.words.tools.pty_wait import waited_for_exit
from agent_pty.words.tools.tool import ToolOps

# Nobody answers the questions of such a program, and colours are noise in its output.
_ENV = {"NO_COLOR": "1", "GIT_TERMINAL_PROMPT": "0"}


async def execute(client: PtyClient, asked: ToolOps, arguments: ExecArguments) -> PtyAnswer:
    """Run the program; return all of its output, or the session in which it goes on."""
    argv, cwd = await checked(client, asked, "pty_exec", arguments)
    timeout_ms = min(max(0, arguments.timeout_ms), MOST_TIMEOUT_MS)
    notes = ""
    if timeout_ms < arguments.timeout_ms:
        notes = f"[timeout_ms is {MOST_TIMEOUT_MS} at most, not {arguments.timeout_ms}]\n"
    name = await created(client, asked, argv, cwd, env=_ENV, marks=False)
    began = time.monotonic()
    ended = await waited_for_exit(asked, name, timeout_ms)
    seconds = time.monotonic() - began
    doing = await asked.ask("doing", id=name)
    output = await collected(asked, client.files, name, since=0, tail=None, end=doing["cursor"])
    info = await _info(asked, name)
    if ended:
        notes += await _retired(client, asked, info)
    else:
        client.knows(info)
        notes += _goes_on(name, output, doing["what"], duration(seconds))
    return PtyAnswer(
        body=joined(output.text, notes),
        name=name,
        cursor=output.cursor,
        ended=output.ended,
        seconds=seconds,
        doing=doing["what"],
    )


def _goes_on(name: str, output: Output, doing: str | None, after: str) -> str:
    """Say why a program has not ended, and what can be done next."""
    said = f'not ended after {after}, it goes on: sessionId="{name}"'
    reading = f'pty_read {{"id": "{name}", "since": {output.cursor}, "wait_ms": 2000}}'
    last = line_of(output.text)
    if doing == "secret":
        return (
            f"[it asks for a secret, which a model must not type: {last!r}. Ask the user to enter "
            f"it: agent-pty secret {name}. {said}. Next: {reading} or pty_stop]\n"
        )
    if doing == "approval":
        return f"[it executes nothing until it is approved. {said}. Next: {reading} or pty_stop]\n"
    if doing in {"idle", "waiting"}:
        typing = f'pty_send {{"id": "{name}", "input": "...", "submit": true, "wait_ms": 2000}}'
        return f"[it waits for input after {last!r}. {said}. Next: {typing} or pty_stop]\n"
    return f"[{said}. Next: {reading} or pty_stop]\n"


async def _info(asked: ToolOps, name: str) -> Info:
    for one in await asked.ask("list"):
        if one["id"] == name:
            return one  # type: ignore[no-any-return]
    raise UnknownSession(name)


async def _retired(client: PtyClient, asked: ToolOps, info: Info) -> str:
    """Remove the session; name what the program left running, which is ended with it."""
    ended = (await retire(client, asked, info, stopped=False))["ended"]
    if not ended:
        return ""
    names = ", ".join(f"{one['pid']} {one['command']}" for one in ended[:5])
    return f"[ended what it left running: {names}; to keep such a program use pty_start]\n"
