"""Exports: complete or not there, and checked by what they contain and by the keys one trusts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_pty.store import export
from agent_pty.store.export import BadExport, Manifest
from agent_pty.store.instance_files import InstanceFiles, survey
from agent_pty.store.verification import verified
from support.evidence import Evidence


class Scene:
    """A session with a recording among others, and a place to export to."""

    def __init__(self, directory: Path) -> None:
        self.evidence = Evidence(directory / "home")
        self.evidence.session("other", "two")
        self.journal = self.evidence.session("work", "one", events=5)
        self.evidence.record("one")
        self.evidence.sign("other", "two")
        self.target = directory / "far" / "away"

    @property
    def files(self) -> InstanceFiles:
        """The files of the session."""
        return survey(str(self.evidence.logs), [("work", "one"), ("other", "two")])["one"]

    def write(self) -> Path:
        """Export the session."""
        found = verified(str(self.journal), self.evidence.signed()).verdict
        about = Manifest(
            name="work",
            instance="one",
            journal="work.jsonl",
            event_count=found.count,
            head_hash=found.head,
            verdict=found.result,
            exported_at="now",
            by={"uid": 1},
            files=[],
        )
        signed, keys = self.evidence.signed(), self.evidence.keys
        return Path(export.write(str(self.target), self.files, signed, keys, about))

    def result(self, directory: Path) -> str:
        """Return what a check of the export says."""
        return export.checked(str(directory), self.evidence.keys).verdict.result


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Something to export."""
    return Scene(tmp_path)


def test_an_export_can_be_verified_without_the_home(scene: Scene) -> None:
    """
    Journal, recording, its own checkpoints alone, keys and a manifest; readable by nobody else.
    """
    made = scene.write()

    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    (key,) = scene.evidence.keys
    assert names == sorted(
        [
            "work.jsonl",
            "recording-000001.cast",
            "checkpoints.jsonl",
            f"keys/{key}.pub",
            "manifest.json",
        ]
    )
    assert made == scene.target / "one"
    assert len((made / "checkpoints.jsonl").read_bytes().splitlines()) == 1
    assert scene.result(made) == "verified"
    assert {path.stat().st_mode & 0o077 for path in [made, *made.rglob("*")]} == {0}
    assert json.loads((made / "manifest.json").read_text())["event_count"] == 5


@pytest.mark.parametrize("name", ["work.jsonl", "recording-000001.cast", "checkpoints.jsonl"])
@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"?" + data[1:]]
)
def test_every_change_of_an_export_shows(
    scene: Scene, name: str, change: Callable[[bytes], bytes]
) -> None:
    """
    The file that was changed is named.
    """
    made = scene.write()
    (made / name).write_bytes(change((made / name).read_bytes()))

    with pytest.raises(BadExport, match=rf"{re.escape(name)}: it is not what was exported"):
        scene.result(made)


def test_a_file_that_is_missing_shows(scene: Scene) -> None:
    """
    The manifest knows all of them.
    """
    made = scene.write()
    (made / "recording-000001.cast").unlink()

    with pytest.raises(BadExport, match=r"recording-000001\.cast: No such file"):
        scene.result(made)


def test_an_export_that_was_written_anew_is_not_trusted(scene: Scene, tmp_path: Path) -> None:
    """
    Keys beside the journal prove nothing: only those that one knows from elsewhere count.
    """
    made = Scene(tmp_path / "forger").write()

    found = export.checked(str(made), scene.evidence.keys).verdict

    assert found.result == "failed"
    assert "unknown key" in str(found.error)


@pytest.mark.parametrize("name", ["/etc/hostname", "../secret", "keys/../../secret"])
def test_a_manifest_that_leads_elsewhere_is_refused(scene: Scene, name: str) -> None:
    """
    An export is a directory; nothing outside of it is read.
    """
    made = scene.write()
    manifest = json.loads((made / "manifest.json").read_text())
    manifest["files"][0]["name"] = name
    (made / "manifest.json").write_text(json.dumps(manifest))

    with pytest.raises(BadExport, match="not in the directory"):
        scene.result(made)


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "is no export"), ("{", "is no export"), ('{"format": 1}', "is no export")],
)
def test_what_is_no_export_is_told(tmp_path: Path, text: str | None, said: str) -> None:
    """
    A directory without a manifest, or with another file of that name.
    """
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(BadExport, match=said):
        export.checked(str(tmp_path), {})


def test_lif_12_a_later_format_is_refused_by_its_number(scene: Scene) -> None:
    """
    What this program cannot understand, it does not call good.
    """
    made = scene.write()
    text = (made / "manifest.json").read_text()
    (made / "manifest.json").write_text(text.replace('"format": 1', '"format": 9'))

    with pytest.raises(BadExport, match="format 9, this program knows up to 1"):
        scene.result(made)


def test_an_unfinished_export_is_made_again(scene: Scene) -> None:
    """
    What a crash left has another name, and is in nobody's way.
    """
    partial = scene.target / ".one.partial"
    partial.mkdir(parents=True)
    (partial / "work.jsonl").write_text("half")

    made = scene.write()

    assert scene.result(made) == "verified"
    assert not partial.exists()


def test_what_is_there_already_is_left_as_it_is(scene: Scene) -> None:
    """
    An export is never overwritten; whoever made it must check it.
    """
    made = scene.write()
    (made / "note").write_text("mine")

    assert scene.write() == made
    assert (made / "note").read_text() == "mine"


def test_an_export_that_is_stopped_leaves_nothing(scene: Scene) -> None:
    """
    Neither a directory that looks complete, nor half of one.
    """

    def stop() -> None:
        raise InterruptedError

    about = Manifest(
        name="work",
        instance="one",
        journal="work.jsonl",
        event_count=0,
        head_hash=None,
        verdict="",
        exported_at="",
        by={},
        files=[],
    )
    with pytest.raises(InterruptedError):
        export.write(str(scene.target), scene.files, scene.evidence.signed(), {}, about, pause=stop)

    assert list(scene.target.iterdir()) == []
