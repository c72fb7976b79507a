"""What a journal alone tells of its session, for an index that was damaged or is older."""

from __future__ import annotations

import json
import os
from typing import Any

from agent_pty.ops.model import PastSession, State
from agent_pty.store.journal_reader import whole_lines

_TAIL = 1 << 16
_UNKNOWN = "only its journal is left: size, environment and pid are not known"


def rebuilt(path: str) -> PastSession | None:
    """Return what is known of the session of a journal; None if it is no journal."""
    with open(path, "rb") as file:
        first = _event(next(whole_lines(file), b""))
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
        found = [event for event in map(_event, whole_lines(file)) if event is not None]
    if first is None:
        return None
    last = found[-1] if found else first
    began = _payload(first)
    argv = [str(word) for word in began.get("argv") or [""]]
    ended = next((one for one in reversed(found) if _payload(one).get("type") == "exited"), None)
    how = _payload(ended) if ended is not None else {}
    return PastSession(
        id=str(last.get("session_id")),
        workspace=str(began.get("cwd", "")),
        shell=argv[0],
        env={},
        rows=None,
        cols=None,
        started_at=str(first.get("timestamp")),
        process_id=None,
        active=False,
        log_path=path,
        backend="pty",
        tmux_session=None,
        instance=str(first["instance"]),
        state=State.LOST if ended is None else State.EXITED,
        exit_code=how.get("exit_code"),
        signal=how.get("signal"),
        pid=None,
        host_pid=None,
        host=None,
        argv=argv,
        title=None,
        cursor=None,
        quiet_ms=None,
        attached=0,
        diagnosis=_UNKNOWN if ended is not None else f"{_UNKNOWN}, nor how it ended",
        ended_at=None if ended is None else str(ended.get("timestamp")),
    )


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and "instance" in event else None


def _payload(event: dict[str, Any]) -> dict[str, Any]:
    kind = event.get("kind")
    payload = kind.get("payload") if isinstance(kind, dict) else None
    return payload if isinstance(payload, dict) else {}
