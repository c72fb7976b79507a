"""`pty_read`: what a session wrote, or what its screen shows."""

from __future__ import annotations

from agent_pty.store.tombstone import Tombstone
from agent_pty.words.tools.pty_answer import PtyAnswer, joined
from agent_pty.words.tools.pty_arguments import MOST_WAIT_MS, ReadArguments
from agent_pty.words.tools.pty_client import Info, PtyClient, find
from agent_pty.words.tools.pty_end import how_it_ended
from agent_pty.words.tools.pty_lost import crash_note, lost_session
from agent_pty.words.tools.pty_output import collected, fitted, last_lines
from agent_pty.words.tools.pty_pattern import matching, matching_text
from agent_pty.words.tools.pty_wait import wait_for_output
from agent_pty.words.tools.screen_image import screen_image
from agent_pty.words.tools.tool import ToolOps


async def read(client: PtyClient, asked: ToolOps, arguments: ReadArguments) -> PtyAnswer:
    """Wait if that is wanted, then read."""
    found = await find(client, asked, arguments.id)
    since = None if arguments.since is None else max(0, arguments.since)
    if isinstance(found, Tombstone):
        return of_tombstone(client, found, arguments)
    if found["state"] == "lost":
        client.knows(found).saw_exit()
        return of_tombstone(client, lost_session(client.layout, found), arguments)
    known = client.knows(found)
    notes = ""
    if found["state"] == "running":
        notes = await _waited(asked, found, arguments, since)
    echo = "" if since is None else known.echoes.get(since, "")
    return await shown(client, asked, arguments, since=since, notes=notes, echo=echo)


async def _waited(asked: ToolOps, info: Info, arguments: ReadArguments, since: int | None) -> str:
    wait_ms = min(max(0, arguments.wait_ms), MOST_WAIT_MS)
    notes = ""
    if wait_ms < arguments.wait_ms:
        notes = f"[wait_ms is {MOST_WAIT_MS} at most, not {arguments.wait_ms}]\n"
    return notes + await wait_for_output(
        asked,
        info["id"],
        since=since,
        unread=(info["cursor"] or 0) > (since or 0),
        wait_ms=wait_ms,
        until=arguments.until,
    )


async def shown(
    client: PtyClient,
    asked: ToolOps,
    arguments: ReadArguments,
    *,
    since: int | None,
    notes: str = "",
    echo: str = "",
) -> PtyAnswer:
    """Return the text from a cursor on, or the screen if the program draws on all of it."""
    name, tail = arguments.id, arguments.tail
    doing = await asked.ask("doing", id=name)
    end = doing["cursor"]
    if arguments.pattern is not None:
        output = await matching(asked, name, arguments.pattern, since=since, tail=tail, end=end)
    else:
        output = await collected(
            asked, client.files, name, since=since, tail=tail, end=end, echo=echo
        )
    body = output.text
    chosen = arguments.view in {"screen", "image"}
    if chosen or (arguments.view is None and arguments.pattern is None):
        body = await _screen(asked, name, chosen=chosen) or body
    return PtyAnswer(
        body=joined(body, notes),
        name=name,
        cursor=output.cursor,
        ended=output.ended,
        doing=doing["what"],
        image=await screen_image(asked, name) if arguments.view == "image" else None,
    )


async def _screen(asked: ToolOps, name: str, *, chosen: bool) -> str | None:
    """Return the screen with a label; None if nobody chose it and the program writes lines."""
    screen = await asked.ask("screen", id=name)
    if not chosen and not (screen["alternate_screen"] and screen["state"] == "running"):
        return None
    cursor = screen["cursor"]
    label = f"[screen: {screen['rows']} rows, {screen['cols']} columns; cursor in row "
    label += f"{cursor['row'] + 1}, column {cursor['col'] + 1}]"
    text = "\n".join(line.rstrip() for line in screen["text"].split("\n")).rstrip("\n")
    return f"{label}\n{text}\n"


def of_tombstone(client: PtyClient, stone: Tombstone, arguments: ReadArguments) -> PtyAnswer:
    """Return what is kept of a session that is gone."""
    data, since, begin = stone.text.encode(), arguments.since, stone.gap_end
    notes = "[it was stopped]\n" if stone.stopped else ""
    notes += crash_note(client.layout, stone) if stone.lost else ""
    gap = ""
    if since is not None:
        gap = f"[gap: {begin - since} bytes no longer retained]\n" if since < begin else ""
        # Counted from the end, where a cursor and the text surely agree.
        left = max(0, stone.cursor - max(since, begin))
        data = data[len(data) - min(left, len(data)) :]
    text = data.decode(errors="ignore")
    if arguments.tail is not None:
        text = last_lines(text, arguments.tail)
    if arguments.pattern is not None:
        text = matching_text(text, arguments.pattern)
    else:
        text = fitted(client.files, stone.id, text, end=stone.cursor)
    return PtyAnswer(
        body=joined(gap + text, notes),
        name=stone.id,
        cursor=stone.cursor,
        ended=how_it_ended(stone),
    )
