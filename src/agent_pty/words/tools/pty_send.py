"""`pty_send`: type into a session."""

from __future__ import annotations

from agent_pty.core.input_escape import is_paste, only_controls, submitted, unescaped
from agent_pty.core.typed_line import key_text
from agent_pty.errors import BadRequest, Refused, SecretPrompt
from agent_pty.store.tombstone import Tombstone
from agent_pty.words.tools.pty_answer import PtyAnswer
from agent_pty.words.tools.pty_arguments import MOST_WAIT_MS, ReadArguments, SendArguments
from agent_pty.words.tools.pty_client import PtyClient, find
from agent_pty.words.tools.pty_end import how_it_ended
from agent_pty.words.tools.pty_permission import check_lines
from agent_pty.words.tools.pty_question import answer_of_person
from agent_pty.words.tools.pty_read import shown
from agent_pty.words.tools.pty_wait import wait_for_output
from agent_pty.words.tools.tool import ToolOps


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
    doing = await asked.ask("doing", id=arguments.id)
    await check_lines(client, asked, found, lines, doing["cwd"])
    if doing["what"] == "secret" and not only_controls(typed):
        await _check_secret(asked, arguments.id)
    if arguments.ask:
        text = typed = await answer_of_person(asked, arguments.id) + "\r"
    cursor = await _typed(asked, arguments, text)
    known.typed(cursor, typed, line)
    return await _answered(client, asked, arguments, known.echoes.get(cursor, ""), cursor)


async def _check_secret(asked: ToolOps, name: str) -> None:
    """Refuse what a model types where it does not show, unless the policy permits it."""
    if not (await asked.ask("policy"))["agent_secrets"]:
        raise SecretPrompt(
            f"{name} asks for a secret, which a model must not type; nothing was typed. "
            f"Ask the user to enter it: agent-pty secret {name}",
            id=name,
        )


async def _typed(asked: ToolOps, arguments: SendArguments, text: str) -> int:
    """Type the text, then the keys, then Enter; return the cursor before their effect."""
    cursors: list[int] = []
    name, keys = arguments.id, list(arguments.keys)
    # Typed with its Enter, the line is judged at once: if it is refused, none of it was typed.
    if text and not arguments.submit and [key_text(one) for one in keys] == ["\r"]:
        keys, enter = [], True
    else:
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
        try:
            cursors.append((await asked.ask("keys", id=name, keys=pressed))["cursor"])
        except Refused as error:
            error.details["typed"] = text
            raise
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
