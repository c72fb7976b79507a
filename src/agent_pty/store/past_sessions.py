"""`sessions.json.past`: what is known of past sessions, one line for each change.

The last line about an instance counts. So a session that ends costs one line, whatever thousands
of others there are; lines that no longer count are dropped when a daemon starts.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from agent_pty import log
from agent_pty.ops.model import PastSession
from agent_pty.store import atomic, journal_reader
from agent_pty.store.append_lines import append_lines

VERSION = 1


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change: a session is known, or the instance *removed* is no longer."""

    version: int
    session: PastSession | None = None
    removed: str | None = None


class PastSessions:
    """The file; safe to be used by several threads."""

    def __init__(self, path: str) -> None:
        self._path = path
        # Nothing may be added while the file is replaced.
        self._lock = threading.Lock()

    def add(self, sessions: Iterable[PastSession]) -> None:
        """Remember sessions, or what has changed of them; if that fails nothing has changed."""
        self._append(Line(version=VERSION, session=one) for one in sessions)

    def remove(self, instance: str) -> None:
        """Forget a session."""
        self._append([Line(version=VERSION, removed=instance)])

    def read(self) -> dict[str, PastSession]:
        """Return every session by instance, those that ended last at the end.

        Nobody waits for that: of a line that is just being written, nothing is read.
        """
        return self._read()[0]

    def _append(self, lines: Iterable[Line]) -> None:
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        with self._lock:
            append_lines(self._path, data, durable=False)

    def tidy(self) -> None:
        """Drop lines that no longer count; keep a damaged file aside, and what is good of it."""
        with self._lock:
            found, lines, bad = self._read()
            if bad:
                aside = damaged_name(self._path)
                log.line(
                    f"daemon: warning: {bad} of {lines} lines of {self._path} are damaged; it is "
                    f"kept as {aside}, and what is missing is taken from the journals"
                )
                os.rename(self._path, aside)
            if bad or lines > 2 * len(found) + 100:
                whole = (Line(version=VERSION, session=one) for one in found.values())
                atomic.replace_by(self._path, _encoded(whole), durable=False)

    def _read(self) -> tuple[dict[str, PastSession], int, int]:
        """Return the sessions, and how many lines there are and how many of them are bad."""
        found: dict[str, PastSession] = {}
        count = bad = 0
        if os.path.exists(self._path):
            for text in journal_reader.lines(self._path):
                count += 1
                line = _decoded(text)
                if line is None:
                    bad += 1
                elif line.removed is not None:
                    found.pop(line.removed, None)
                elif line.session is not None:
                    found.pop(line.session.instance, None)
                    found[line.session.instance] = line.session
        return found, count, bad


def damaged_name(path: str) -> str:
    """Return a name that is free, under which a damaged file is kept."""
    aside, number = f"{path}.damaged", 1
    while os.path.lexists(aside):
        number += 1
        aside = f"{path}.damaged-{number}"
    return aside


def _decoded(text: bytes) -> Line | None:
    try:
        line = _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return line if line.version <= VERSION else None


def _encoded(lines: Iterable[Line]) -> Iterator[bytes]:
    for line in lines:
        yield msgspec.json.encode(line) + b"\n"


_decoder = msgspec.json.Decoder(Line)
