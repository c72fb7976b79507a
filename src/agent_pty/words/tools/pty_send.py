"""`pty_send`: type into a session."""

from __future__ import annotations

import os
import re
from typing import Any

from agent_pty.core.input_escape import is_paste, only_controls, submitted, unescaped
from agent_pty.errors import BadRequest, NotPermitted
from agent_pty.store import config
from agent_pty.store.tombstone import Tombstone
from agent_pty.words.tools.pty_answer import PtyAnswer
from agent_pty.words.tools.pty_arguments import MOST_WAIT_MS, ReadArguments, SendArguments
from agent_pty.words.tools.pty_client import Info, PtyClient, find
from agent_pty.words.tools.pty_end import how_it_ended
from agent_pty.words.tools.pty_exec import joined
from agent_pty.words.tools.pty_question import answer_of_person
from agent_pty.words.tools.pty_read import shown
from agent_pty.words.tools.pty_wait import wait_for_output
from agent_pty.words.tools.tool import ToolOps

_SHELLS = frozenset({"sh", "bash", "zsh", "fish", "dash", "ksh", "ash"})
_LINE_END = re.compile(r"[\r\n]")


async def send(client: PtyClient, asked: ToolOps, arguments: SendArguments) -> PtyAnswer:
    """Type, and with `wait_ms` return what the program answers."""
    text = submitted(unescaped(arguments.input))
    if arguments.ask and (text or arguments.keys):
        raise BadRequest("ask lets the user answer: leave out input and keys")
    if not (text or arguments.keys or arguments.submit or arguments.ask):
        raise BadRequest(r'nothing to type; for example: pty_send {"id": "p1", "input": "ls\r"}')
    found = await find(client, asked, arguments.id)
    if isinstance(found, Tombstone):
        return PtyAnswer(
            body=f"nothing was typed: {found.id} has ended\n",
            name=found.id,
            cursor=found.cursor,
            ended=how_it_ended(found),
        )
    client.knows(found)
    if found["state"] != "running":
        body = f"nothing was typed: {arguments.id} has exited\n"
        return PtyAnswer(body=body, name=arguments.id, cursor=found["cursor"] or 0, ended=found)
    _check_lines(client, found, text)
    doing = await asked.ask("doing", id=arguments.id)
    if doing["what"] == "secret" and not only_controls(text):
        raise NotPermitted(
            f"{arguments.id} asks for a secret, which a model must not type; nothing was typed. "
            f"Ask the user to type it: agent-pty attach {arguments.id}"
        )
    if arguments.ask:
        text = await answer_of_person(asked, arguments.id) + "\r"
    cursor = await _typed(asked, arguments, text)
    return await _answered(client, asked, arguments, text, cursor)


async def _typed(asked: ToolOps, arguments: SendArguments, text: str) -> int:
    """Type the text, then the keys, then Enter; return the cursor before their effect."""
    cursors: list[int] = []
    name, keys = arguments.id, list(arguments.keys)
    enter = arguments.submit and not keys
    if is_paste(text):
        body, entered = text.removesuffix("\r"), text.endswith("\r")
        pasted = await asked.ask("paste", id=name, text=body, enter=entered or enter)
        cursors.append(pasted["cursor"])
    elif text or enter:
        sent = await asked.ask("send", id=name, text=text, enter=enter, raw=True)
        cursors.append(sent["cursor"])
    if keys:
        pressed = [*keys, "enter"] if arguments.submit else keys
        cursors.append((await asked.ask("keys", id=name, keys=pressed))["cursor"])
    return cursors[0]


async def _answered(
    client: PtyClient, asked: ToolOps, arguments: SendArguments, text: str, cursor: int
) -> PtyAnswer:
    name, wait_ms = arguments.id, min(max(0, arguments.wait_ms), MOST_WAIT_MS)
    if not wait_ms and arguments.until is None:
        running = {"state": "running", "exit_code": None, "signal": None}
        body = f"sent to {name}; read its effect since {cursor}\n"
        return PtyAnswer(body=body, name=name, cursor=cursor, ended=running)
    notes = await wait_for_output(
        asked, name, since=cursor, unread=False, wait_ms=wait_ms or 2000, until=arguments.until
    )
    answer = await shown(client, asked, ReadArguments(id=name), since=cursor)
    body = joined(without_echo(answer.body, text), notes)
    return PtyAnswer(
        body=body, name=name, cursor=answer.cursor, ended=answer.ended, doing=answer.doing
    )


def without_echo(output: str, text: str) -> str:
    r"""Leave out a first line that is exactly what was typed.

    >>> without_echo("echo 1\n1\n", "echo 1\r")
    '1\n'
    """
    typed = text.removesuffix("\r") + "\n"
    return output.removeprefix(typed) if len(typed) > 1 else output


def _check_lines(client: PtyClient, info: Info, text: str) -> None:
    """Apply rules about command lines to lines for a shell: there they start programs, too."""
    rules: Any = config.load(client.layout).permission.terminal_start
    if isinstance(rules, str) or os.path.basename(info["argv"][0]).lstrip("-") not in _SHELLS:
        return
    for line in _LINE_END.split(text):
        if line.strip():
            client.check("terminal_start", [line.strip()])
