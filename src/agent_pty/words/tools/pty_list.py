"""`pty_list`: one line for each session, running ones first."""

from __future__ import annotations

import datetime as dt

from agent_pty.core.safe import one_line
from agent_pty.errors import AgentPtyError
from agent_pty.words.tools.footer import age, exit_words
from agent_pty.words.tools.pty_answer import PtyAnswer
from agent_pty.words.tools.pty_arguments import ListArguments
from agent_pty.words.tools.pty_client import Info, PtyClient
from agent_pty.words.tools.tool import ToolOps

_MOST_RUNNING, _MOST_EXITED = 100, 25
_MOST_COMMAND = 200


async def list_sessions(client: PtyClient, asked: ToolOps, _arguments: ListArguments) -> PtyAnswer:
    """List them as the operating system sees them now."""
    sessions = await asked.ask("list")
    running = [one for one in sessions if one["state"] == "running"]
    ended = sorted(
        (one for one in sessions if one["state"] != "running"),
        key=lambda one: str(one["started_at"]),
        reverse=True,
    )
    lines = [await _line(client, asked, one) for one in running[:_MOST_RUNNING]]
    if len(running) > _MOST_RUNNING:
        lines.append(f"[and {len(running) - _MOST_RUNNING} more that run: agent-pty list]")
    lines += [await _line(client, asked, one) for one in ended[:_MOST_EXITED]]
    for one in ended:
        if (known := client.known.get(one["instance"])) is not None:
            known.saw_exit()
    if len(ended) > _MOST_EXITED:
        lines.append(f"[and {len(ended) - _MOST_EXITED} more that have exited]")
    return PtyAnswer(body="".join(f"{line}\n" for line in lines) or "no sessions\n")


async def _line(client: PtyClient, asked: ToolOps, info: Info) -> str:
    command = one_line(" ".join(info["argv"]))[:_MOST_COMMAND]
    title = f"  ({one_line(info['title'])})" if info["title"] else ""
    if info["state"] != "running":
        return f"{info['id']} exited {exit_words(info)}  {command}{title}{_crash(info)}"
    seconds = age(info, dt.datetime.now(dt.UTC)) or 0
    quiet = f" quiet {info['quiet_ms'] // 1000}s" if info["quiet_ms"] is not None else ""
    unread = await _unread(client, asked, info)
    crash = _crash(info)
    return f"{info['id']} running {seconds:.0f}s{quiet}{unread}  {command}{title}{crash}"


def _crash(info: Info) -> str:
    """Say what happened to a process of ours that had the session."""
    return f"  [{one_line(info['diagnosis'])}]" if info["diagnosis"] else ""


async def _unread(client: PtyClient, asked: ToolOps, info: Info) -> str:
    """Count the lines that this client has not read; an unfinished one counts."""
    known = client.known.get(info["instance"])
    if known is None or (info["cursor"] or 0) <= known.cursor:
        return ""
    try:
        page = await asked.ask("read", id=info["id"], since=known.cursor)
    except AgentPtyError:  # it ended meanwhile; the next list says so
        return ""
    return f" unread {len(page['text'].splitlines())}{'+' if page['more'] else ''} lines"
