"""One event as a line that a person can read; programs get it as JSON. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from agent_pty.core.policy.shown_command import shown_command
from agent_pty.core.safe import one_line

Event = Mapping[str, Any]
_NAME_WIDTH = 12
_SHORT_ID = 8
# What stands in front of every line, or is of no use to a person.
_ELSEWHERE = frozenset({"event", "id", "instance", "seq", "ts", "cursor", "by"})


def event_line(event: Event, *, zone: dt.tzinfo | None = None) -> str:
    """Return time, session and what happened; *zone* is by default that of this computer."""
    time = _time(event.get("ts"), zone)
    said = _SENTENCES.get(event["event"], _unknown)(event)
    return one_line(f"{time} {event.get('id', '-'):<{_NAME_WIDTH}} {said}").rstrip()


def _time(stamp: str | None, zone: dt.tzinfo | None) -> str:
    if stamp is None:
        return "--:--:--"
    return dt.datetime.fromisoformat(stamp).astimezone(zone).strftime("%H:%M:%S")


def _unknown(event: Event) -> str:
    """Say whatever an event of another build has."""
    facts = [f"{name}={value}" for name, value in event.items() if name not in _ELSEWHERE]
    return " ".join([event["event"], *facts])


def _input(event: Event) -> str:
    return f"{_who(event)} typed {_count(event['bytes'], 'byte')} ({event['kind']})"


def _outcome(event: Event) -> str:
    error = event.get("error")
    return f"input {event['result']}: {error}" if error else f"input {event['result']}"


def _people(event: Event) -> str:
    now = f"{_count(event['attached'], 'person', 'people')} attached now"
    if event["event"] == "detached":
        return f"a person left, {now}"
    return f"a person {'watches' if event['read_only'] else 'attached'}, {now}"


def _cell(event: Event) -> str:
    text = f"cell {event['cell_id'][:_SHORT_ID]} {event['status']}"
    if waits := event.get("for"):
        return f"{text} for {waits}"
    return f"{text}, exit {code}" if (code := event.get("exit_code")) else text


def _who(event: Event) -> str:
    """Name who caused an event."""
    kind = (event.get("by") or {}).get("kind", "somebody")
    return str({"agent": "an agent", "human": "a person", "system": "agent-pty"}.get(kind, kind))


def _requested(event: Event) -> str:
    """Describe a request so that nothing in it can hide."""
    place = f" in {shown_command(cwd)[0]}" if (cwd := event.get("cwd")) else ""
    command = "  ".join(shown_command(event["command"]))
    asks = f"{_who(event)} needs an approval ({event['rule']}){place}"
    return f"request {event['request']}: {asks}: {command}"


def _decided(event: Event) -> str:
    said = "approved" if event["approved"] else "denied"
    return f"request {event['request']}: {said} by {_who(event)} ({event['rule']})"


def _exited(event: Event) -> str:
    if event["signal"] is not None:
        return f"ended by signal {event['signal']}"
    code = event["exit_code"]
    return f"exited, {'status unknown' if code is None else f'status {code}'}"


def _killed(event: Event) -> str:
    left = event.get("survivors")
    return f"killed, {_count(left, 'process', 'processes')} survived" if left else "killed"


def _progress(event: Event) -> str:
    percent = event["percent"]
    return f"progress: {event['state']}" + ("" if percent is None else f", {percent}%")


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


_SENTENCES: dict[str, Callable[[Event], str]] = {
    "created": lambda event: f"created, pid {event['pid']}",
    "renamed": lambda event: f"renamed to {event['name_now']}",
    "input": _input,
    "outcome": _outcome,
    "output_gap": lambda event: f"output was lost: {event['reason']}",
    "output": lambda event: f"wrote {_count(event['bytes'], 'byte')}",
    "prompt": lambda event: f"prompt {event['prompt']}",
    "title": lambda event: f"title {event['title']}",
    "cwd": lambda event: f"directory {event['cwd'] or 'unknown'}",
    "notification": lambda event: f"notification: {event['title']}: {event['body']}",
    "clipboard": lambda event: f"clipboard write, {_count(len(event['text']), 'character')}",
    "progress": _progress,
    "approval_requested": _requested,
    "approval_decided": _decided,
    "attached": _people,
    "detached": _people,
    "cell": _cell,
    "notify": lambda event: f"note from {event['from']}: {event['message']}",
    "mark_forged": lambda event: f"wrote {_count(event['count'], 'forged mark')}",
    "exited": _exited,
    "lost": lambda event: f"lost: {event['diagnosis']}",
    "killed": _killed,
    "lagged": lambda event: f"{_count(event['missed'], 'event')} missed",
}
