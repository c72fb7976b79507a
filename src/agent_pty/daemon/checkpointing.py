"""Signs checkpoints of all journals: now and then, when a session has ended, and at the end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable

from agent_pty import log
from agent_pty.core.evidence.checkpoint import Removal
from agent_pty.core.layout import Layout
from agent_pty.store import journal_files
from agent_pty.store.checkpoints import Checkpoints, Followed
from agent_pty.store.signing_key import SigningKey

_LOOK_SECONDS = 2.0
_MOST_UNSIGNED = 256
_MOST_SECONDS = 10.0
_MOST_PROBLEMS = 100

# The instances and names of sessions.
Sessions = Callable[[], Iterable[tuple[str, str]]]


class Checkpointing:
    """Follows the journals of a daemon's sessions; files are read and signed in a thread."""

    def __init__(self, layout: Layout, sessions: Sessions) -> None:
        self._layout = layout
        self._sessions = sessions
        self._followed: dict[str, Followed] = {}
        self._signed_at: dict[str, float] = {}
        self._made: Checkpoints | None = None
        self._problems: dict[str, str] = {}
        # Sessions that are being forgotten: something may still be written to their journals.
        self._ending: dict[str, str] = {}
        self._somebody_ended = asyncio.Event()
        # A look that is cancelled goes on in its thread: the last one waits for it.
        self._looking = threading.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        next_look = loop.time() + _LOOK_SECONDS
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(next_look):
                    await self._somebody_ended.wait()
            self._somebody_ended.clear()
            everybody = loop.time() >= next_look
            if everybody:
                next_look = loop.time() + _LOOK_SECONDS
            present = self.follow()
            if self._followed:
                await asyncio.to_thread(self._look, present, everybody=everybody)

    def follow(self) -> set[str]:
        """Take note of the sessions that there are now; return their instances."""
        present = set()
        for instance, name in [*self._sessions(), *self._ending.items()]:
            self._follow(instance, name)
            present.add(instance)
        return present

    def _follow(self, instance: str, name: str) -> None:
        self._followed.setdefault(instance, Followed(instance)).call(name)

    def ending(self, instance: str, name: str) -> None:
        """A session is being forgotten; however short its life was, its journal is signed."""
        self._ending[instance] = name
        self._follow(instance, name)

    def ended(self, instance: str) -> None:
        """Nothing is written to its journal any more: sign all of it, soon."""
        self._ending.pop(instance, None)
        self._somebody_ended.set()

    async def sign_now(self, instance: str, name: str) -> int | None:
        """Sign all that a journal has at this moment, also that of a session that is gone.

        Return how many bytes that is; None: it is damaged, and nothing was signed.
        """
        return await asyncio.to_thread(self._sign_now, instance, name)

    def _sign_now(self, instance: str, name: str) -> int | None:
        with self._looking:
            journal = self._followed.get(instance) or Followed(instance)
            journal.call(name)
            path = journal_files.find(self._layout.log_dir, name, instance)
            if path is None:
                return None
            self._read(journal, path)
            whole, end = journal.whole_bytes, journal.end
            if whole is not None and end is not None:
                self._chain().add(journal, *end, closed=journal.ended)
                self._signed_at[instance] = time.monotonic()
            return whole

    async def sign_removal(
        self, instance: str, name: str, *, count: int, head: str, removed: Removal
    ) -> None:
        """Put it on the disk that a journal is about to be removed on purpose."""

        def sign() -> None:
            with self._looking:
                self._chain().add_removal(instance, name, count=count, head=head, removed=removed)

        await asyncio.to_thread(sign)

    async def close(self) -> None:
        """Sign what is not signed yet."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self.follow()
        if self._followed:
            await asyncio.to_thread(self._look, set(), everybody=True)

    def _look(self, present: set[str], *, everybody: bool) -> None:
        """Sign what is due of journals: of *everybody*, or only of sessions that are gone."""
        with self._looking:
            for instance, journal in list(self._followed.items()):
                gone = instance not in present
                if not (gone or everybody):
                    continue
                try:
                    self._sign(journal, final=gone)
                except Exception as error:  # noqa: BLE001  a bad key or file must not end the daemon
                    self._note_problem(journal, error)
                else:
                    self._problems.pop(journal.name, None)
                if gone:
                    self._followed.pop(instance, None)
                    self._signed_at.pop(instance, None)

    def _note_problem(self, journal: Followed, error: Exception) -> None:
        """Keep what went wrong for `status`, and log it once: it is tried every few seconds."""
        text = str(error) or type(error).__name__
        if self._problems.get(journal.name) != text:
            log.line(f"daemon: no checkpoint of {journal.name}: {error!r}")
        self._problems[journal.name] = text
        while len(self._problems) > _MOST_PROBLEMS:
            del self._problems[next(iter(self._problems))]

    @property
    def problems(self) -> dict[str, str]:
        """Why the journals of which sessions are not signed, by name."""
        return dict(self._problems)

    def _sign(self, journal: Followed, *, final: bool) -> None:
        path = journal_files.find(self._layout.log_dir, journal.name, journal.instance)
        if path is None:
            return
        self._read(journal, path)
        now = time.monotonic()
        since = now - self._signed_at.setdefault(journal.instance, now)
        due = final or journal.ended or since > _MOST_SECONDS
        if not (due or journal.unsigned >= _MOST_UNSIGNED):
            return
        found = journal.end
        if found is None:
            return
        self._chain().add(journal, *found, closed=journal.ended)
        self._signed_at[journal.instance] = now

    def _read(self, journal: Followed, path: str) -> None:
        """Read what is new; what was signed before must be there, whoever signed it."""
        journal.expect(self._chain().known(journal.instance))
        journal.read_on(path)
        if not journal.is_what_was_signed:
            raise ValueError(f"{path} is not what was signed")

    def names(self) -> dict[str, str]:
        """Return what the sessions with signed journals were last called, by instance."""
        with self._looking:
            return self._chain().names

    def _chain(self) -> Checkpoints:
        if self._made is None:
            self._made = Checkpoints(self._layout.checkpoints, SigningKey(self._layout.keys))
        return self._made
