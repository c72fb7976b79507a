"""`verify`: whether the record of a session is whole; works without a daemon."""

from __future__ import annotations

import os
from typing import Any

from agent_pty.cli.command import Invocation, client_command
from agent_pty.core.command import Command, part
from agent_pty.core.evidence.chain import ChainCheck
from agent_pty.errors import UnknownSession, Usage
from agent_pty.store import journal_files, journal_reader

_FAILED = 1


def verify(call: Invocation) -> int:
    """Check one journal from its first line to its last."""
    path = _path(call)
    check = ChainCheck()
    for line in journal_reader.lines(path):
        if check.feed(line) is None:
            break
    torn = journal_reader.torn_tail(path)
    result: dict[str, Any] = {
        "result": "failed" if check.first_error else "unsigned",
        "path": path,
        "event_count": check.count,
        "head_hash": check.head,
        "first_error": check.first_error,
        "torn_bytes": torn,
    }
    call.show(result, _text(result))
    return _FAILED if check.first_error else 0


def _path(call: Invocation) -> str:
    given = call.options.what
    if "/" in given or given.endswith(".jsonl"):
        if not os.path.isfile(given):
            raise Usage(f"{given} is no file")
        return str(given)
    directory = call.layout.log_dir
    found = journal_files.find(directory, given, call.options.instance)
    if found is None:
        raise UnknownSession(given)
    return found


def _text(result: dict[str, Any]) -> str:
    if result["first_error"]:
        return f"failed: {result['first_error']}; {result['event_count']} events before it are good"
    text = f"the chain of {result['event_count']} events is whole, head {result['head_hash']}"
    if result["torn_bytes"]:
        text += f"; {result['torn_bytes']} bytes of an unfinished event follow"
    return text + "; it is not signed, so nothing shows whether its end was cut off"


COMMANDS = (
    client_command(
        "verify",
        "Check the record of a session: every event, and that none is missing between two.\n\n"
        "Exit status 1 if something was changed, with the first bad event.",
        Command(
            parts=(
                part("what", metavar="NAME|FILE", help="a session, or a journal"),
                part("instance", "--instance", metavar="ID", help="an earlier one of that name"),
            ),
            examples=("agent-pty verify work", "agent-pty verify ~/.agent-pty/runs/work.jsonl"),
        ),
    ),
)
