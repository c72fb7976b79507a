"""`sessions.json`: written a moment after a change; past sessions stay in it until `gc`."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from agent_pty.core.evidence.event import Exec, Exited, Rename
from agent_pty.core.layout import Layout
from agent_pty.daemon.index import Index
from agent_pty.daemon.record import Record
from agent_pty.errors import BadRequest
from agent_pty.ops.model import Exported, PastSession, SessionInfo, State
from agent_pty.ops.op import LARGEST_PAGE
from agent_pty.store.journal import Journal
from support.fake_host import (
    advance,
    begin,
    in_frozen_time,
    make_spec,
    still_waits,
    temporary_layout,
)

A_MOMENT = 2.0
MANY = 2000


@pytest.fixture
def layout() -> Iterator[Layout]:
    """A home with an empty log directory."""
    with temporary_layout() as found:
        Path(found.log_dir).mkdir()
        yield found


async def later(index: Index) -> None:
    """Let a moment pass, and let the index write if it is due."""
    advance(A_MOMENT)
    waiting = begin(asyncio.Event().wait())
    await still_waits(waiting)
    waiting.cancel()
    while index._writing is not None:
        await asyncio.wait([index._writing])


def sessions(layout: Layout, *names: str, **changes: Any) -> list[SessionInfo]:
    """Return what is known of some sessions."""
    specs = (make_spec(name, instance=f"i-{name}", **changes) for name in names)
    return [Record(spec).info(layout, None) for spec in specs]


def ended(layout: Layout, name: str, instance: str, **changes: Any) -> SessionInfo:
    """Return what is known of a session that has exited."""
    (info,) = sessions(layout, name)
    facts = {"instance": instance, "state": State.EXITED, "exit_code": 0, **changes}
    return msgspec.structs.replace(info, **facts)


def write_journal(layout: Layout, name: str, instance: str, *, code: int | None = 0) -> None:
    """Write the journal of a session as its host does it; without a code it has not ended."""
    journal = Journal(layout.log_dir, name=name, instance=instance)
    journal.append(Exec(argv=["cat"], cwd="/tmp"))
    if code is not None:
        journal.append(Exited(exit_code=code, signal=None))
    journal.close()


def written(layout: Layout) -> list[dict[str, Any]]:
    """Return what the file has."""
    found: list[dict[str, Any]] = json.loads(Path(layout.session_index).read_text())
    return found


def is_written(layout: Layout) -> bool:
    """Whether there is an index."""
    return Path(layout.session_index).exists()


@contextlib.contextmanager
def an_obstacle(path: str) -> Iterator[None]:
    """Make it impossible for a while to write a file."""
    Path(path).mkdir()
    yield
    Path(path).rmdir()


def listed(layout: Layout) -> list[str]:
    """Return the names in the file."""
    return [one["id"] for one in written(layout)]


# -- when it is written


@in_frozen_time
async def test_many_changes_cost_one_write(layout: Layout) -> None:
    """
    The last of them is written, a moment later.
    """
    index = Index(layout)

    index.save(lambda: sessions(layout, "a"))
    index.save(lambda: sessions(layout, "b", "a"))
    before = is_written(layout)
    await later(index)

    assert not before
    assert listed(layout) == ["a", "b"]


@in_frozen_time
async def test_trial_03_what_could_not_be_written_is_written_later(layout: Layout) -> None:
    """
    An index that could not be written is true again without another change.
    """
    index = Index(layout)
    with an_obstacle(f"{layout.session_index}.new"):
        index.save(lambda: sessions(layout, "a"))
        for _ in range(3):
            await later(index)
    before = is_written(layout)
    await later(index)

    assert not before
    assert listed(layout) == ["a"]


def test_trial_03_the_log_says_once_that_it_cannot_be_written(
    layout: Layout, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    A disk that stays full does not fill the log.
    """

    @in_frozen_time
    async def story() -> None:
        index = Index(layout)
        index.save(lambda: sessions(layout, "a"))
        for _ in range(3):
            await later(index)

    with an_obstacle(f"{layout.session_index}.new"):
        story()

    assert capfd.readouterr().err.count(f"cannot write {layout.session_index}") == 1


@in_frozen_time
async def test_a_long_write_leaves_time_for_everything_else(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    After a write that took five seconds, the next one comes when that was 5 % of the time.
    """
    index = Index(layout)
    times = iter([0.0, 5.0, 5.0, 5.0])
    clock = SimpleNamespace(monotonic=lambda: next(times))
    monkeypatch.setattr("agent_pty.daemon.index.time", clock)
    index.save(lambda: sessions(layout, "a"))
    await later(index)

    index.save(lambda: sessions(layout, "b"))
    await later(index)
    soon = listed(layout)
    advance(100.0 - A_MOMENT)
    await later(index)

    assert soon == ["a"]
    assert listed(layout) == ["b"]


def test_flush_writes_at_once(layout: Layout) -> None:
    """
    A daemon that ends does not wait for the moment.
    """

    async def story() -> None:
        index = Index(layout)
        index.save(lambda: sessions(layout, "a"))
        await index.flush()

    asyncio.run(story())

    assert listed(layout) == ["a"]


# -- past sessions


def test_a_session_that_ended_stays_in_the_index(layout: Layout) -> None:
    """
    What was last known of it, `active: false`, no host, and its journal where it is now.
    """
    write_journal(layout, "work", "one")
    write_journal(layout, "work", "two")

    async def story() -> None:
        index = Index(layout)
        index.retire(ended(layout, "work", "one", exit_code=3, host="h1", host_pid=7, attached=1))
        index.save(lambda: [ended(layout, "work", "two", state=State.RUNNING, active=True)])
        await index.flush()

    asyncio.run(story())
    old, new = written(layout)

    assert (old["instance"], old["active"], old["exit_code"]) == ("one", False, 3)
    assert (old["host"], old["host_pid"], old["attached"]) == (None, None, 0)
    assert old["log_path"] == f"{layout.log_dir}/work.one.jsonl"
    assert (new["instance"], new["active"]) == ("two", True)
    assert Path(old["log_path"]).exists()


def test_a_session_that_is_found_again_is_listed_once(layout: Layout) -> None:
    """
    A daemon that died while it forgot a session may leave it in both; what lives counts.
    """
    write_journal(layout, "work", "one", code=None)

    async def story() -> list[str]:
        index = Index(layout)
        index.retire(ended(layout, "work", "one"))
        living = [ended(layout, "work", "one", state=State.RUNNING, active=True)]
        index.save(lambda: living)
        await index.flush()
        return [one.instance for one in await index.past(living)]

    past = asyncio.run(story())

    assert past == []
    assert [one["active"] for one in written(layout)] == [True]


def test_the_next_daemon_knows_them(layout: Layout) -> None:
    """
    Past sessions are read again, with the export that was noted, until they are removed.
    """
    write_journal(layout, "a", "one")
    write_journal(layout, "b", "two")

    async def first() -> None:
        index = Index(layout)
        index.retire(ended(layout, "a", "one"))
        index.retire(ended(layout, "b", "two"))
        (one, _) = await index.past([])
        index.note_export(one, Exported(to="/copy", at="now", head="h"))

    async def second() -> list[tuple[str, Exported | None]]:
        index = Index(layout)
        index.forget("two")
        return [(one.instance, one.exported) for one in await index.past([])]

    asyncio.run(first())

    assert asyncio.run(second()) == [("one", Exported(to="/copy", at="now", head="h"))]


def test_what_cannot_be_noted_is_noted_when_there_is_room(layout: Layout) -> None:
    """
    A full disk does not lose a past session: it is shown, and written as soon as it can be.
    """

    async def story() -> list[str]:
        index = Index(layout)
        with an_obstacle(layout.past_sessions):
            index.retire(ended(layout, "a", "one"))
        shown = [one.instance for one in await index.past([])]
        index.save(list)
        await index.flush()
        return shown

    shown = asyncio.run(story())

    assert shown == ["one"]
    assert '"one"' in Path(layout.past_sessions).read_text()


def test_pages_have_every_past_session_once(layout: Layout) -> None:
    """
    Thousands of them come in answers of a bounded size, in the order of their names.
    """

    async def story() -> list[list[Any]]:
        index = Index(layout)
        infos = (ended(layout, f"s{number:04}", f"i{number}") for number in range(MANY))
        index._remember(msgspec.convert(msgspec.to_builtins(list(infos)), type=list[PastSession]))
        pages: list[list[Any]] = []
        after = None
        while page := await index.page([], after=after):
            pages.append(list(page))
            after = page[-1].instance
        with pytest.raises(BadRequest, match="nobody is not in the index"):
            await index.page([], after="nobody")
        return pages

    pages = asyncio.run(story())

    assert [one.id for page in pages for one in page] == [f"s{number:04}" for number in range(MANY)]
    assert len(pages) > 1
    assert all(len(msgspec.json.encode(page)) < LARGEST_PAGE + 1000 for page in pages)


# -- damage


@pytest.mark.parametrize("cut", [0, 0.5])
def test_fs_06_a_damaged_index_is_kept_aside(
    layout: Layout, cut: float, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    The file is set aside with a warning, and the next write has everything again.
    """
    write_journal(layout, "a", "one")

    async def story() -> None:
        index = Index(layout)
        index.retire(ended(layout, "a", "one", exit_code=3))
        index.save(list)
        await index.flush()

    async def another() -> dict[str, Any]:
        index = Index(layout)
        endings = index.endings()
        index.begin(list, list)
        index.save(list)
        await index.past([])
        await index.flush()
        return dict(endings)

    asyncio.run(story())
    path = Path(layout.session_index)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * cut)])

    assert asyncio.run(another()) == {}
    assert path.read_bytes() == whole
    assert Path(f"{path}.damaged").exists()
    assert f"warning: {path} is damaged" in capfd.readouterr().err


@pytest.mark.parametrize(
    "damage",
    [lambda _data: None, lambda data: data[:-20], lambda data: b"x" + data, lambda _data: b"\0\n"],
    ids=["removed", "torn", "first line", "all"],
)
def test_fs_06_past_sessions_are_taken_from_their_journals(
    layout: Layout, damage: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    What the index does not know, or no longer, the journals do: name, program, end.
    """
    write_journal(layout, "a", "one", code=3)
    write_journal(layout, "a", "two", code=None)
    path = Path(layout.past_sessions)

    async def story() -> None:
        index = Index(layout)
        index.retire(ended(layout, "a", "one", exit_code=3))
        index.retire(ended(layout, "a", "two"))

    asyncio.run(story())
    damaged = damage(path.read_bytes())
    if damaged is None:
        path.unlink()
    else:
        path.write_bytes(damaged)

    async def again() -> list[Any]:
        index = Index(layout)
        index.begin(list, list)
        return list(await index.past([]))

    found = {one.instance: one for one in asyncio.run(again())}

    assert found.keys() == {"one", "two"}
    assert (found["one"].id, found["one"].exit_code, found["one"].argv) in [
        ("a", 3, ["cat"]),
        ("a", 3, ["/bin/cat"]),
    ]
    assert found["one"].log_path == f"{layout.log_dir}/a.one.jsonl"
    said = capfd.readouterr().err
    assert "were not in the index" in said
    if damaged is not None and damaged.endswith(b"\n"):
        assert f"lines of {path} are damaged" in said
        assert Path(f"{path}.damaged").read_bytes() == damaged
    assert asyncio.run(again()) == list(found.values())  # and they are known from now on


def test_what_a_journal_alone_tells(layout: Layout) -> None:
    """
    The last name, the state and when it ended; what it does not tell is null.
    """
    write_journal(layout, "a", "one", code=None)
    journal = Journal(layout.log_dir, name="a", instance="one")
    journal.rename("b")
    journal.append(Rename(name="b"))
    journal.close()

    async def story() -> Any:
        index = Index(layout)
        index.begin(list, list)
        return (await index.past([]))[0]

    found = asyncio.run(story())

    assert (found.id, found.state, found.rows, found.process_id) == ("b", State.LOST, None, None)
    assert "how it ended" in str(found.diagnosis)


def test_sessions_that_run_are_not_taken_for_past_ones(layout: Layout) -> None:
    """
    A journal of a session that there is does not make another entry.
    """
    write_journal(layout, "a", "i-a", code=None)

    async def story() -> None:
        index = Index(layout)
        index.begin(lambda: sessions(layout, "a"), lambda: ["i-a"])
        await index.past(sessions(layout, "a"))
        index.save(lambda: sessions(layout, "a"))
        await index.flush()

    asyncio.run(story())

    assert listed(layout) == ["a"]
    assert not Path(layout.past_sessions).exists()


def test_a_session_that_is_being_started_is_no_past_one(layout: Layout) -> None:
    """
    Its journal may be there before the daemon has recorded it.
    """
    write_journal(layout, "a", "one", code=None)

    async def story() -> list[Any]:
        index = Index(layout)
        index.begin(list, lambda: ["one"])
        return list(await index.past([]))

    assert asyncio.run(story()) == []


# -- secrets


def test_red_10_the_index_has_no_secrets(layout: Layout) -> None:
    """
    Program, title and diagnosis are redacted before they are written; `list` shows them as given.
    """
    argv = ["mysql", "--password", "swordfish"]
    record = Record(make_spec("a", argv=argv, title="API_TOKEN=abcdef"))
    record.lose("PASSWORD=swordfish", at="now", curable=False)

    info = record.info(layout, None)
    entry = record.without_secrets(info)

    assert info.argv == argv
    assert entry.argv == ["mysql", "--password", "[REDACTED:flag]"]
    assert entry.title == "API_TOKEN=[REDACTED]"
    assert "swordfish" not in str(entry)


def test_red_10_values_known_as_secrets_are_taken_out_when_it_starts(layout: Layout) -> None:
    """
    Words that were redacted when their secrets were known are written as they were then.
    """
    spec = make_spec("a", argv=["echo", "x"], shown_argv=["echo", "[REDACTED:known_value]"])

    entry = Record(spec).without_secrets(Record(spec).info(layout, None))

    assert entry.argv == ["echo", "[REDACTED:known_value]"]
