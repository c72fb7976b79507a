"""How sessions begin and end: keeper and hosts are fakes, a program that is killed is real."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec
import pytest

from agent_pty.client.shell import default_shell
from agent_pty.core.layout import Layout
from agent_pty.daemon.creation import Creator
from agent_pty.daemon.ending import Ender
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.tmux_panes import TmuxPanes
from agent_pty.errors import (
    BadRequest,
    Busy,
    HostLost,
    Internal,
    SessionExists,
    SpawnFailed,
    UnknownSession,
)
from agent_pty.host.message import AwaitOpened, CountMembers, Forget, Kill
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.message import Done, Hand, Release, Spawn, Spawned
from agent_pty.ops.model import Described, Ending, Killed, Process, Spec, State, Stopped, Wanted
from agent_pty.process import table
from support.fake_host import (
    NO_PROCESS,
    FakeLink,
    FakePast,
    FakePool,
    begin,
    in_frozen_time,
    make_described,
    make_spec,
    running_program,
    runs,
    signal_that_ended,
    temporary_layout,
)

KEPT = 25


class FakeKeeper:
    """Remembers what it was asked; *failures* by type of request are raised."""

    pid = None

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.failures: dict[type, Exception] = {}
        self.program = Spawned(pid=NO_PROCESS, birth=1.0)
        self.handed: dict[str, Spec] = {}
        self.while_handing: Callable[[str], None] = lambda _instance: None

    async def spawn(self, spawn: Spawn) -> Spawned:
        """Seem to start the program that the test names."""
        self._note(spawn)
        return self.program

    async def ask(self, request: Any) -> Done:
        """Do nothing."""
        self._note(request)
        if isinstance(request, Hand):
            self.handed[request.instance] = msgspec.convert(request.spec, Spec)
            self.while_handing(request.instance)
        return Done()

    def _note(self, request: Any) -> None:
        self.asked.append(request)
        if type(request) in self.failures:
            raise self.failures[type(request)]

    def opened(self, asked: AwaitOpened) -> Described:
        """Answer as the host that got the terminal."""
        spec = self.handed[asked.instance]
        return make_described(spec, pid=self.program.pid, birth=self.program.birth)

    def spawned(self) -> Spawn:
        """Return the one program that was asked for."""
        (found,) = [request for request in self.asked if isinstance(request, Spawn)]
        return found

    def released(self) -> list[str]:
        """Return the instances that were released."""
        return [request.instance for request in self.asked if isinstance(request, Release)]


class Scene:
    """The daemon's parts that begin and end sessions, on one shared host."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.keeper = FakeKeeper()
        self.host = FakeLink("h1")
        self.host.answers[AwaitOpened] = self.keeper.opened
        self.pool = FakePool(self.host)
        keeper, pool = cast("KeeperClient", self.keeper), cast("Pool", self.pool)
        self.registry = Registry(layout, pool)
        self.past = FakePast()
        panes = TmuxPanes(layout, keeper)
        self.ender = Ender(layout, keeper, pool, self.registry, self.past, panes=panes)
        self.creator = Creator(
            layout,
            keeper,
            pool,
            self.registry,
            self.ender,
            judge=lambda _wanted, _argv, _cwd: None,
            panes=panes,
        )

    def add(self, name: str, *, host: str | None = "h1", **changes: Any) -> Record:
        """Add a session that its host reads, with a file of its own."""
        spec = make_spec(name, **changes)
        record = Record(spec, pid=self.keeper.program.pid, birth=self.keeper.program.birth)
        record.assign(host)
        record.settle()
        self.registry.add(record)
        self.make_files(spec.instance)
        return record

    def add_exited(self, *names: str) -> None:
        """Add sessions that exit in this order."""
        for name in names:
            self.add(name)
            self.registry.ended(f"i-{name}", Ending(code=0))

    def make_files(self, instance: str) -> None:
        """Write what a host writes for a session."""
        os.mkdir(self.layout.session(instance))
        with open(self.layout.spec(instance), "wb"):
            pass

    def names(self) -> list[str]:
        """Return the names of all sessions in their order."""
        return [record.name for record in self.registry.records]

    def asked_of(self, kind: type, link: FakeLink | None = None) -> list[Any]:
        """Return what a host was asked of one kind."""
        return [asked for asked in (link or self.host).asked if type(asked) is kind]


@pytest.fixture
def scene() -> Iterator[Scene]:
    """A daemon without sessions."""
    with temporary_layout() as layout:
        yield Scene(layout)


@pytest.fixture
def program(scene: Scene) -> Iterator[subprocess.Popen[bytes]]:
    """A real program, which the keeper of the scene seems to have started."""
    with running_program() as found:
        entry = table.entry(found.pid)
        assert entry is not None
        scene.keeper.program = Spawned(pid=found.pid, birth=entry.birth)
        yield found


def wanted(**changes: Any) -> Wanted:
    """Return a wish for a session that runs `cat`."""
    return Wanted(**{"argv": ["/bin/cat"], "cwd": "/", "name": "work", **changes})


async def tasks_done() -> None:
    """Return when every other task has ended."""
    others = asyncio.all_tasks() - {cast("asyncio.Task[Any]", asyncio.current_task())}
    await asyncio.gather(*others)


# -- a session begins


@in_frozen_time
async def test_a_program_is_started_and_given_to_a_host(scene: Scene) -> None:
    """
    The keeper starts the program and hands its terminal over, and the host reads it.
    """
    info = await scene.creator.create(wanted(rows=30, cols=90, title="t"))

    record = scene.registry.find("work")
    spawn, hand = scene.keeper.asked
    assert (spawn.argv, spawn.cwd, spawn.rows, spawn.cols) == (["/bin/cat"], "/", 30, 90)
    assert hand == Hand(instance=record.instance, host="h1", spec=msgspec.to_builtins(record.spec))
    assert scene.host.asked == [AwaitOpened(instance=record.instance)]
    assert (info.id, info.host, info.title, info.state) == ("work", "h1", "t", State.RUNNING)
    assert (record.pid, record.birth) == (NO_PROCESS, 1.0)
    assert record.settled.is_set()


@in_frozen_time
async def test_a_program_knows_its_session(scene: Scene) -> None:
    """
    The environment has the caller's variables, the name of the session and its instance.
    """
    await scene.creator.create(wanted(env={"COLOR": "red"}))

    spawn = scene.keeper.spawned()
    assert spawn.env["COLOR"] == "red"
    assert spawn.env["AGENT_PTY_SESSION"] == "work"
    assert spawn.env["AGENT_PTY_INSTANCE"] == spawn.instance


@in_frozen_time
async def test_a_session_without_a_name_gets_one(scene: Scene) -> None:
    """
    Two sessions without a name get different names and different instances.
    """
    first = await scene.creator.create(wanted(name=None))
    second = await scene.creator.create(wanted(name=None))

    assert [first.id, second.id] == ["s1", "s2"]
    assert first.instance != second.instance


@in_frozen_time
async def test_a_session_without_a_program_gets_the_default_shell(scene: Scene) -> None:
    """
    An empty first word means the shell of this machine, and the other words stay.
    """
    info = await scene.creator.create(wanted(argv=["", "-l"], marks=False))

    assert info.argv == [default_shell(), "-l"]
    assert scene.keeper.spawned().argv == [default_shell(), "-l"]


@in_frozen_time
async def test_a_home_directory_is_written_out(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A leading tilde of the directory becomes the home of the daemon's user.
    """
    monkeypatch.setenv("HOME", "/home/x")

    info = await scene.creator.create(wanted(cwd="~/src"))

    assert scene.keeper.spawned().cwd == "/home/x/src"
    assert info.workspace == "/home/x/src"


@in_frozen_time
async def test_an_isolated_session_gets_a_host_of_its_own(scene: Scene) -> None:
    """
    The terminal goes to a private host, and the shared one is not asked.
    """
    info = await scene.creator.create(wanted(isolate=True))

    assert info.host == "alone"
    assert scene.host.asked == []


@in_frozen_time
async def test_bytes_that_are_not_utf8_reach_the_program_exactly(scene: Scene) -> None:
    """
    The keeper gets the caller's bytes, and the specification has text in their place.
    """
    word, cwd, value, variable = b"/bin/\xff", b"/tmp/\xfe", b"\x80=\xc3", b"V\xfd"
    argv = [os.fsdecode(word), os.fsdecode(value)]
    env = {os.fsdecode(variable): os.fsdecode(value)}

    info = await scene.creator.create(
        wanted(argv=argv, cwd=os.fsdecode(cwd), env=env, title=os.fsdecode(word))
    )

    spawn = scene.keeper.spawned()
    assert [os.fsencode(each) for each in spawn.argv] == [word, value]
    assert os.fsencode(spawn.cwd) == cwd
    assert {os.fsencode(k): os.fsencode(v) for k, v in spawn.env.items()}[variable] == value
    spec = scene.registry.find("work").spec
    assert spec.argv == ["/bin/\ufffd", "\ufffd=\ufffd"]
    assert (spec.workspace, spec.title) == ("/tmp/\ufffd", "/bin/\ufffd")
    assert spec.env_names == ["V\ufffd"]
    assert msgspec.json.decode(msgspec.json.encode(info))["workspace"] == "/tmp/\ufffd"


@in_frozen_time
async def test_text_is_remembered_as_it_is(scene: Scene) -> None:
    """
    Letters of any language stay the same in the specification.
    """
    info = await scene.creator.create(wanted(cwd="/tmp/Grüße", title="日本"))

    assert (info.workspace, info.title) == ("/tmp/Grüße", "日本")


@in_frozen_time
async def test_the_values_of_the_environment_are_not_remembered(scene: Scene) -> None:
    """
    The specification has the names of the variables, and no value of them.
    """
    await scene.creator.create(wanted(env={"TOKEN": "secret-42", "A": "1"}))

    spec = scene.registry.find("work").spec
    assert spec.env_names == ["A", "TOKEN"]
    assert b"secret-42" not in msgspec.json.encode(spec)


@in_frozen_time
async def test_an_exit_before_the_session_is_recorded_is_reported(scene: Scene) -> None:
    """
    A program that ends while its host opens the terminal is answered as an exited session.
    """
    ending = Ending(code=3)
    scene.keeper.while_handing = lambda instance: scene.registry.ended(instance, ending)

    info = await scene.creator.create(wanted())

    assert (info.state, info.exit_code) == (State.EXITED, 3)
    assert not scene.registry._unborn


@in_frozen_time
async def test_an_exit_before_the_session_is_recorded_counts(scene: Scene) -> None:
    """
    Sessions that end while they begin are forgotten as all others are, the oldest first.
    """
    scene.host.answers[CountMembers] = 0
    scene.keeper.while_handing = lambda instance: scene.registry.ended(instance, Ending())

    for number in range(KEPT + 1):
        await scene.creator.create(wanted(name=f"s{number}"))
    await tasks_done()

    assert scene.names() == [f"s{number}" for number in range(1, KEPT + 1)]


@in_frozen_time
async def test_a_name_is_taken_while_its_program_starts(scene: Scene) -> None:
    """
    A second session of the same name is refused before anything is started for it.
    """
    opened: asyncio.Future[Described] = asyncio.get_running_loop().create_future()
    scene.host.answers[AwaitOpened] = opened
    first = begin(scene.creator.create(wanted()))
    await asyncio.wait([first], timeout=0)

    with pytest.raises(SessionExists):
        await scene.creator.create(wanted())
    opened.set_result(make_described(scene.keeper.handed.popitem()[1]))

    assert (await first).id == "work"
    assert scene.keeper.spawned()


# -- a step fails


def nothing_is_left(scene: Scene) -> bool:
    """Whether the name is free and no program is expected any more."""
    scene.registry.unreserve(scene.registry.reserve("work"))
    return scene.registry.records == [] and not scene.registry._unborn


@in_frozen_time
async def test_a_relative_directory_is_refused(scene: Scene) -> None:
    """
    The caller gets an error that names the field, and nothing is started.
    """
    with pytest.raises(BadRequest, match="repo 'src' is not an absolute path") as raised:
        await scene.creator.create(wanted(cwd="src", isolate=True))

    assert raised.value.details == {"field": "repo"}
    assert scene.keeper.asked == []
    assert scene.pool.links == [scene.host]
    assert nothing_is_left(scene)


@pytest.mark.parametrize("error", [SpawnFailed("no such program"), Busy("no more ptys")])
@in_frozen_time
async def test_a_program_that_cannot_be_started_leaves_nothing(
    scene: Scene, error: Exception
) -> None:
    """
    The caller gets the keeper's error, the name is free and the host is dismissed.
    """
    scene.keeper.failures[Spawn] = error

    with pytest.raises(type(error)):
        await scene.creator.create(wanted(isolate=True))

    assert scene.pool.dismissed == ["alone"]
    assert nothing_is_left(scene)


@in_frozen_time
async def test_no_host_means_no_program(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The keeper starts no program when no host can be had, and the name is free.
    """

    async def refuse() -> FakeLink:
        raise HostLost("no host")

    monkeypatch.setattr(scene.pool, "private", refuse)

    with pytest.raises(HostLost):
        await scene.creator.create(wanted(isolate=True))

    assert scene.keeper.asked == []
    assert nothing_is_left(scene)


UNOPENED: dict[str, tuple[type, Exception]] = {
    "the keeper cannot hand it over": (Hand, KeeperError({"reason": "unknown session"})),
    "the keeper is lost": (Hand, Busy("the keeper was lost")),
    "the host cannot open it": (AwaitOpened, Internal("no memory")),
    "the host is lost": (AwaitOpened, HostLost("it died")),
}


@pytest.mark.parametrize("step", UNOPENED)
@in_frozen_time
async def test_a_terminal_that_no_host_reads_leaves_nothing(
    scene: Scene, program: subprocess.Popen[bytes], step: str
) -> None:
    """
    The program is ended, host and keeper free the session, and the name is free.
    """
    request, error = UNOPENED[step]
    answers = scene.keeper.failures if request is Hand else scene.host.answers
    answers[request] = error

    with pytest.raises(type(error)):
        await scene.creator.create(wanted(isolate=True))

    instance = scene.keeper.spawned().instance
    assert signal_that_ended(program) > 0
    alone = scene.pool.links[-1]
    assert scene.asked_of(Forget, alone) == [Forget(instance=instance)]
    assert scene.keeper.released() == [instance]
    assert scene.pool.dismissed == ["alone"]
    assert nothing_is_left(scene)


@in_frozen_time
async def test_a_failing_host_and_keeper_do_not_prevent_the_cleanup(
    scene: Scene, program: subprocess.Popen[bytes]
) -> None:
    """
    The program is ended and the files are removed although host and keeper fail.
    """
    scene.host.answers[AwaitOpened] = HostLost("it died")
    scene.host.answers[Forget] = HostLost("it died")
    scene.keeper.failures[Release] = Busy("the keeper was lost")
    scene.keeper.while_handing = scene.make_files

    with pytest.raises(HostLost):
        await scene.creator.create(wanted())

    assert signal_that_ended(program) > 0
    assert scene.keeper.released() == [scene.keeper.spawned().instance]
    assert os.listdir(scene.layout.sessions) == []
    assert nothing_is_left(scene)


@in_frozen_time
async def test_a_session_is_handed_to_another_host(scene: Scene) -> None:
    """
    A session that has lost its host is settled when another host reads it.
    """
    record = scene.add("work", host=None)
    record.orphan()
    other = FakeLink("h2")
    other.answers[AwaitOpened] = scene.keeper.opened

    await scene.creator.hand(record, cast("HostLink", other))

    (hand,) = scene.keeper.asked
    assert (hand.instance, hand.host) == ("i-work", "h2")
    assert other.asked == [AwaitOpened(instance="i-work")]
    assert record.host == "h2"
    assert record.settled.is_set()


@in_frozen_time
async def test_a_session_that_a_host_cannot_open_is_not_settled(scene: Scene) -> None:
    """
    The record has the host that was tried, so that the death of that host finds it.
    """
    record = scene.add("work", host=None)
    record.orphan()
    scene.host.answers[AwaitOpened] = HostLost("it died")

    with pytest.raises(HostLost):
        await scene.creator.hand(record, cast("HostLink", scene.host))

    assert record.host == "h1"
    assert not record.settled.is_set()


# -- a session is killed


def ended_process(pid: int) -> Killed:
    """Return what a host answers that has ended one process."""
    process = Process(pid=pid, ppid=1, stat="S", command="cat")
    return Killed(ended=[process], survivors=[], exit_code=None, signal=9)


@in_frozen_time
async def test_kill_answers_what_the_host_says_and_frees_everything(scene: Scene) -> None:
    """
    The host ends the tree, and then host, keeper, disk and registry forget the session.
    """
    scene.add("work")
    scene.host.answers[Kill] = ended_process(7)

    killed = await scene.ender.kill("work")

    assert killed == ended_process(7)
    assert scene.host.asked == [Kill(instance="i-work"), Forget(instance="i-work")]
    assert scene.keeper.released() == ["i-work"]
    assert os.listdir(scene.layout.sessions) == []
    assert scene.registry.records == []


@in_frozen_time
async def test_a_second_kill_is_no_error(scene: Scene) -> None:
    """
    The second answer says that the session was killed already, and nothing is asked.
    """
    scene.add("work")
    scene.host.answers[Kill] = ended_process(7)
    await scene.ender.kill("work")
    asked = list(scene.host.asked)

    again = await scene.ender.kill("work")

    assert again.already
    assert again.ended == []
    assert scene.host.asked == asked


@in_frozen_time
async def test_a_session_that_never_was_cannot_be_killed(scene: Scene) -> None:
    """
    The caller gets an error that names the session.
    """
    with pytest.raises(UnknownSession, match="unknown session work"):
        await scene.ender.kill("work")


@pytest.mark.parametrize("why", ["no host", "host lost", "session unknown"])
@in_frozen_time
async def test_a_session_without_a_host_is_killed(
    scene: Scene, program: subprocess.Popen[bytes], why: str
) -> None:
    """
    The daemon ends the tree itself when the host cannot, and the exit code is unknown.
    """
    record = scene.add("work")
    scene.host.answers[Kill] = UnknownSession("work") if "unknown" in why else HostLost("it died")
    if why == "no host":
        record.lose("5 hosts died", at="2026-01-01T00:00:00Z", curable=True)

    killed = await scene.ender.kill("work")

    assert [process.pid for process in killed.ended] == [program.pid]
    assert (killed.survivors, killed.exit_code, killed.signal) == ([], None, None)
    assert signal_that_ended(program) > 0
    assert scene.keeper.released() == ["i-work"]
    assert scene.registry.was_killed("work")


@in_frozen_time
async def test_a_kill_that_fails_forgets_nothing(scene: Scene) -> None:
    """
    The session stays when its host answers with another error.
    """
    record = scene.add("work")
    scene.host.answers[Kill] = Internal("a mistake")

    with pytest.raises(Internal):
        await scene.ender.kill("work")

    assert scene.registry.find("work") is record
    assert scene.keeper.released() == []


@in_frozen_time
async def test_all_trees_are_ended_without_a_host(
    scene: Scene, program: subprocess.Popen[bytes]
) -> None:
    """
    Every program of the registry is ended, and nobody survives.
    """
    scene.add("work")
    scene.keeper.program = Spawned(pid=NO_PROCESS, birth=1.0)
    scene.add("gone")

    left = await scene.ender.end_everything()

    assert left == Stopped()
    assert signal_that_ended(program) > 0
    assert scene.host.asked == []


@in_frozen_time
async def test_a_program_that_was_never_recorded_is_discarded(
    scene: Scene, program: subprocess.Popen[bytes]
) -> None:
    """
    The program is ended, and the keeper closes its terminal.
    """
    started = scene.keeper.program

    await scene.ender.discard("i-x", pid=started.pid, birth=started.birth)

    assert signal_that_ended(program) > 0
    assert scene.keeper.released() == ["i-x"]


@in_frozen_time
async def test_a_later_program_with_the_same_pid_is_spared(
    scene: Scene, program: subprocess.Popen[bytes]
) -> None:
    """
    A process that was born at another time than the session's program is not ended.
    """
    started = scene.keeper.program
    assert started.birth is not None

    await scene.ender.discard("i-x", pid=started.pid, birth=started.birth - 1)

    assert runs(program)


# -- a session is forgotten


@in_frozen_time
async def test_a_host_that_does_not_answer_is_not_asked_to_forget(scene: Scene) -> None:
    """
    The keeper and the disk free the session without the unresponsive host.
    """
    record = scene.add("work")
    scene.host.responsive = False

    await scene.ender.forget(record)

    assert scene.host.asked == []
    assert scene.keeper.released() == ["i-work"]
    assert os.listdir(scene.layout.sessions) == []
    assert scene.registry.records == []


@in_frozen_time
async def test_a_host_that_fails_does_not_prevent_forgetting(scene: Scene) -> None:
    """
    The session is freed although its host is lost meanwhile.
    """
    record = scene.add("work")
    scene.host.answers[Forget] = HostLost("it died")

    await scene.ender.forget(record)

    assert scene.keeper.released() == ["i-work"]
    assert scene.registry.records == []


@pytest.mark.parametrize("alone", [True, False])
@in_frozen_time
async def test_a_host_is_dismissed_after_its_last_session(scene: Scene, *, alone: bool) -> None:
    """
    The pool, which knows whether the host is shared, hears of it when no session is left there.
    """
    record = scene.add("work")
    if not alone:
        scene.add("other")

    await scene.ender.forget(record)

    assert scene.pool.dismissed == (["h1"] if alone else [])


def names(first: int, end: int) -> list[str]:
    """Return the names of sessions in the order of their exits."""
    return [f"s{number}" for number in range(first, end)]


@in_frozen_time
async def test_the_newest_25_exited_sessions_are_kept(scene: Scene) -> None:
    """
    The sessions that exited first are forgotten everywhere, and those that run are not counted.
    """
    scene.host.answers[CountMembers] = 0
    scene.add("runs")
    scene.add_exited(*names(0, KEPT + 2))

    scene.ender.forget_oldest()
    await tasks_done()

    assert scene.names() == ["runs", *names(2, KEPT + 2)]
    assert scene.keeper.released() == ["i-s0", "i-s1"]
    assert scene.asked_of(CountMembers) == [
        CountMembers(instance="i-s0"),
        CountMembers(instance="i-s1"),
    ]


@in_frozen_time
async def test_25_exited_sessions_are_not_too_many(scene: Scene) -> None:
    """
    No host is asked as long as no session has to go.
    """
    scene.add_exited(*names(0, KEPT))

    scene.ender.forget_oldest()
    await tasks_done()

    assert scene.names() == names(0, KEPT)
    assert scene.host.asked == []


@in_frozen_time
async def test_a_session_whose_members_live_is_never_forgotten(scene: Scene) -> None:
    """
    A session with a process in the background stays, and goes when that process has ended.
    """
    living = {"i-s0": 1}
    scene.host.answers[CountMembers] = lambda asked: living.get(asked.instance, 0)
    scene.add_exited(*names(0, KEPT + 2))

    scene.ender.forget_oldest()
    await tasks_done()
    kept = scene.names()
    scene.add_exited("last")
    living.clear()
    scene.ender.forget_oldest()
    await tasks_done()

    assert kept == ["s0", *names(2, KEPT + 2)]
    assert "s0" not in scene.names()
    assert len(scene.names()) == KEPT


@in_frozen_time
async def test_a_session_whose_members_cannot_be_counted_stays(scene: Scene) -> None:
    """
    A host that does not answer keeps its exited session from being forgotten.
    """
    scene.host.answers[CountMembers] = HostLost("it died")
    scene.add_exited(*names(0, KEPT + 1))

    scene.ender.forget_oldest()
    await tasks_done()

    assert scene.names() == names(0, KEPT + 1)
    assert scene.keeper.released() == []


@in_frozen_time
async def test_the_members_of_a_session_are_counted_once_at_a_time(scene: Scene) -> None:
    """
    A session whose members are being counted is not asked about again.
    """
    counted: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    scene.host.answers[CountMembers] = counted
    scene.add_exited(*names(0, KEPT + 1))

    scene.ender.forget_oldest()
    scene.ender.forget_oldest()
    counted.set_result(0)
    await tasks_done()

    assert scene.asked_of(CountMembers) == [CountMembers(instance="i-s0")]
    assert scene.names() == names(1, KEPT + 1)
    assert not scene.ender._evictions


@in_frozen_time
async def test_nothing_is_forgotten_while_the_daemon_stops(scene: Scene) -> None:
    """
    Exited sessions stay when the pool has been retired.
    """
    scene.add_exited(*names(0, KEPT + 1))
    scene.pool.retired = True

    scene.ender.forget_oldest()
    await tasks_done()

    assert scene.names() == names(0, KEPT + 1)
    assert scene.host.asked == []
