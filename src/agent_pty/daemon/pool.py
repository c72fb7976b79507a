"""The hosts: started on demand, chosen by load, replaced when they die."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from agent_pty import build, log
from agent_pty.core.layout import Layout
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.errors import AgentPtyError, HostLost, HostUnresponsive, SpawnFailed
from agent_pty.host.message import KillAll, Leave, UsePolicy, Watch
from agent_pty.host.serve import serve
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.listen import listen
from agent_pty.keeper.message import Fork

_MOST_HOSTS = 4
_LEAVE_SECONDS = 5.0
_END_SECONDS = 10.0
# A host that takes longer to give a sign of life gets no new session.
_ANSWER_SECONDS = 1.0


class Pool:
    """Links to hosts by name.

    *on_death* marks the sessions of a dead host at once and returns what moves them elsewhere.
    """

    def __init__(
        self,
        layout: Layout,
        keeper: KeeperClient,
        *,
        isolated: bool,
        on_death: Callable[[str], Coroutine[Any, Any, None]],
        on_event: Callable[[bytes], None] = lambda _event: None,
        policy: Callable[[], UsePolicy] = lambda: UsePolicy(text=None, path=""),
    ) -> None:
        self._layout = layout
        self._keeper = keeper
        self._isolated = isolated
        self._on_death = on_death
        self._on_event = on_event
        self._policy = policy
        self._watched = False
        self._links: dict[str, HostLink] = {}
        self._private: set[str] = set()
        self._next = 1
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._closing = False

    @property
    def links(self) -> list[HostLink]:
        """Every host that is connected."""
        return [link for link in self._links.values() if link.connected]

    @property
    def retired(self) -> bool:
        """Whether the end has begun."""
        return self._closing

    def get(self, name: str | None) -> HostLink | None:
        """Return the link to a host, None if it is gone."""
        link = self._links.get(name or "")
        return link if link is not None and link.connected else None

    async def find(self, name: str, pid: int | None) -> HostLink | None:
        """Connect to a host that an earlier daemon left; None if nobody is there."""
        try:
            return await self._connect(name, pid)
        except OSError:
            return None

    def reserve(self, name: str) -> None:
        """Never give *name* to a new host: it was used before."""
        number = name.removeprefix("h")
        if number.isdigit():
            self._next = max(self._next, int(number) + 1)

    async def choose(self, load: Callable[[str], int]) -> HostLink:
        """Return the least loaded shared host that answers; a new one while there are cores."""
        async with self._starting:
            while (link := self._least_loaded(load)) is not None:
                if await link.answers(_ANSWER_SECONDS):
                    return link
            return await self._start()

    def _least_loaded(self, load: Callable[[str], int]) -> HostLink | None:
        """Return the shared host with the fewest sessions; None if another one may be started."""
        shared = [link for link in self.links if link.name not in self._private]
        hung = [link for link in shared if link.doubtful or not link.responsive]
        for link in hung:
            link.ping()  # an answer makes it a candidate again
        healthy = [link for link in shared if link not in hung]
        idle = [link for link in healthy if load(link.name) == 0]
        most = min(os.cpu_count() or 1, _MOST_HOSTS) if self._isolated else 1
        # Hung hosts do not count, but they take memory: at most as many again are started.
        if idle or len(healthy) >= most or (healthy and len(shared) >= 2 * most):
            return min(idle or healthy, key=lambda link: load(link.name))
        if len(shared) >= 2 * most:
            pids = " ".join(str(link.pid) for link in shared)
            raise HostUnresponsive(
                f"none of {len(shared)} hosts answers: after `kill -9 {pids}` others take over",
                host_pid=shared[0].pid,
            )
        return None

    async def private(self) -> HostLink:
        """Return a new host for one session alone."""
        async with self._starting:
            link = await self._start()
            self.seclude(link.name)
            return link

    def seclude(self, name: str) -> None:
        """Give this host no other session, and end it with those it has."""
        self._private.add(name)

    async def _start(self) -> HostLink:
        if self._closing:
            raise HostLost("the daemon is stopping: it starts no host any more")
        name, self._next = f"h{self._next}", self._next + 1
        if not self._isolated:
            listener = listen(self._layout.host_socket(name))
            self._hold(serve(self._layout, name, listener))
            return await self._connect(name, os.getpid(), runs=build.digest())
        try:
            forked = await self._keeper.ask(Fork(role="host", name=name))
        except KeeperError as error:
            raise SpawnFailed(f"cannot start a host: {error}") from error
        link = await self._connect(name, forked.pid, runs=self._keeper.build)
        if self._closing:  # nobody would ask it to leave
            self.destroy(link)
            raise HostLost("the daemon is stopping: a host that started late was ended")
        if not link.connected:  # a session that got it now would never be moved away again
            raise HostLost(f"host {name} died as soon as it was started")
        return link

    async def _connect(self, name: str, pid: int | None, *, runs: str | None = None) -> HostLink:
        link = HostLink(name, pid, self._lost, self._on_event, build=runs)
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: link, self._layout.host_socket(name))
        self._links[name] = link
        self.reserve(name)
        await self._first(link, self._policy())
        if self._watched:
            await self._first(link, Watch(on=True))
        return link

    async def _first(self, link: HostLink, said: Watch | UsePolicy) -> None:
        """Tell a host something before the keeper, on another socket, hands it a session.

        What is asked of it later comes after it on this connection, even if it hangs now.
        """
        telling = self._hold(self._tell(link, said))
        await asyncio.wait([telling], timeout=_ANSWER_SECONDS)

    async def use_policy(self) -> None:
        """Tell every host that other rules count now."""
        said = self._policy()
        await asyncio.gather(*(self._tell(link, said) for link in self.links))

    async def watch(self, *, on: bool) -> None:
        """Have every host send its events, or stop that."""
        self._watched = on
        await asyncio.gather(*(self._tell(link, Watch(on=on)) for link in self.links))

    async def _tell(self, link: HostLink, said: Watch | UsePolicy) -> None:
        with contextlib.suppress(AgentPtyError):  # it is gone, or will be told again
            await link.control(said)

    def _hold(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _lost(self, link: HostLink) -> None:
        known = self._links.pop(link.name, None)  # None: it was dismissed
        if known is not None and not self._closing:
            log.line(f"daemon: host {link.name} ({link.pid}) is gone")
            self._private.discard(link.name)
            self._hold(self._on_death(link.name))

    async def replace(self, link: HostLink) -> None:
        """End a host of another build; its sessions move as if it had died, but none is lost."""
        self._links.pop(link.name, None)
        self._private.discard(link.name)
        try:
            async with asyncio.timeout(_LEAVE_SECONDS):
                await link.control(Leave())
                await link.wait_closed()  # from then on it reads no terminal
        except (AgentPtyError, TimeoutError):
            self.destroy(link)
        await self._on_death(link.name)

    async def dismiss(self, name: str) -> None:
        """End a host that gets no other session, when the last one it had is gone."""
        link = self.get(name)
        if name not in self._private or link is None:
            return
        self._private.discard(name)
        self._links.pop(name)
        if not link.responsive:
            self.destroy(link)
            return
        with contextlib.suppress(AgentPtyError):  # gone is what it was to be
            await link.control(Leave())

    async def end(self, link: HostLink) -> None:
        """End a host with all its sessions."""
        try:
            async with asyncio.timeout(_END_SECONDS):
                await link.control(KillAll())
                await link.control(Leave())
        except (AgentPtyError, TimeoutError) as error:
            log.line(f"daemon: host {link.name} does not leave: {error}")
            self.destroy(link)

    def destroy(self, link: HostLink) -> None:
        """End a host that does not leave; while it is connected its pid is its own."""
        if self._isolated and link.connected and link.pid is not None:
            os.kill(link.pid, signal.SIGKILL)

    def retire(self) -> None:
        """From now on hosts may go: they are not replaced."""
        self._closing = True

    async def settle(self) -> None:
        """Return when no host is being started any more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_SECONDS), self._starting:
                pass

    def close(self) -> None:
        """Let go of every host; they live on."""
        self.retire()
        for link in list(self._links.values()):
            link.close()
