"""`sessions.json`: the seed's index of sessions, for people and tools that read files.

It is a report, not the truth: the truth is what the keeper and the hosts hold.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

import msgspec

from agent_pty import log
from agent_pty.ops.model import Ending, SessionInfo, State
from agent_pty.store import atomic

_SOON = 0.1
_LATER = 1.0


class Index:
    """Written a moment after a change, so that many changes cost one write."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._collect: Callable[[], list[SessionInfo]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failed = False

    def check(self) -> None:
        """Put a damaged index aside: somebody may want to know what was in it."""
        try:
            with open(self._path, "rb") as file:
                msgspec.json.decode(file.read(), type=list[SessionInfo])
        except FileNotFoundError:
            return
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.line(f"daemon: {self._path} is damaged ({error}); kept as .damaged")
            with contextlib.suppress(OSError):
                os.replace(self._path, f"{self._path}.damaged")

    def endings(self) -> dict[str, Ending]:
        """Return how programs ended, by the instances of their sessions, as was last written."""
        try:
            with open(self._path, "rb") as file:
                infos = msgspec.json.decode(file.read(), type=list[SessionInfo])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}
        exited = [info for info in infos if info.state is State.EXITED]
        return {info.instance: Ending(code=info.exit_code, signal=info.signal) for info in exited}

    def save(self, collect: Callable[[], list[SessionInfo]]) -> None:
        """Write what *collect* returns, soon."""
        self._collect = collect
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SOON, self.flush)

    def flush(self) -> None:
        """Write now what was to be written soon."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        collect, self._collect = self._collect, None
        if collect is None:
            return
        infos = sorted(collect(), key=lambda info: info.id)
        try:
            data = msgspec.json.format(msgspec.json.encode(infos), indent=2)
            atomic.replace(self._path, data + b"\n", durable=False)
        except OSError as error:
            self._try_again(collect, error)
        else:
            self._failed = False

    def _try_again(self, collect: Callable[[], list[SessionInfo]], error: OSError) -> None:
        """Write it later: what has changed must show even if nothing more changes."""
        if not self._failed:
            log.line(f"daemon: cannot write {self._path}: {error}")
        self._failed, self._collect = True, collect
        self._timer = asyncio.get_running_loop().call_later(_LATER, self.flush)
