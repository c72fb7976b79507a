"""What happens to sessions whose host died: keeper and hosts are fakes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import msgspec
import pytest

from agent_pty import build
from agent_pty.core.layout import Layout
from agent_pty.daemon.creation import Creator
from agent_pty.daemon.ending import Ender
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.recovery import Recovery
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.tmux_panes import TmuxPanes
from agent_pty.errors import Busy, HostLost
from agent_pty.host.message import AwaitOpened, Describe
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.message import Done, Hand, Holdings
from agent_pty.ops.model import Described, HostReport, Spec, State
from support.fake_host import (
    NO_PROCESS,
    FakeLink,
    FakePast,
    advance,
    begin,
    in_frozen_time,
    make_described,
    make_spec,
    still_waits,
    temporary_layout,
)


class Keeper:
    """Hands terminals over and holds nothing itself."""

    pid = None
    build = build.digest()

    def __init__(self) -> None:
        self.handed: dict[str, Spec] = {}
        self.hosts: dict[str, int] = {}
        self.failures: list[Exception] = []

    async def connect(self) -> Holdings:
        """Say which hosts there are."""
        return Holdings(pid=NO_PROCESS, hosts=self.hosts)

    async def ask(self, request: Any) -> Done:
        """Remember which session was handed over last."""
        if isinstance(request, Hand) and self.failures:
            raise self.failures.pop(0)
        if isinstance(request, Hand):
            self.handed[request.instance] = msgspec.convert(request.spec, Spec)
        return Done()

    def opened(self, asked: AwaitOpened) -> Described:
        """Answer as the host that got the terminal."""
        return make_described(self.handed[asked.instance])


class Link(FakeLink):
    """A host that can introduce itself."""

    build: str | None = None

    def introduce(self, report: HostReport) -> None:
        """Note which build it runs."""
        self.build = report.build


class Hosts:
    """A pool whose hosts have numbers; *failure* is raised instead of starting one."""

    def __init__(self, keeper: Keeper) -> None:
        self.links: list[Link] = []
        self.private_names: set[str] = set()
        self.failure: Exception | None = None
        self.on_death: Callable[[str], Awaitable[None]] | None = None
        self._keeper = keeper
        self.start("h1")

    def start(self, name: str) -> Link:
        """Add a host."""
        link = Link(name)
        link.answers[AwaitOpened] = self._keeper.opened
        self.links.append(link)
        return link

    def reserve(self, name: str) -> None:
        """Every number is given once anyway."""

    async def find(self, name: str, _pid: int | None) -> Link | None:
        """Return a host that an earlier daemon left."""
        return self.get(name)

    async def replace(self, link: Link) -> None:
        """End a host; its sessions move."""
        assert self.on_death is not None
        await self.on_death(link.name)

    def get(self, name: str | None) -> Link | None:
        """Return the host of this name, None if it is gone."""
        return next((link for link in self.links if link.name == name), None)

    async def dismiss(self, _name: str) -> None:
        """Every host stays."""

    async def choose(self, _load: Any) -> Link:
        """Return a host that is shared."""
        return self._next()

    async def private(self) -> Link:
        """Return a host that nobody else uses."""
        link = self._next()
        self.private_names.add(link.name)
        return link

    def _next(self) -> Link:
        if self.failure is not None:
            raise self.failure
        return self.start(f"h{len(self.links) + 1}")


class Scene:
    """Sessions on the host h1, and what recovers them."""

    def __init__(self, layout: Layout, *names: str) -> None:
        self.keeper = Keeper()
        self.hosts = Hosts(self.keeper)
        keeper, pool = cast("KeeperClient", self.keeper), cast("Pool", self.hosts)
        self.registry = Registry(layout, pool)
        panes = TmuxPanes(layout, keeper)
        ender = Ender(layout, keeper, pool, self.registry, FakePast(), panes=panes)
        self.recovery = Recovery(
            layout=layout,
            keeper=keeper,
            pool=pool,
            registry=self.registry,
            creator=Creator(
                layout,
                keeper,
                pool,
                self.registry,
                ender,
                judge=lambda _wanted, _argv, _cwd: None,
                panes=panes,
            ),
            ender=ender,
            panes=panes,
        )
        self.hosts.on_death = self.recovery.host_died
        for name in names:
            record = Record(make_spec(name), pid=NO_PROCESS, birth=1.0)
            record.assign("h1")
            record.settle()
            self.registry.add(record)

    async def kill_host_of(self, name: str) -> None:
        """Let the host of a session die, and pass the pause before its sessions move."""
        dying = begin(self.recovery.host_died(str(self.registry.find(name).host)))
        while await still_waits(dying):
            advance(1.0)
        await dying

    def states(self) -> dict[str, State]:
        """Return the state of every session."""
        return {record.name: record.state for record in self.registry.records}

    def mates(self, name: str) -> list[str]:
        """Return the sessions that share a host with this one."""
        host = self.registry.find(name).host
        return [one.name for one in self.registry.records if one.host == host and one.name != name]


@pytest.fixture
def layout() -> Iterator[Layout]:
    """A home of its own."""
    with temporary_layout() as found:
        yield found


@in_frozen_time
async def test_trial_10_the_neighbours_of_a_session_that_kills_hosts_live_on(
    layout: Layout,
) -> None:
    """
    After the second death each session has its own host; after the fifth only one is lost.
    """
    scene = Scene(layout, "guilty", "one", "two")

    await scene.kill_host_of("guilty")
    assert scene.mates("guilty") == ["one", "two"]
    await scene.kill_host_of("guilty")
    assert [scene.mates(name) for name in ("guilty", "one", "two")] == [[], [], []]
    for _ in range(3):
        await scene.kill_host_of("guilty")

    expected = {"guilty": State.LOST, "one": State.RUNNING, "two": State.RUNNING}
    assert scene.states() == expected
    assert {str(scene.registry.find(name).host) for name in ("one", "two")} <= (
        scene.hosts.private_names
    )


@in_frozen_time
async def test_trial_10_the_error_of_a_lost_session_says_what_cures_it(layout: Layout) -> None:
    """
    Its message and its details name the commands that help, by the session's present name.
    """
    scene = Scene(layout, "guilty")
    for _ in range(5):
        await scene.kill_host_of("guilty")
    record = scene.registry.find("guilty")
    scene.registry.rename(record, "renamed")

    with pytest.raises(HostLost, match="5 hosts died within 60 s") as raised:
        await scene.registry.link(record)

    remedy = "`agent-pty restart --keep` tries again, `agent-pty kill renamed` ends it"
    assert str(raised.value).endswith(remedy)
    assert raised.value.details["remedy"] == remedy


@in_frozen_time
async def test_trial_10_sessions_wait_for_a_host_that_can_be_started(layout: Layout) -> None:
    """
    A host that cannot be started now is tried again, and no session is lost by that.
    """
    scene = Scene(layout, "one", "two")
    scene.hosts.failure = Busy("no more processes")

    dying = begin(scene.recovery.host_died("h1"))
    assert await still_waits(dying)
    scene.hosts.failure = None
    advance(0.1)
    await dying

    assert set(scene.states().values()) == {State.RUNNING}


@in_frozen_time
async def test_trial_10_without_any_host_sessions_are_lost_with_the_reason(layout: Layout) -> None:
    """
    After five attempts each session is given up, and its diagnosis has the error.
    """
    scene = Scene(layout, "one", "two")
    scene.hosts.failure = Busy("no more processes")

    await scene.kill_host_of("one")

    assert set(scene.states().values()) == {State.LOST}
    assert "no more processes" in str(scene.registry.find("two").diagnosis)


NOT_HELD = KeeperError({"stage": "hand", "reason": "this keeper does not hold the terminal"})


@in_frozen_time
async def test_trial_14_a_session_that_the_keeper_does_not_hold_is_lost_for_good(
    layout: Layout,
) -> None:
    """
    The reason names host and keeper, the remedy does not promise another attempt.
    """
    scene = Scene(layout, "work")
    scene.keeper.failures = [NOT_HELD]

    await scene.kill_host_of("work")

    record = scene.registry.find("work")
    assert record.state is State.LOST
    assert record.diagnosis == (
        "host h1 ended (how is not known), and with it the keeper, which held the terminal"
    )
    assert record.remedy == "`agent-pty kill work` ends what is left of it and frees its name"
    assert str(scene.registry.info(record).lost_at).endswith("Z")


@in_frozen_time
async def test_trial_14_a_keeper_that_dies_while_a_session_moves_is_asked_again(
    layout: Layout,
) -> None:
    """
    The next keeper says whether it has the terminal.
    """
    scene = Scene(layout, "one", "two")
    scene.keeper.failures = [Busy("the keeper was lost during the request; ask again"), NOT_HELD]

    await scene.kill_host_of("one")

    assert sorted(scene.states().values()) == [State.LOST, State.RUNNING]


@in_frozen_time
async def test_a_replaced_host_counts_as_no_death(layout: Layout) -> None:
    """
    The sessions of a host of another build move together, and so they do at the next death.
    """
    scene = Scene(layout)
    scene.keeper.hosts["h1"] = NO_PROCESS
    sessions = [make_described(make_spec(name)) for name in ("one", "two")]
    scene.hosts.links[0].answers[Describe] = HostReport(
        pid=NO_PROCESS, build="old", sessions=sessions
    )

    await scene.recovery.find_all({})
    assert scene.registry.find("one").host == "h2"
    await scene.kill_host_of("one")

    assert scene.mates("one") == ["two"]
