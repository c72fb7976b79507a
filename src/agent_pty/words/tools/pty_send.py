"""`pty_send`: type into a session."""

from __future__ import annotations

import os
from typing import Any

from agent_pty.core.input_escape import is_paste, only_controls, submitted, unescaped
from agent_pty.core.typed_line import key_text
from agent_pty.errors import BadRequest, NotPermitted
from agent_pty.store import config
from agent_pty.store.tombstone import Tombstone
from agent_pty.words.tools.pty_answer import PtyAnswer
from agent_pty.words.tools.pty_arguments import MOST_WAIT_MS, ReadArguments, SendArguments
from agent_pty.words.tools.pty_client import Info, PtyClient, find
from agent_pty.words.tools.pty_end import how_it_ended
from agent_pty.words.tools.pty_question import answer_of_person
from agent_pty.words.tools.pty_read import shown
from agent_pty.words.tools.pty_wait import wait_for_output
from agent_pty.words.tools.tool import ToolOps

_SHELLS = frozenset({"sh", "bash", "zsh", "fish", "dash", "ksh", "ash"})


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
    if found["state"] != "running":
        body = f"nothing was typed: {arguments.id} has exited\n"
        return PtyAnswer(body=body, name=arguments.id, cursor=found["cursor"] or 0, ended=found)
    known = client.knows(found)
    typed = text + "".join(map(key_text, arguments.keys)) + ("\r" if arguments.submit else "")
    lines, line = known.line.after(typed)
    _check_lines(client, found, lines)
    doing = await asked.ask("doing", id=arguments.id)
    if doing["what"] == "secret" and not only_controls(typed):
        raise NotPermitted(
            f"{arguments.id} asks for a secret, which a model must not type; nothing was typed. "
            f"Ask the user to type it: agent-pty attach {arguments.id}"
        )
    if arguments.ask:
        text = typed = await answer_of_person(asked, arguments.id) + "\r"
    cursor = await _typed(asked, arguments, text)
    known.typed(cursor, typed, line)
    return await _answered(client, asked, arguments, known.echoes.get(cursor, ""), cursor)


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
    client: PtyClient, asked: ToolOps, arguments: SendArguments, echo: str, cursor: int
) -> PtyAnswer:
    name, wait_ms = arguments.id, min(max(0, arguments.wait_ms), MOST_WAIT_MS)
    if not wait_ms and arguments.until is None:
        running = {"state": "running", "exit_code": None, "signal": None}
        body = f"sent to {name}; read its effect since {cursor}\n"
        return PtyAnswer(body=body, name=name, cursor=cursor, ended=running)
    notes = await wait_for_output(
        asked, name, since=cursor, unread=False, wait_ms=wait_ms or 2000, until=arguments.until
    )
    read = ReadArguments(id=name)
    return await shown(client, asked, read, since=cursor, notes=notes, echo=echo)


def _check_lines(client: PtyClient, info: Info, lines: list[str | None]) -> None:
    """Apply rules about command lines to lines for a shell: there they start programs, too."""
    rules: Any = config.load(client.layout).permission.terminal_start
    if isinstance(rules, str) or os.path.basename(info["argv"][0]).lstrip("-") not in _SHELLS:
        return
    for line in lines:
        if line is None:
            raise NotPermitted(
                f"terminal_start has rules for command lines, and what stands on the line of "
                f"{info['id']} is not known after keys that edit it; nothing was typed. Clear it "
                f'with "keys": ["C-c"], then send the whole line as input'
            )
        if line.strip():
            client.check("terminal_start", [line.strip()])
