"""The file `sessions.json`, as the contract has it: one array of sessions, sorted by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from agent_pty import log
from agent_pty.ops.model import SessionInfo
from agent_pty.store import atomic
from agent_pty.store.past_sessions import damaged_name

# So many are encoded at once: other threads wait as long as that takes.
_CHUNK = 100


def order(session: SessionInfo) -> tuple[str, str, str]:
    """Sort sessions by name, and those of one name by their age."""
    return session.id, session.started_at, session.instance


def write(path: str, sessions: Iterable[SessionInfo]) -> None:
    """Replace the file."""
    atomic.replace_by(path, _text(sorted(sessions, key=order)), durable=False)


def read(path: str) -> list[SessionInfo]:
    """Return what the file says; one that is damaged is kept aside, and says nothing."""
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=list[SessionInfo])
    except FileNotFoundError:
        return []
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        aside = damaged_name(path)
        os.rename(path, aside)
        log.line(
            f"daemon: warning: {path} is damaged ({error}); it is kept as {aside} and written anew"
        )
        return []


def _text(sessions: Sequence[SessionInfo]) -> Iterator[bytes]:
    if not sessions:
        yield b"[]\n"
        return
    for start in range(0, len(sessions), _CHUNK):
        chunk = msgspec.json.encode(sessions[start : start + _CHUNK])
        text = msgspec.json.format(chunk, indent=2).strip(b"[]\n")
        yield (b",\n" if start else b"[\n") + text
    yield b"\n]\n"
