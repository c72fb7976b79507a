"""The pool of hosts, with fake hosts on real sockets and a fake keeper that starts them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from typing import cast

import pytest

from agent_pty import build
from agent_pty.core.frame import Frame, Kind
from agent_pty.core.layout import Layout
from agent_pty.daemon import pool as pool_module
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.daemon.pool import Pool
from agent_pty.errors import Busy, HostLost, HostUnresponsive, Internal
from agent_pty.host.message import Describe, Leave, Watch
from agent_pty.keeper.listen import listen
from agent_pty.keeper.message import Fork, Forked
from support.fake_host import (
    NO_PROCESS,
    FakeHost,
    advance,
    begin,
    done_at_once,
    in_frozen_time,
    running_program,
    runs,
    signal_that_ended,
    still_waits,
    temporary_layout,
)

BEAT = 1.0
ANSWER_SECONDS = 1.0


class FakeKeeper:
    """Starts fake hosts; *pids* says which process a host shall seem to be."""

    def __init__(self, layout: Layout) -> None:
        self.build = "b1"
        self.forked: list[Fork] = []
        self.pids: dict[str, int] = {}
        self.hosts: dict[str, FakeHost] = {}
        self.failure: Exception | None = None
        self.mortal = False
        self._answers = asyncio.Event()
        self._answers.set()
        self._layout = layout
        self._servers: list[asyncio.Server] = []

    async def ask(self, fork: Fork) -> Forked:
        """Start a host that listens."""
        self.forked.append(fork)
        if self.failure is not None:
            raise self.failure
        await self._answers.wait()
        await self.listen(fork.name)
        return Forked(pid=self.pids.get(fork.name, NO_PROCESS))

    def delay(self) -> Callable[[], None]:
        """Answer nothing until the function that is returned is called."""
        self._answers.clear()
        return self._answers.set

    async def listen(self, name: str) -> FakeHost:
        """Listen as a host does."""
        return await self.serve(name, listen(self._layout.host_socket(name)))

    async def serve(self, name: str, listener: socket.socket) -> FakeHost:
        """Serve a host at a socket that is bound already."""
        host = self.hosts[name] = FakeHost()
        host.be_lively()
        if self.mortal:
            host.die_when_asked()
        loop = asyncio.get_running_loop()
        self._servers.append(await loop.create_unix_server(lambda: host, sock=listener))
        return host

    async def close(self) -> None:
        """End every host; each was connected, but may not have noticed yet."""
        for host in self.hosts.values():
            await host.die()
        for server in self._servers:
            server.close()


class Scene:
    """A pool, the keeper that starts its hosts, and the deaths that the pool reported."""

    def __init__(self, layout: Layout, *, isolated: bool) -> None:
        self.keeper = FakeKeeper(layout)
        self.died: asyncio.Queue[str] = asyncio.Queue()
        self.events: asyncio.Queue[bytes] = asyncio.Queue()
        self.loads: dict[str, int] = {}
        self.pool = Pool(
            layout,
            cast("KeeperClient", self.keeper),
            isolated=isolated,
            on_death=self.died.put,
            on_event=self.events.put_nowait,
        )

    def load(self, name: str) -> int:
        """Return how many sessions the test gave to a host."""
        return self.loads.get(name, 0)

    async def choose(self, *, sessions: int = 1) -> str:
        """Choose a host as `new` does, and give it sessions."""
        name = (await self.pool.choose(self.load)).name
        self.loads[name] = self.load(name) + sessions
        return name

    async def private(self) -> tuple[HostLink, FakeHost]:
        """Start a host for one session."""
        link = await self.pool.private()
        return link, self.keeper.hosts[link.name]

    async def let_hosts_die(self, count: int) -> None:
        """Start hosts and end them, one after the other."""
        for _ in range(count):
            _, host = await self.private()
            await host.die()
            await self.died.get()


@contextlib.asynccontextmanager
async def pooled(layout: Layout, *, isolated: bool = True) -> AsyncIterator[Scene]:
    """Make a pool; afterwards every connection is closed."""
    scene = Scene(layout, isolated=isolated)
    try:
        yield scene
    finally:
        scene.pool.close()
        await scene.keeper.close()


@pytest.fixture
def layout() -> Iterator[Layout]:
    """A home of its own."""
    with temporary_layout() as found:
        yield found


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """A process that may be killed."""
    with running_program() as found:
        yield found


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> int:
    """Two cores, whatever the machine has."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return 2


# -- which host a new session gets


@in_frozen_time
async def test_the_first_session_starts_a_host(layout: Layout) -> None:
    """
    The keeper forks a host, and the link has its pid and its build.
    """
    async with pooled(layout) as scene:
        link = await scene.pool.choose(scene.load)

        assert scene.keeper.forked == [Fork(role="host", name="h1")]
        assert (link.name, link.pid, link.build) == ("h1", NO_PROCESS, "b1")
        assert scene.pool.links == [link]
        assert scene.pool.get("h1") is link


@in_frozen_time
async def test_a_host_that_dies_at_its_first_word_is_given_to_nobody(layout: Layout) -> None:
    """
    A session that got it after its death was reported would never be moved away again.
    """
    async with pooled(layout) as scene:
        scene.keeper.mortal = True

        with pytest.raises(HostLost, match="h1 died"):
            await scene.pool.private()

        assert await scene.died.get() == "h1"


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_an_idle_host_is_chosen_before_a_new_one(layout: Layout) -> None:
    """
    No host is started while one has no session.
    """
    async with pooled(layout) as scene:
        assert await scene.choose(sessions=0) == "h1"

        assert await scene.choose() == "h1"

        assert len(scene.keeper.forked) == 1


@in_frozen_time
async def test_hosts_are_started_while_there_are_cores(layout: Layout, cores: int) -> None:
    """
    Each busy host gets another one beside it, up to the number of cores.
    """
    async with pooled(layout) as scene:
        chosen = [await scene.choose() for _ in range(4)]

        assert chosen == ["h1", "h2", "h1", "h2"]
        assert len(scene.keeper.forked) == cores


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_the_least_loaded_host_is_chosen(layout: Layout) -> None:
    """
    A session goes to the host with the fewest sessions when no more hosts may be started.
    """
    async with pooled(layout) as scene:
        await scene.choose(sessions=3)
        await scene.choose(sessions=2)

        assert await scene.choose() == "h2"


@in_frozen_time
async def test_there_are_never_more_than_four_shared_hosts(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A machine with many cores gets four hosts.
    """
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    async with pooled(layout) as scene:
        chosen = {await scene.choose() for _ in range(8)}

        assert chosen == {"h1", "h2", "h3", "h4"}


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_two_choices_at_once_start_one_host(layout: Layout) -> None:
    """
    A second caller waits for the host that the first one starts.
    """
    async with pooled(layout) as scene:
        one, two = await asyncio.gather(
            scene.pool.choose(scene.load), scene.pool.choose(scene.load)
        )

        assert one is two
        assert len(scene.keeper.forked) == 1


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_without_isolation_there_is_one_host_in_this_process(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The pool serves one host itself and asks the keeper for none.
    """
    async with pooled(layout, isolated=False) as scene:

        async def serve(_layout: Layout, name: str, listener: socket.socket) -> None:
            await scene.keeper.serve(name, listener)

        monkeypatch.setattr(pool_module, "serve", serve)

        first = await scene.choose()
        second = await scene.choose()

        assert (first, second) == ("h1", "h1")
        assert scene.keeper.forked == []
        (link,) = scene.pool.links
        assert (link.pid, link.build) == (os.getpid(), build.digest())


# -- hosts that hang


def hang(scene: Scene, *names: str) -> None:
    """Let hosts give no sign of life from now on."""
    for name in names:
        scene.keeper.hosts[name].be_lively(lively=False)


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_trial_10_a_host_that_hangs_gets_no_session(layout: Layout) -> None:
    """
    The least loaded host is asked for a sign of life; without one another host takes its place.
    """
    async with pooled(layout) as scene:
        await scene.choose()
        await scene.choose(sessions=2)
        hang(scene, "h1")

        choosing = begin(scene.choose())
        assert await still_waits(choosing)
        advance(ANSWER_SECONDS)

        assert await choosing == "h3"


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_trial_10_a_host_that_hangs_is_not_waited_for_twice(layout: Layout) -> None:
    """
    Once a host gave no sign of life, the next choices take the hosts that answer, at once.
    """
    async with pooled(layout) as scene:
        await scene.choose()
        await scene.choose()
        hang(scene, "h1")
        choosing = begin(scene.choose())
        assert await still_waits(choosing)
        advance(ANSWER_SECONDS)
        await choosing

        chosen = [await done_at_once(scene.choose()) for _ in range(4)]

        assert chosen == ["h2", "h3", "h2", "h3"]


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_trial_10_a_host_that_answers_again_is_chosen_again(layout: Layout) -> None:
    """
    A host that hung is asked again with every choice, and its answer makes it a candidate.
    """
    async with pooled(layout) as scene:
        await scene.choose()
        await scene.choose(sessions=5)
        hang(scene, "h1")
        choosing = begin(scene.choose())
        assert await still_waits(choosing)
        advance(ANSWER_SECONDS)
        await choosing

        scene.keeper.hosts["h1"].be_lively()
        await scene.choose()
        h1 = scene.pool.get("h1")
        assert h1 is not None
        await done_at_once(h1.answers(ANSWER_SECONDS))

        assert await scene.choose() == "h1"


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_trial_10_hosts_that_hang_do_not_pile_up(layout: Layout, cores: int) -> None:
    """
    When twice as many hosts as there are cores hang, the error names them and a remedy.
    """
    async with pooled(layout) as scene:
        for number in range(1, 2 * cores + 1):
            await scene.choose()
            hang(scene, f"h{number}")
            link = scene.pool.get(f"h{number}")
            assert link is not None
            asking = begin(link.answers(ANSWER_SECONDS))
            assert await still_waits(asking)
            advance(ANSWER_SECONDS)
            assert not await asking

        with pytest.raises(HostUnresponsive, match="none of 4 hosts answers: after `kill -9 "):
            await scene.choose()

        assert len(scene.keeper.forked) == 2 * cores


@in_frozen_time
async def test_a_host_that_cannot_be_started_is_reported(layout: Layout) -> None:
    """
    The caller gets the keeper's error, and the next call tries again with another name.
    """
    async with pooled(layout) as scene:
        scene.keeper.failure = Busy("no more processes")
        with pytest.raises(Busy):
            await scene.pool.choose(scene.load)
        scene.keeper.failure = None

        link = await scene.pool.choose(scene.load)

        assert scene.pool.links == [link]
        assert [fork.name for fork in scene.keeper.forked] == ["h1", "h2"]


@in_frozen_time
async def test_the_name_of_a_dead_host_is_not_used_again(layout: Layout) -> None:
    """
    The next host gets a new name.
    """
    async with pooled(layout) as scene:
        await scene.let_hosts_die(1)

        assert await scene.choose() == "h2"


@pytest.mark.parametrize(
    ("reserved", "expected"),
    [(["h7"], "h8"), (["h7", "h3"], "h8"), (["other", "h", "hx9"], "h1")],
)
@in_frozen_time
async def test_a_reserved_name_is_not_given(
    layout: Layout, reserved: list[str], expected: str
) -> None:
    """
    A new host gets a number above every number that was used before.
    """
    async with pooled(layout) as scene:
        for name in reserved:
            scene.pool.reserve(name)

        assert await scene.choose() == expected


# -- hosts of an earlier daemon


@in_frozen_time
async def test_a_host_of_an_earlier_daemon_is_found(layout: Layout) -> None:
    """
    The pool connects to a host that listens, and never gives its name to a new one.
    """
    async with pooled(layout) as scene:
        await scene.keeper.listen("h5")

        link = await scene.pool.find("h5", NO_PROCESS)
        private, _ = await scene.private()

        assert link is not None
        assert (link.name, link.pid, link.build) == ("h5", NO_PROCESS, None)
        assert scene.pool.get("h5") is link
        assert private.name == "h6"


@in_frozen_time
async def test_a_host_that_is_gone_is_not_found(layout: Layout) -> None:
    """
    The pool returns None where nobody listens.
    """
    async with pooled(layout) as scene:
        with contextlib.closing(listen(layout.host_socket("h4"))):
            pass  # the file of the socket stays

        assert await scene.pool.find("h3", NO_PROCESS) is None
        assert await scene.pool.find("h4", NO_PROCESS) is None
        assert scene.pool.links == []


@in_frozen_time
async def test_an_unknown_host_has_no_link(layout: Layout) -> None:
    """
    The pool returns None for a name that it does not know and for no name.
    """
    async with pooled(layout) as scene:
        assert scene.pool.get("h1") is None
        assert scene.pool.get(None) is None


# -- private hosts


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_a_private_host_gets_no_other_session(layout: Layout) -> None:
    """
    A session that shares gets another host, even if the private one is idle.
    """
    async with pooled(layout) as scene:
        alone, _ = await scene.private()

        chosen = [await scene.choose() for _ in range(4)]

        assert alone.name == "h1"
        assert chosen == ["h2", "h3", "h2", "h3"]


@in_frozen_time
async def test_a_secluded_host_is_private(layout: Layout) -> None:
    """
    A host of an earlier daemon that has an isolated session gets no other one.
    """
    async with pooled(layout) as scene:
        await scene.keeper.listen("h1")
        await scene.pool.find("h1", NO_PROCESS)

        scene.pool.seclude("h1")

        assert await scene.choose() == "h2"


@in_frozen_time
async def test_a_dismissed_host_leaves(layout: Layout) -> None:
    """
    A private host is asked to leave, and its end is not reported as a death.
    """
    async with pooled(layout) as scene:
        link, host = await scene.private()

        dismissing = begin(scene.pool.dismiss(link.name))
        request, asked = await host.asked()
        host.answer(request)
        await dismissing
        await host.die()
        await link.wait_closed()

        assert asked == Leave()
        assert scene.pool.get(link.name) is None
        assert await still_waits(begin(scene.died.get()))


@in_frozen_time
async def test_a_shared_host_is_not_dismissed(layout: Layout) -> None:
    """
    The host of several sessions is asked nothing and stays.
    """
    async with pooled(layout) as scene:
        link = await scene.pool.choose(scene.load)

        await scene.pool.dismiss(link.name)
        await scene.pool.dismiss("h99")

        assert scene.pool.get(link.name) is link
        assert await still_waits(begin(scene.keeper.hosts[link.name].received()))


@pytest.mark.parametrize("refuses", [True, False])
@in_frozen_time
async def test_dismissing_a_host_that_fails_is_no_error(layout: Layout, *, refuses: bool) -> None:
    """
    The caller is not told that the host died or failed while it was to leave.
    """
    async with pooled(layout) as scene:
        link, host = await scene.private()

        dismissing = begin(scene.pool.dismiss(link.name))
        request, _ = await host.asked()
        if refuses:
            host.refuse(request, Internal("a mistake"))
        else:
            await host.die()
        await dismissing

        assert scene.pool.get(link.name) is None


async def fall_silent(link: HostLink, host: FakeHost) -> None:
    """Let a host miss so many beats that it counts as unresponsive."""
    host.be_lively(lively=False)
    asking = begin(link.request(Describe()))
    await host.received()
    for _ in range(5):
        advance(BEAT)
        assert await host.received() == Frame(kind=Kind.PING)
    await asyncio.gather(asking, return_exceptions=True)
    assert not link.responsive


@in_frozen_time
async def test_dismissing_an_unresponsive_host_kills_it(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    A private host that does not answer is killed and not asked.
    """
    async with pooled(layout) as scene:
        scene.keeper.pids["h1"] = program.pid
        link, host = await scene.private()
        await fall_silent(link, host)

        await scene.pool.dismiss(link.name)

        assert signal_that_ended(program) == signal.SIGKILL
        assert await still_waits(begin(host.received()))


# -- deaths


@in_frozen_time
async def test_a_death_is_reported_with_the_name_of_the_host(
    layout: Layout, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    The pool forgets a host whose connection ends, writes it to the log and reports it once.
    """
    async with pooled(layout) as scene:
        link = await scene.pool.choose(scene.load)

        await scene.keeper.hosts["h1"].die()

        assert await scene.died.get() == "h1"
        assert scene.pool.get("h1") is None
        assert scene.pool.links == []
        assert scene.died.empty()
        assert f"host h1 ({link.pid}) is gone" in capfd.readouterr().err


@pytest.mark.usefixtures("cores")
@in_frozen_time
async def test_a_death_makes_room_for_another_host(layout: Layout) -> None:
    """
    A host that is gone does not count as one of the hosts that the cores allow.
    """
    async with pooled(layout) as scene:
        for _ in range(2):
            await scene.choose()

        await scene.keeper.hosts["h1"].die()
        await scene.died.get()

        assert await scene.choose() == "h3"


# -- replacing and ending hosts


@in_frozen_time
async def test_a_replaced_host_closes_before_its_sessions_move(layout: Layout) -> None:
    """
    The pool asks the host to leave, and reports its end when the connection has closed.
    """
    async with pooled(layout) as scene:
        link = await scene.pool.choose(scene.load)
        host = scene.keeper.hosts["h1"]

        replacing = begin(scene.pool.replace(link))
        request, asked = await host.asked()
        assert scene.pool.get("h1") is None  # it gets no session any more
        host.answer(request)
        assert await still_waits(replacing)
        await host.die()
        await replacing

        assert asked == Leave()
        assert scene.died.get_nowait() == "h1"
        assert scene.died.empty()


@in_frozen_time
async def test_a_replaced_host_that_does_not_leave_is_killed(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    The pool waits five seconds for the host, then kills it and reports its end.
    """
    async with pooled(layout) as scene:
        scene.keeper.pids["h1"] = program.pid
        link, host = await scene.private()

        replacing = begin(scene.pool.replace(link))
        await host.received()
        advance(4.9)
        assert await still_waits(replacing)
        assert runs(program)
        advance(0.2)
        await replacing

        assert signal_that_ended(program) == signal.SIGKILL
        assert scene.died.get_nowait() == "h1"


@in_frozen_time
async def test_a_replaced_host_that_refuses_is_killed(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    The pool kills a host of an old build that does not know how to leave.
    """
    async with pooled(layout) as scene:
        scene.keeper.pids["h1"] = program.pid
        link, host = await scene.private()

        replacing = begin(scene.pool.replace(link))
        request, _ = await host.asked()
        host.refuse(request, Internal("unknown message"))
        await replacing

        assert signal_that_ended(program) == signal.SIGKILL
        assert scene.died.get_nowait() == "h1"


@in_frozen_time
async def test_a_connected_host_can_be_destroyed(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    The pool kills the process of the host.
    """
    async with pooled(layout) as scene:
        scene.keeper.pids["h1"] = program.pid
        link = await scene.pool.choose(scene.load)

        scene.pool.destroy(link)

        assert signal_that_ended(program) == signal.SIGKILL


@in_frozen_time
async def test_a_pid_is_not_killed_after_the_connection_ended(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    The pid of a host that is gone may belong to another program, which is spared.
    """
    async with pooled(layout) as scene:
        scene.keeper.pids["h1"] = program.pid
        link = await scene.pool.choose(scene.load)
        await scene.keeper.hosts["h1"].die()
        await link.wait_closed()

        scene.pool.destroy(link)

        assert runs(program)


@in_frozen_time
async def test_without_isolation_no_process_is_killed(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    A host inside the daemon has the daemon's own pid, which is spared.
    """
    async with pooled(layout, isolated=False) as scene:
        await scene.keeper.listen("h1")
        link = await scene.pool.find("h1", program.pid)
        assert link is not None

        scene.pool.destroy(link)

        assert runs(program)


@in_frozen_time
async def test_a_retired_pool_reports_no_death(layout: Layout) -> None:
    """
    Hosts that go while the daemon stops are not replaced.
    """
    async with pooled(layout) as scene:
        link = await scene.pool.choose(scene.load)
        assert not scene.pool.retired

        scene.pool.retire()
        await scene.keeper.hosts["h1"].die()
        await link.wait_closed()

        assert scene.pool.retired
        assert await still_waits(begin(scene.died.get()))


@in_frozen_time
async def test_trial_14_a_retired_pool_starts_no_host(layout: Layout) -> None:
    """
    Who wants a host while the daemon stops gets an error, and the keeper is not asked.
    """
    async with pooled(layout) as scene:
        scene.pool.retire()

        with pytest.raises(HostLost, match="the daemon is stopping"):
            await scene.pool.private()

        assert scene.keeper.forked == []


@in_frozen_time
async def test_trial_14_a_host_that_starts_late_is_ended(
    layout: Layout, program: subprocess.Popen[bytes]
) -> None:
    """
    The pool waits for a host that is being forked when the end begins, and kills it.
    """
    async with pooled(layout) as scene:
        scene.keeper.pids["h1"] = program.pid
        release = scene.keeper.delay()
        starting = begin(scene.pool.private())
        assert await still_waits(starting)

        scene.pool.retire()
        settling = begin(scene.pool.settle())
        assert await still_waits(settling)
        release()
        await settling

        with pytest.raises(HostLost, match="a host that started late was ended"):
            await starting
        assert signal_that_ended(program) == signal.SIGKILL


@in_frozen_time
async def test_trial_14_a_host_that_does_not_start_is_not_waited_for_for_ever(
    layout: Layout,
) -> None:
    """
    The end goes on after five seconds although the keeper has not answered.
    """
    async with pooled(layout) as scene:
        scene.keeper.delay()
        starting = begin(scene.pool.private())
        assert await still_waits(starting)
        scene.pool.retire()

        settling = begin(scene.pool.settle())
        assert await still_waits(settling)
        advance(5.0)

        await settling
        starting.cancel()


@in_frozen_time
async def test_close_lets_go_of_every_host(layout: Layout) -> None:
    """
    The pool closes its connections, kills nobody and reports no death.
    """
    async with pooled(layout) as scene:
        links = [(await scene.private())[0] for _ in range(2)]

        scene.pool.close()
        for link in links:
            await link.wait_closed()

        assert scene.pool.links == []
        assert await still_waits(begin(scene.died.get()))


# -- events


@in_frozen_time
async def test_every_host_is_asked_for_its_events(layout: Layout) -> None:
    """
    Those that are there are asked at once; a later one is asked before anybody may use it.
    """
    async with pooled(layout) as scene:
        _, first = await scene.private()

        watching = begin(scene.pool.watch(on=True))
        request, asked = await first.asked()
        first.answer(request)
        await watching
        starting = begin(scene.private())
        assert await still_waits(starting)
        later = scene.keeper.hosts["h2"]
        request, asked_later = await later.asked()
        later.answer(request)
        await starting
        later.send(Frame(kind=Kind.EVENT, body=b"{}"))

        assert (asked, asked_later) == (Watch(on=True), Watch(on=True))
        assert await scene.events.get() == b"{}"


@in_frozen_time
async def test_a_new_host_that_does_not_say_that_it_sends_its_events_is_used_after_a_second(
    layout: Layout,
) -> None:
    """
    Watching holds up nobody for long.
    """
    async with pooled(layout) as scene:
        await scene.pool.watch(on=True)
        starting = begin(scene.private())
        assert await still_waits(starting)

        advance(1.0)

        assert (await starting)[0].connected


@in_frozen_time
async def test_hosts_are_told_when_nobody_watches(layout: Layout) -> None:
    """
    The hosts are asked to stop, and a host that is started later is asked nothing.
    """
    async with pooled(layout) as scene:
        _, first = await scene.private()

        stopping = begin(scene.pool.watch(on=False))
        request, asked = await first.asked()
        first.answer(request)
        await stopping
        _, later = await scene.private()

        assert asked == Watch(on=False)
        assert await still_waits(begin(later.received()))


@in_frozen_time
async def test_a_host_that_dies_while_it_is_asked_for_events_is_passed_over(
    layout: Layout,
) -> None:
    """
    Watching begins although one of the hosts is lost.
    """
    async with pooled(layout) as scene:
        _, host = await scene.private()

        watching = begin(scene.pool.watch(on=True))
        await host.received()
        await host.die()

        await watching
        assert await scene.died.get() == "h1"
