"""`gc`: what is removed, what is kept and why, and that nothing is lost when it is interrupted."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent_pty.core.evidence.checkpoint import Removal
from agent_pty.core.evidence.event import Kill
from agent_pty.daemon import gc
from agent_pty.daemon.checkpointing import Checkpointing
from agent_pty.daemon.gc import Collector
from agent_pty.daemon.index import Index
from agent_pty.errors import BadRequest, DaemonError
from agent_pty.ops.gc import Gc
from agent_pty.store import export
from agent_pty.store.checkpoints import Checkpoints
from agent_pty.store.journal import Journal
from agent_pty.store.journal_files import instance_of
from support.gc_scene import BY, GcScene

ALL: dict[str, Any] = {"larger_than": 0}
SUPPORT = Path(__file__).parents[1]


@pytest.fixture
def scene(tmp_path: Path) -> GcScene:
    """A home without sessions."""
    return GcScene(tmp_path / "home")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Where to export to."""
    return tmp_path / "archive"


def gc_removal(**changes: Any) -> Removal:
    """Return what is signed of a removal."""
    usual = {"verdict": "verified", "forced": False, "exported_to": None, "by": BY}
    return Removal(**{**usual, **changes})


# -- what is removed


def test_what_is_exported_is_removed(scene: GcScene, archive: Path) -> None:
    """
    The copy is verified; journal, recording and place in the index are gone, the removal is signed.
    """
    scene.past("work", "one")
    scene.evidence.record("one")

    found = scene.collect(**ALL, export=str(archive))["one"]

    assert (found.result, found.verdict, found.event_count) == ("removed", "verified", 3)
    assert found.exported_to == str(archive / "one")
    assert scene.exported(archive / "one") == "verified"
    assert scene.files() == []
    assert scene.indexed() == []
    removal = scene.evidence.signed().removal_of("one")
    assert removal is not None
    assert (removal.name, removal.count) == ("work", 3)
    assert removal.removed == gc_removal(exported_to=str(archive / "one"))


def test_without_an_export_it_is_kept(scene: GcScene) -> None:
    """
    The reason and the remedy are told, and nothing is touched.
    """
    path = scene.past("work", "one")
    before = path.read_bytes()

    found = scene.collect(**ALL)["one"]

    assert (found.result, found.reason) == ("kept", "it was not exported")
    assert "--export DIR" in str(found.remedy)
    assert path.read_bytes() == before
    assert scene.indexed() == ["one"]
    assert scene.evidence.signed().removal_of("one") is None


def test_an_earlier_export_of_the_same_record_is_enough(scene: GcScene, archive: Path) -> None:
    """
    It is noted in the index; one of another state of the journal does not count.
    """
    scene.past("a", "one")
    scene.past("b", "two")
    with scene.registry_uses("a", "b"):  # so that they are exported and not removed
        kept = scene.collect(**ALL, export=str(archive))
    journal = Journal(scene.layout.log_dir, name="b", instance="two")
    journal.append(Kill())
    journal.close()
    scene.evidence.sign("b", "two")

    found = scene.collect(**ALL)

    assert {one.result for one in kept.values()} == {"kept"}
    assert [one.number for one in scene.evidence.signed().of("two")] == [2, 3]  # no removal
    assert (found["one"].result, found["one"].exported_to) == ("removed", str(archive / "one"))
    assert (found["two"].result, found["two"].reason) == ("kept", "it was not exported")


@pytest.mark.parametrize("damage", ["unsigned", "cut", "changed", "key"])
def test_what_is_not_verified_is_kept(scene: GcScene, archive: Path, damage: str) -> None:
    """
    Also with an export: who removes it destroys the proof of what happened.
    """
    path = scene.past("work", "one", sign=damage != "unsigned")
    if damage == "cut":
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    elif damage == "changed":
        path.write_bytes(path.read_bytes().replace(b'"cat"', b'"dog"'))
    elif damage == "key":
        for public in Path(scene.layout.keys).glob("*.pub"):
            public.unlink()

    found = scene.collect(**ALL, export=str(archive))["one"]

    assert found.result == "kept"
    assert str(found.reason).startswith("it is not verified: ")
    assert "agent-pty verify work --instance one" in str(found.remedy)
    assert path.exists()
    assert not archive.exists()


def test_force_removes_what_is_not_verified(scene: GcScene) -> None:
    """
    The signed removal says that it was forced, and what was wrong.
    """
    scene.past("work", "one", sign=False)

    found = scene.collect(**ALL, force=True)["one"]

    assert (found.result, found.verdict) == ("removed", "verified_to_checkpoint")
    assert scene.files() == []
    removal = scene.evidence.signed().removal_of("one")
    assert removal is not None
    assert removal.removed == gc_removal(verdict="verified_to_checkpoint", forced=True)


def test_force_with_an_export_copies_what_can_be_copied(scene: GcScene, archive: Path) -> None:
    """
    A journal that fails is exported as it is, so that it can be looked at.
    """
    path = scene.past("work", "one")
    path.write_bytes(path.read_bytes().replace(b'"cat"', b'"dog"'))
    damaged = path.read_bytes()

    found = scene.collect(**ALL, force=True, export=str(archive))["one"]

    assert (found.result, found.verdict) == ("removed", "failed")
    assert (archive / "one" / "work.jsonl").read_bytes() == damaged
    assert scene.exported(archive / "one") == "failed"


def test_a_journal_that_is_gone_is_not_called_removed(scene: GcScene) -> None:
    """
    Somebody deleted it; only force takes it off the index, and then the removal says "missing".
    """
    scene.past("work", "one").unlink()

    kept = scene.collect(older_than_ms=0)["one"]
    unsigned = scene.evidence.signed().removal_of("one")
    forced = scene.collect(older_than_ms=0, force=True)["one"]

    assert (kept.result, kept.verdict) == ("kept", "missing")
    assert unsigned is None
    assert (forced.result, scene.indexed()) == ("removed", [])
    removal = scene.evidence.signed().removal_of("one")
    assert removal is not None
    assert (removal.count, removal.removed) == (3, gc_removal(verdict="missing", forced=True))


# -- what is never touched


def test_sessions_that_run_are_never_touched(scene: GcScene, archive: Path) -> None:
    """
    Not even by force; an earlier instance of the same name is removed beside it.
    """
    scene.past("work", "old")
    path = scene.living("work", "new")
    before = path.read_bytes()

    found = scene.collect(**ALL, force=True, export=str(archive))

    assert list(found) == ["old"]
    assert scene.files() == ["work.jsonl"]
    assert path.read_bytes() == before


def test_fs_02_files_of_other_sessions_are_never_touched(scene: GcScene) -> None:
    """
    `a` is removed; `a.b` runs and keeps everything, and so does what belongs to nobody.
    """
    scene.past("a", "one")
    scene.living("a.b", "two")
    for name in ("a.jsonl.torn-1", "a.b.jsonl.torn-1", "a.c.jsonl.torn-1", "a.txt"):
        (scene.evidence.logs / name).write_text("x")
    for instance in ("one", "two", "three"):
        scene.evidence.record(instance)

    scene.collect(**ALL, force=True)

    assert scene.files() == [
        *["a.b.jsonl", "a.b.jsonl.torn-1", "a.c.jsonl.torn-1", "a.txt"],
        *["recordings/three", "recordings/two"],
    ]


def test_a_session_that_is_just_starting_keeps_gc_away(scene: GcScene) -> None:
    """
    Its host is about to move the journal of that name: it is not touched now.
    """
    path = scene.past("work", "one")

    with scene.registry_uses("work"):
        found = scene.collect(**ALL, force=True)["one"]
    again = scene.collect(**ALL, force=True)["one"]

    assert (found.result, found.reason) == ("kept", "a session of its name is being started")
    assert again.result == "removed"
    assert not path.exists()


def test_a_journal_that_is_written_keeps_gc_away(scene: GcScene) -> None:
    """
    Whoever holds its lock may still add to it.
    """
    path = scene.past("work", "one")

    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        found = scene.collect(**ALL, force=True)["one"]

    assert (found.result, found.reason) == ("kept", "its journal is being written")
    assert path.exists()
    assert scene.evidence.signed().removal_of("one") is None


def test_a_journal_that_was_replaced_meanwhile_is_kept(
    scene: GcScene, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Removed is what was examined and copied, nothing else.
    """
    path = scene.past("work", "one")
    write = export.write

    def write_and_replace(*what: Any, **more: Any) -> str:
        made = write(*what, **more)
        path.write_bytes(path.read_bytes() + b"more\n")
        return made

    monkeypatch.setattr(export, "write", write_and_replace)
    found = scene.collect(**ALL, export=str(archive))["one"]

    assert (found.result, found.reason) == ("kept", "it was changed meanwhile")
    assert path.exists()
    assert scene.evidence.signed().removal_of("one") is None


def test_a_name_that_is_used_again_while_it_is_signed_is_left_alone(
    scene: GcScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A session starts and ends in that moment: the journal that then has the name is not removed.
    """
    scene.past("work", "one")
    add_removal = Checkpoints.add_removal

    def sign_slowly(*what: Any, **more: Any) -> None:
        add_removal(*what, **more)
        scene.evidence.session("work", "two")

    monkeypatch.setattr(Checkpoints, "add_removal", sign_slowly)
    found = scene.collect(**ALL, force=True)["one"]
    monkeypatch.undo()
    again = scene.collect(**ALL, force=True)["one"]

    assert (found.result, found.reason) == ("kept", "it was changed meanwhile")
    assert again.result == "removed"
    assert scene.files() == ["work.jsonl"]
    assert instance_of(f"{scene.layout.log_dir}/work.jsonl") == "two"


# -- what is due


def test_only_what_is_due_is_judged(scene: GcScene) -> None:
    """
    By age, from the end of the session; where nobody saw it, from the last event.
    """
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    scene.past("old", "one", ended_at="2020-01-01T00:00:00.000Z")
    scene.past("new", "two", ended_at=now)

    by_age = scene.collect(older_than_ms=86_400_000, dry_run=True, force=True)
    by_size = scene.collect(larger_than=10**9, dry_run=True, force=True)

    assert list(by_age) == ["one"]
    assert by_size == {}


def test_nothing_is_done_by_a_dry_run(scene: GcScene, archive: Path) -> None:
    """
    It says what would be done, with the same reasons, and leaves everything as it is.
    """
    scene.past("a", "one")
    scene.past("b", "two", sign=False)
    before = {path: path.read_bytes() for path in scene.home.rglob("*") if path.is_file()}

    found = scene.collect(**ALL, export=str(archive), dry_run=True)

    assert (found["one"].result, found["one"].exported_to) == ("would_remove", str(archive / "one"))
    assert found["two"].result == "kept"
    assert {path: path.read_bytes() for path in scene.home.rglob("*") if path.is_file()} == before
    assert not archive.exists()


def test_pages_judge_every_session_once(
    scene: GcScene, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    However few an answer has, removed and kept ones come once, oldest first.
    """
    monkeypatch.setattr(gc, "_MOST_JUDGED", 2)
    for number in range(7):
        ended_at = f"2026-01-0{number + 1}T00:00:00.000Z"
        scene.past(f"s{number}", f"i{number}", ended_at=ended_at, sign=number % 3 != 0)

    found = scene.collect(**ALL, export=str(archive))

    assert list(found) == [f"i{number}" for number in range(7)]
    kept = [one.instance for one in found.values() if one.result == "kept"]
    assert kept == ["i0", "i3", "i6"]
    assert scene.indexed() == kept


# -- what goes wrong


def test_an_export_into_the_log_directory_is_refused(scene: GcScene) -> None:
    """
    A copy beside the original protects nothing, and would be counted.
    """
    with pytest.raises(BadRequest, match="choose a place outside"):
        scene.collect(**ALL, export=f"{scene.layout.log_dir}/copies")


def test_a_full_disk_keeps_it(scene: GcScene, archive: Path) -> None:
    """
    An export that cannot be written is told with its reason; the original stays.
    """
    path = scene.past("work", "one")
    archive.write_text("no directory")

    found = scene.collect(**ALL, export=str(archive))["one"]

    assert found.result == "kept"
    assert "archive" in str(found.reason)
    assert path.exists()


def test_a_copy_that_is_something_else_keeps_it(scene: GcScene, archive: Path) -> None:
    """
    What stands in the place of the export is checked, not believed.
    """
    path = scene.past("work", "one")
    other = GcScene(scene.home.parent / "other")
    other.past("work", "one", events=4)
    other.collect(**ALL, export=str(archive))

    found = scene.collect(**ALL, export=str(archive))["one"]

    assert found.result == "kept"
    assert "is not a copy of it" in str(found.reason)
    assert path.exists()


def test_a_key_that_cannot_sign_keeps_it(scene: GcScene, archive: Path) -> None:
    """
    Nothing is removed of which the chain would not know.
    """
    path = scene.past("work", "one")
    (Path(scene.layout.keys) / "signing.pem").write_text("no key")

    found = scene.collect(**ALL, export=str(archive))["one"]

    assert found.result == "kept"
    assert path.exists()


def test_a_daemon_that_ends_stops_reading(scene: GcScene) -> None:
    """
    What is being judged then is kept, and the caller is told.
    """
    path = scene.past("work", "one")

    async def story() -> None:
        index, checkpoints = Index(scene.layout), Checkpointing(scene.layout, list)
        collector = Collector(scene.layout, scene.registry, index, checkpoints)
        collector.stop()
        await collector.collect(Gc(**ALL, force=True), BY)

    with pytest.raises(DaemonError, match="is ending"):
        asyncio.run(story())
    assert path.exists()


# -- interruptions


def test_what_was_removed_does_not_stay_in_the_index(scene: GcScene) -> None:
    """
    A gc that was killed at its last step is completed by the next one, whatever that one is for.
    """
    path = scene.past("work", "one")
    (last,) = scene.evidence.signed().of("one")
    scene.evidence.remove("one", count=last.count, head=last.head)
    path.unlink()

    found = scene.collect(larger_than=10**9)

    assert found == {}
    assert scene.indexed() == []


def test_kill_9_between_any_two_steps_loses_nothing(tmp_path: Path) -> None:
    """
    After each call that changes a file, journal or signed copy is good; the next gc completes it.
    """
    done = subprocess.run(
        [sys.executable, "-m", "support.interrupted_gc", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
    )
    steps = [json.loads(line) for line in done.stdout.splitlines()]

    assert [one["step"] for one in steps] == list(range(1, len(steps) + 1))
    assert len(steps) > 20
    assert [one["completed"] for one in steps] == [False] * (len(steps) - 1) + [True]
    for one in steps:
        safe = one["journal"] == "verified" or (one["copy"] == "verified" and one["removal"])
        assert safe, one
        assert one["neighbour"] == "verified", one
        assert one["chain"] is None, one
        assert one["then"] == {"files": ["next.jsonl"], "index": [], "copy": "verified"}, one
