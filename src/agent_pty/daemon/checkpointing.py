"""Signs checkpoints of all journals: now and then, when a session has ended, and at the end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable

from agent_pty import log
from agent_pty.core.layout import Layout
from agent_pty.store import journal_files
from agent_pty.store.checkpoints import Checkpoints, Followed
from agent_pty.store.signing_key import SigningKey

_LOOK_SECONDS = 2.0
_MOST_UNSIGNED = 256
_MOST_SECONDS = 10.0

# The instances and names of the sessions that there are.
Sessions = Callable[[], Iterable[tuple[str, str]]]


class Checkpointing:
    """Follows the journals of a daemon's sessions; files are read and signed in a thread."""

    def __init__(self, layout: Layout, sessions: Sessions) -> None:
        self._layout = layout
        self._sessions = sessions
        self._followed: dict[str, Followed] = {}
        self._signed_at: dict[str, float] = {}
        self._chain: Checkpoints | None = None
        # A look that is cancelled goes on in its thread: the last one waits for it.
        self._looking = threading.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            present = self.follow()
            if self._followed:
                await asyncio.to_thread(self._look, present, final=False)

    def follow(self) -> set[str]:
        """Take note of the sessions that there are now; return their instances."""
        present = set()
        for instance, name in self._sessions():
            self._followed.setdefault(instance, Followed(instance)).call(name)
            present.add(instance)
        return present

    async def close(self) -> None:
        """Sign what is not signed yet."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._followed:
            await asyncio.to_thread(self._look, set(), final=True)

    def _look(self, present: set[str], *, final: bool) -> None:
        with self._looking:
            for instance, journal in list(self._followed.items()):
                gone = instance not in present
                try:
                    self._sign(journal, final=final or gone)
                except Exception as error:  # noqa: BLE001  a bad key or file must not end the daemon
                    log.line(f"daemon: no checkpoint of {journal.name}: {error!r}")
                if gone:
                    self._followed.pop(instance, None)
                    self._signed_at.pop(instance, None)

    def _sign(self, journal: Followed, *, final: bool) -> None:
        path = journal_files.find(self._layout.log_dir, journal.name, journal.instance)
        if path is None:
            return
        journal.read_on(path)
        now = time.monotonic()
        since = now - self._signed_at.setdefault(journal.instance, now)
        due = final or journal.ended or since > _MOST_SECONDS
        if not (due or journal.unsigned >= _MOST_UNSIGNED):
            return
        found = journal.end
        if found is None:
            return
        if self._chain is None:
            self._chain = Checkpoints(self._layout.checkpoints, SigningKey(self._layout.keys))
        self._chain.add(journal, *found, closed=journal.ended)
        self._signed_at[journal.instance] = now
