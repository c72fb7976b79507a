"""The registry and its records, with hosts that are plain objects."""

from __future__ import annotations

from typing import cast

import pytest

from agent_pty.core.layout import Layout
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.errors import BadRequest, HostLost, HostUnresponsive, SessionExists, UnknownSession
from agent_pty.host.message import Describe
from agent_pty.ops.model import Described, Ending, HostReport, State
from support.fake_host import (
    NO_PROCESS,
    FakeLink,
    FakePool,
    advance,
    begin,
    in_frozen_time,
    make_described,
    make_spec,
    still_waits,
)

LAYOUT = Layout(home="/home/x", socket="/home/x/s.sock", log_dir="/home/x/runs")
MOVE_SECONDS = 5.0


def make_registry(*links: FakeLink) -> Registry:
    """Return a registry with these hosts."""
    return Registry(LAYOUT, cast("Pool", FakePool(*links)))


def add(registry: Registry, name: str, *, host: str | None = "h1") -> Record:
    """Add a session that its host reads."""
    record = Record(make_spec(name), pid=NO_PROCESS, birth=1.0)
    record.assign(host)
    record.settle()
    registry.add(record)
    return record


def names(registry: Registry) -> list[str]:
    """Return the names of all records in their order."""
    return [record.name for record in registry.records]


def reporting(link: FakeLink, *described: Described) -> FakeLink:
    """Have a host describe these sessions."""
    link.answers[Describe] = HostReport(pid=link.pid, sessions=list(described))
    return link


# -- names


def test_a_name_is_taken_while_its_session_starts() -> None:
    """
    A reserved name is refused to everybody else until it is given back.
    """
    registry = make_registry()
    assert registry.reserve("work") == "work"

    with pytest.raises(SessionExists, match="session work already exists"):
        registry.reserve("work")
    registry.unreserve("work")

    assert registry.reserve("work") == "work"


def test_a_name_is_taken_while_its_session_is_known() -> None:
    """
    The name of a session is refused, even after its program has exited.
    """
    registry = make_registry()
    add(registry, "work")
    registry.ended("i-work", Ending(code=0))

    with pytest.raises(SessionExists):
        registry.reserve("work")


def test_a_refused_name_is_still_taken() -> None:
    """
    A second caller who is refused does not give back the name of the first.
    """
    registry = make_registry()
    registry.reserve("work")

    for _ in range(2):
        with pytest.raises(SessionExists):
            registry.reserve("work")


def test_a_generated_name_is_free() -> None:
    """
    A generated name is neither that of a session nor one that is reserved.
    """
    registry = make_registry()
    add(registry, "s1")
    registry.reserve("s2")

    assert registry.reserve(None) == "s3"
    assert registry.reserve(None) == "s4"


@pytest.mark.parametrize("name", ["", "a/b", "..", "-a", "a" * 65, "ä"])
def test_a_bad_name_is_refused(name: str) -> None:
    """
    The registry reserves no name that is not valid, and finds none.
    """
    registry = make_registry()

    with pytest.raises(BadRequest, match="bad session name"):
        registry.reserve(name)
    with pytest.raises(BadRequest, match="bad session name"):
        registry.find(name)


def test_a_session_is_found_by_its_exact_name() -> None:
    """
    A part of the name, a longer name or other letter case finds nothing.
    """
    registry = make_registry()
    record = add(registry, "work")

    assert registry.find("work") is record
    for other in ("wor", "works", "Work"):
        with pytest.raises(UnknownSession, match=f"unknown session {other}"):
            registry.find(other)


def test_a_reserved_name_finds_no_session() -> None:
    """
    A session that is being started cannot be found yet.
    """
    registry = make_registry()
    registry.reserve("work")

    with pytest.raises(UnknownSession):
        registry.find("work")


def test_a_renamed_session_is_found_by_its_new_name_only() -> None:
    """
    Renaming keeps the session and its instance, and frees the old name.
    """
    registry = make_registry()
    record = add(registry, "old")

    registry.rename(record, "new")

    assert registry.find("new") is record
    assert (record.name, record.instance) == ("new", "i-old")
    assert names(registry) == ["new"]
    assert registry.reserve("old") == "old"


def test_removing_a_session_frees_its_name() -> None:
    """
    A removed session is not found, and its name can be used again.
    """
    registry = make_registry()
    record = add(registry, "work")

    registry.remove(record)

    assert registry.records == []
    assert registry.reserve("work") == "work"


def test_removing_an_old_session_spares_a_new_one_of_its_name() -> None:
    """
    A session that was removed already does not take away its successor.
    """
    registry = make_registry()
    old = add(registry, "work")
    registry.remove(old)
    new = add(registry, "work")

    registry.remove(old)

    assert registry.find("work") is new


# -- killed names


def test_a_killed_name_is_remembered() -> None:
    """
    The registry knows which names were killed, and which were never used.
    """
    registry = make_registry()

    registry.remember_killed("work")

    assert registry.was_killed("work")
    assert not registry.was_killed("other")


def test_a_new_session_is_not_taken_for_a_killed_one() -> None:
    """
    A new session of a killed name makes the registry forget the kill for good.
    """
    registry = make_registry()
    registry.remember_killed("work")

    record = add(registry, "work")
    assert not registry.was_killed("work")
    registry.remove(record)

    assert not registry.was_killed("work")


def test_a_renamed_session_is_not_taken_for_a_killed_one() -> None:
    """
    A session that takes a killed name by renaming is not reported as killed.
    """
    registry = make_registry()
    registry.remember_killed("new")

    registry.rename(add(registry, "old"), "new")

    assert not registry.was_killed("new")


def test_the_newest_thousand_killed_names_are_remembered() -> None:
    """
    The registry forgets the oldest killed names first.
    """
    registry = make_registry()

    for number in range(1001):
        registry.remember_killed(f"s{number}")

    assert not registry.was_killed("s0")
    assert registry.was_killed("s1")
    assert registry.was_killed("s1000")


# -- hosts of sessions


def test_the_load_of_a_host_is_the_number_of_its_sessions() -> None:
    """
    The registry counts the sessions of one host, and none that has no host.
    """
    registry = make_registry()
    for name, host in (("a", "h1"), ("b", "h1"), ("c", "h2"), ("d", None)):
        add(registry, name, host=host)

    assert [registry.load(host) for host in ("h1", "h2", "h3")] == [2, 1, 0]


@in_frozen_time
async def test_the_link_of_a_session_leads_to_its_host() -> None:
    """
    A settled session is answered at once with the link to its own host.
    """
    one, two = FakeLink("h1"), FakeLink("h2")
    registry = make_registry(one, two)
    record = add(registry, "work", host="h2")

    link = await registry.link(record)

    assert link is cast("object", two)


@in_frozen_time
async def test_a_request_waits_for_a_session_that_moves() -> None:
    """
    The caller gets the new host as soon as it reads the session.
    """
    new = FakeLink("h2")
    registry = make_registry(new)
    record = add(registry, "work", host="h1")
    record.orphan()

    asking = begin(registry.link(record))
    assert await still_waits(asking)
    advance(MOVE_SECONDS * 0.9)
    assert await still_waits(asking)
    record.assign("h2")
    record.settle()

    assert await asking is cast("object", new)


@in_frozen_time
async def test_a_request_does_not_wait_for_ever_for_a_session_that_moves() -> None:
    """
    After five seconds the caller gets an error that says to ask again.
    """
    registry = make_registry(FakeLink("h2"))
    record = add(registry, "work", host="h1")
    record.orphan()
    record.assign("h2")

    asking = begin(registry.link(record))
    assert await still_waits(asking)
    advance(MOVE_SECONDS)

    with pytest.raises(HostLost, match="session work has no host yet; ask again"):
        await asking


@in_frozen_time
async def test_a_lost_session_has_no_link() -> None:
    """
    The error names the session and the reason for its loss.
    """
    registry = make_registry(FakeLink("h1"))
    record = add(registry, "work")
    record.lose("5 hosts died", at="2026-01-01T00:00:00Z", curable=True)

    with pytest.raises(HostLost, match="session work is lost: 5 hosts died") as raised:
        await registry.link(record)

    assert raised.value.details == {"id": "work", "remedy": record.remedy}


@in_frozen_time
async def test_a_session_whose_host_is_gone_has_no_link() -> None:
    """
    The error says that the host was lost when no reason is known.
    """
    registry = make_registry()
    record = add(registry, "work", host="h1")

    with pytest.raises(HostLost, match="session work is lost: its host was lost"):
        await registry.link(record)


@in_frozen_time
async def test_who_waits_for_a_session_hears_of_its_loss() -> None:
    """
    A caller that waits for a moving session gets an error as soon as the session is lost.
    """
    registry = make_registry()
    record = add(registry, "work")
    record.orphan()

    asking = begin(registry.link(record))
    assert await still_waits(asking)
    record.lose("no host can take it", at="2026-01-01T00:00:00Z", curable=False)

    with pytest.raises(HostLost, match="no host can take it"):
        await asking


# -- list and info


@in_frozen_time
async def test_the_list_has_what_the_hosts_say_now() -> None:
    """
    Every host is asked, and the sessions are listed in the order of their names.
    """
    one = reporting(FakeLink("h1"), make_described(make_spec("b"), cursor=7, attached=2))
    two = reporting(FakeLink("h2"), make_described(make_spec("a", title="new"), quiet_ms=30))
    registry = make_registry(one, two)
    add(registry, "b", host="h1")
    add(registry, "a", host="h2")

    first, second = await registry.list()

    assert [first.id, second.id] == ["a", "b"]
    assert (first.title, first.quiet_ms) == ("new", 30)
    assert (second.cursor, second.attached) == (7, 2)


@in_frozen_time
async def test_the_list_does_not_wait_for_an_unresponsive_host() -> None:
    """
    The host is pinged and not asked, and its sessions are listed as last known.
    """
    silent = FakeLink("h1", responsive=False)
    silent.answers[Describe] = AssertionError("it was asked")
    registry = make_registry(silent)
    add(registry, "work").update(make_described(make_spec("work"), cursor=7))

    (listed,) = await registry.list()

    assert (listed.id, listed.cursor) == ("work", 7)
    assert listed.diagnosis == "host h1 does not answer"
    assert (silent.pings, silent.asked) == (1, [])


@in_frozen_time
async def test_a_host_that_fails_does_not_spoil_the_list() -> None:
    """
    The sessions of a host that fails while it is asked are listed as last known.
    """
    failing = FakeLink("h1")
    failing.answers[Describe] = HostUnresponsive("it does not answer")
    sound = reporting(FakeLink("h2"), make_described(make_spec("b"), cursor=9))
    registry = make_registry(failing, sound)
    add(registry, "a", host="h1").update(make_described(make_spec("a"), cursor=7))
    add(registry, "b", host="h2")

    listed = await registry.list()

    assert [(one.id, one.cursor) for one in listed] == [("a", 7), ("b", 9)]


@in_frozen_time
async def test_a_session_that_only_a_host_knows_is_not_listed() -> None:
    """
    The list has the sessions of the registry, whatever else a host describes.
    """
    registry = make_registry(reporting(FakeLink("h1"), make_described(make_spec("unknown"))))
    add(registry, "work")

    listed = await registry.list()

    assert [one.id for one in listed] == ["work"]


@in_frozen_time
async def test_an_exit_that_only_the_host_saw_is_noted() -> None:
    """
    The list notes an exit that no keeper reported, in the order of exits.
    """
    ended = make_described(make_spec("a"), state=State.EXITED, ending=Ending(code=4))
    registry = make_registry(reporting(FakeLink("h1"), ended))
    for name in ("a", "b"):
        add(registry, name)
    registry.ended("i-b", Ending(code=0))

    listed = await registry.list()

    assert (listed[0].state, listed[0].exit_code) == (State.EXITED, 4)
    assert names(registry) == ["b", "a"]


@in_frozen_time
async def test_an_exit_that_is_known_keeps_its_place() -> None:
    """
    A host that describes an exited session again does not change the order of exits.
    """
    ended = make_described(make_spec("a"), state=State.EXITED, ending=Ending(code=4))
    registry = make_registry(reporting(FakeLink("h1"), ended))
    for name in ("a", "b"):
        add(registry, name)
        registry.ended(f"i-{name}", Ending(code=0))

    await registry.list()

    assert names(registry) == ["a", "b"]


def test_info_has_what_the_registry_knows() -> None:
    """
    The metadata of a session name its host and hide the values of its environment.
    """
    registry = make_registry(FakeLink("h1", pid=42))
    spec = make_spec("work", argv=["bash", "-l"], env_names=["TOKEN"], rows=30)
    record = Record(spec, pid=7, birth=1.0)
    record.assign("h1")

    info = registry.info(record)

    assert (info.id, info.instance, info.rows) == ("work", "i-work", 30)
    assert (info.shell, info.argv) == ("bash", ["bash", "-l"])
    assert info.env == {"TOKEN": "[REDACTED]"}
    assert (info.pid, info.process_id, info.host, info.host_pid) == (7, 7, "h1", 42)
    assert info.log_path == "/home/x/runs/work.jsonl"
    assert (info.state, info.active, info.exit_code) == (State.RUNNING, True, None)
    assert (info.cursor, info.quiet_ms, info.attached) == (None, None, 0)
    assert info.diagnosis is None


def test_info_says_that_a_host_does_not_answer() -> None:
    """
    The diagnosis names an unresponsive host, and is the old one when the host answers again.
    """
    link = FakeLink("h1", responsive=False)
    registry = make_registry(link)
    record = add(registry, "work")
    record.recover("host h0 ended")

    silent = registry.info(record)
    link.responsive = True

    assert silent.diagnosis == "host h1 does not answer"
    assert registry.info(record).diagnosis == "host h0 ended"


def test_info_of_a_session_without_a_host() -> None:
    """
    A lost session has neither a host nor the pid of one, and says why.
    """
    registry = make_registry(FakeLink("h1"))
    record = add(registry, "work")

    record.lose("no host can take it", at="2026-01-01T00:00:00Z", curable=False)
    info = registry.info(record)

    assert (info.state, info.active) == (State.LOST, False)
    assert (info.host, info.host_pid) == (None, None)
    assert info.diagnosis == "no host can take it"


# -- exits


def test_exited_sessions_are_in_the_order_of_their_exits() -> None:
    """
    The order in which sessions were created does not matter once they have exited.
    """
    registry = make_registry()
    for name in ("a", "b", "c"):
        add(registry, name)

    registry.ended("i-b", Ending(code=0))
    registry.ended("i-a", Ending(signal=9))

    exited = [record.name for record in registry.records if record.state is State.EXITED]
    assert exited == ["b", "a"]
    assert registry.find("c").state is State.RUNNING
    info = registry.info(registry.find("a"))
    assert (info.exit_code, info.signal) == (None, 9)


def test_the_exit_of_an_unknown_program_is_ignored() -> None:
    """
    A report about a session that was forgotten changes nothing.
    """
    registry = make_registry()
    record = add(registry, "work")

    registry.ended("i-other", Ending(code=1))

    assert registry.records == [record]
    assert record.state is State.RUNNING


def test_an_exit_before_the_record_is_kept() -> None:
    """
    A program that ends while it is being started is reported to its creator, once.
    """
    registry = make_registry()
    registry.expect("i-work")

    registry.ended("i-work", Ending(code=3))

    assert registry.expected("i-work") == Ending(code=3)
    assert registry.records == []
    record = add(registry, "work")
    registry.ended("i-work", Ending(code=3))
    assert record.state is State.EXITED


def test_a_program_that_runs_has_no_early_exit() -> None:
    """
    The creator of a program that did not end meanwhile gets None.
    """
    registry = make_registry()
    registry.expect("i-work")
    registry.expect("i-other")
    registry.ended("i-other", Ending(code=3))

    assert registry.expected("i-work") is None
    assert registry.expected("i-other") == Ending(code=3)


# -- records


def test_a_record_begins_without_a_host() -> None:
    """
    A new record runs, has no host and is not settled.
    """
    record = Record(make_spec("work"), pid=7, birth=2.5)

    assert (record.state, record.host, record.diagnosis) == (State.RUNNING, None, None)
    assert (record.pid, record.birth) == (7, 2.5)
    assert not record.settled.is_set()


def test_an_orphan_waits_for_another_host() -> None:
    """
    A record whose host is gone has no host and is not settled until another host reads it.
    """
    record = add(make_registry(), "work")

    record.orphan()
    orphaned = (record.host, record.settled.is_set())
    record.assign("h2")
    assigned = (record.host, record.settled.is_set())
    record.settle()

    assert orphaned == (None, False)
    assert assigned == ("h2", False)
    assert record.settled.is_set()


def test_a_record_takes_over_what_its_host_says() -> None:
    """
    Name, pid, birth, state and ending are those that the host describes.
    """
    record = Record(make_spec("work"))
    spec = make_spec("renamed", instance="i-work")

    record.update(make_described(spec, pid=8, birth=3.0, state=State.EXITED, ending=Ending(code=2)))

    assert record.spec is spec
    assert (record.pid, record.birth) == (8, 3.0)
    info = record.info(LAYOUT, None)
    assert (info.state, info.exit_code) == (State.EXITED, 2)


def test_the_report_of_the_keeper_stands_against_an_older_one_of_the_host() -> None:
    """
    A host that describes a running program does not revive a record that has exited.
    """
    record = Record(make_spec("work"))
    record.exit(Ending(code=3))

    record.update(make_described(make_spec("work")))

    info = record.info(LAYOUT, None)
    assert (info.state, info.exit_code) == (State.EXITED, 3)


def test_a_host_without_a_diagnosis_leaves_the_old_one() -> None:
    """
    A diagnosis stays until the host has a newer one.
    """
    record = Record(make_spec("work"))
    record.recover("host h1 ended")

    record.update(make_described(make_spec("work")))
    kept = record.diagnosis
    record.update(make_described(make_spec("work"), diagnosis="the spool was cut"))

    assert kept == "host h1 ended"
    assert record.diagnosis == "the spool was cut"
