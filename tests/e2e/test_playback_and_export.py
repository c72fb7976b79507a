"""Recordings of real sessions: played in a terminal, exported, and compared."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from agent_pty.store.whole_recording import whole_recording
from support.agent import Agent, eventually
from support.person import human
from support.recorded import Recorded

GITHUB = "ghp_FakeFakeFakeFakeFakeFakeFakeFakeFake"
# What a terminal would answer or obey: a question for the cursor, the clipboard, the title.
HARMFUL = r"\033[6n\033]52;c;aGk=\007\033]0;title\007"


@pytest.fixture
def recorded(agent: Agent) -> str:
    """A session with a recording of some text, of colours, and of a secret."""
    agent.new("work")
    agent.ask("run", id="work", code=rf"echo first; printf '{HARMFUL}\033[31mred\033[0m <b>\n'")
    agent.ask("run", id="work", code=f"sleep 0.3; echo {GITHUB}; echo last-$((1+1))")
    path = Path(agent.layout.log_dir) / "recordings" / agent.info("work")["instance"]
    eventually(lambda: "last-2" in "".join(one.read_text() for one in path.glob("*.cast")))
    return "work"


# -- play


def test_trm_04_a_recording_is_played_without_what_a_terminal_obeys(
    agent: Agent, recorded: str
) -> None:
    """
    Text and colours come; questions, clipboard and title do not, so that nothing is answered.
    """
    with human(agent, "replay", recorded, "--play", "--speed", "50") as person:
        person.sees("last-2")
        assert person.leaves() == 0

    assert b"\x1b[31mred" in person.seen
    assert b"title\x07" not in person.seen
    assert b"\x1b[6n" not in person.seen
    assert person.answered == b""
    assert GITHUB not in person.screen.text()


@pytest.mark.parametrize(("key", "status"), [(b"\x03", 130), (b"q", 0)])
def test_a_key_ends_the_playback_and_the_terminal_is_as_before(
    agent: Agent, recorded: str, key: bytes, status: int
) -> None:
    """
    Ctrl-C and q end it at once, also while it is paused, and give the terminal back.
    """
    with human(agent, "replay", recorded, "--play", "--speed", "0.01") as person:
        person.until(lambda: person.raw)
        person.type(b" ")
        person.type(key)

        assert person.leaves() == status
        assert person.attributes() == person.before


def test_keys_skip_forwards(agent: Agent, recorded: str) -> None:
    """
    An arrow goes on by five seconds: what would take an hour is there at once.
    """
    with human(agent, "replay", recorded, "--play", "--speed", "0.01") as person:
        person.until(lambda: person.raw)
        person.type(b"\x1b[C" * 3)

        person.sees("last-2")
        assert person.leaves() == 0


def test_a_session_that_is_gone_is_played_without_a_daemon(agent: Agent, recorded: str) -> None:
    """
    The recording is enough; no daemon is started for it, and a pipe gets the same as a terminal.
    """
    agent.cli("stop")

    done = agent.cli("replay", recorded, "--play", "--speed", "100")

    assert done.returncode == 0
    assert "last-2" in done.stdout
    assert agent.processes() == []


def test_a_wrong_speed_is_refused(agent: Agent) -> None:
    """
    The mistake is named before anything is played.
    """
    done = agent.cli("replay", "work", "--play", "--speed", "0")

    assert (done.returncode, done.stdout) == (2, "")
    assert "--speed 0: give a number" in done.stderr


# -- export


def export(agent: Agent, form: str, path: Path) -> bytes:
    """Export the recording of `work`."""
    done = agent.cli("record", "export", "work", "--format", form, "-o", str(path))
    assert (done.returncode, done.stdout) == (0, f"saved {path}\n"), done.stderr
    return path.read_bytes()


def test_a_cast_is_one_file_that_can_be_played_and_compared(
    agent: Agent, recorded: str, tmp_path: Path
) -> None:
    """
    Asciicast 3: a header, then an event in each line; the same text comes out of it again.
    """
    cast = export(agent, "cast", tmp_path / "work.cast")

    header, *events = [json.loads(line) for line in cast.splitlines()]
    assert (header["version"], header["term"]["cols"]) == (3, 80)
    assert all(len(one) == 3 and one[0] >= 0 for one in events)
    assert GITHUB.encode() not in cast
    same = agent.cli("diff", str(tmp_path / "work.cast"), recorded)
    assert (same.returncode, same.stdout) == (0, "the same lines\n")


def test_the_text_is_what_was_written(agent: Agent, recorded: str, tmp_path: Path) -> None:
    """
    Lines without escapes, with secrets covered; `-o -` prints them.
    """
    text = export(agent, "txt", tmp_path / "work.txt").decode()

    lines = text.splitlines()
    assert lines.index("first") < lines.index("red <b>") < lines.index("last-2")
    assert "\x1b" not in text
    assert GITHUB not in text
    assert agent.cli("record", "export", recorded, "--format", "txt", "-o", "-").stdout == text


def test_pictures_move_and_run_nothing(agent: Agent, recorded: str, tmp_path: Path) -> None:
    """
    An SVG and a page with several pictures in a row, without a script and with text escaped.
    """
    svg = export(agent, "svg", tmp_path / "work.svg").decode()
    page = export(agent, "html", tmp_path / "work.html").decode()

    found = ET.fromstring(svg)  # noqa: S314  our own file
    assert len(found.findall(".//{*}set")) > 1
    for text in (svg, page):
        assert "&lt;b&gt;" in text
        assert "<script" not in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace(
            "http-equiv", ""
        )
        assert GITHUB not in text
    assert "default-src 'none'" in page
    assert recorded == "work"


def test_a_gif_has_several_pictures(agent: Agent, recorded: str, tmp_path: Path) -> None:
    """
    Each picture has the size of the terminal, and a time.
    """
    gif = export(agent, "gif", tmp_path / "work.gif")

    image = Image.open(BytesIO(gif))
    assert image.size == (80 * 9, 24 * 18)
    assert getattr(image, "n_frames", 1) > 1
    assert recorded == "work"


def test_an_export_that_cannot_be_written_says_why(agent: Agent, recorded: str) -> None:
    """
    A wrong path, a wrong form and an unknown session are different mistakes.
    """
    wrong = agent.cli("record", "export", recorded, "-o", "/nowhere/x.cast")
    form = agent.cli("record", "export", recorded, "--format", "mp4")
    nobody = agent.cli("record", "export", "nobody")

    assert (wrong.returncode, form.returncode, nobody.returncode) == (2, 2, 1)
    assert "cannot write /nowhere/x.cast: No such file" in wrong.stderr
    assert "unknown session nobody" in nobody.stderr


def test_segments_of_a_recording_are_one(tmp_path: Path) -> None:
    """
    After the end of a segment nothing is shown twice, and a segment that is missing is reported.
    """

    async def record() -> Path:
        story = Recorded(tmp_path)
        for word in ("one", "two", "three"):
            story.show(f"{word}\r\n".encode())
            story.die()
        return story.recordings

    recordings = asyncio.run(record())
    (tmp_path / "work.jsonl").write_text('{"instance":"one"}\n')

    found = whole_recording(str(tmp_path), "work")
    text = "".join(one.text for one in found.moments() if one.code == "o")
    for path in recordings.glob("recording-000002*"):
        path.unlink()
    with_gap = whole_recording(str(tmp_path), "work")
    markers = [one.text for one in with_gap.moments() if one.code == "m"]

    assert [text.count(word) for word in ("one", "two", "three")] == [1, 1, 1]
    assert markers == with_gap.problems == ["1 segment(s) were dropped here to keep the budget"]


# -- diff


def test_the_first_cell_that_differs_is_shown(agent: Agent) -> None:
    """
    Two sessions with the same cells are the same; then the first difference, with status 1.
    """
    for name in ("a", "b"):
        agent.new(name)
        agent.ask("run", id=name, code="echo same")
    same = agent.cli("diff", "a", "b")
    for name, code in (("a", "true"), ("b", "false")):
        agent.ask("run", id=name, code=code)
        agent.ask("run", id=name, code="echo later")

    differ = agent.cli("diff", "a", "b")

    assert (same.returncode, same.stdout) == (0, "the same cells\n")
    assert differ.stdout == "cell 2 differs\n- a: true [exit 0]\n+ b: false [exit 1]\n"
    assert differ.returncode == 1
    place = json.loads(agent.cli("diff", "a", "b", "--json").stdout)
    assert (place["same"], place["by"], place["place"]) == (False, "cells", 2)


def test_the_first_line_that_differs_is_shown(agent: Agent, recorded: str) -> None:
    """
    Recordings are compared line by line, whatever their times; one may end earlier.
    """
    agent.ask("new", id="cat", repo="/tmp", argv=["echo", "other"])

    differ = agent.cli("diff", recorded, "cat", "--by", "recording")

    assert differ.returncode == 1
    assert differ.stdout.startswith("line 1 differs\n- work: at ")
    assert "+ cat: at " in differ.stdout
    assert differ.stdout.endswith("other\n")


@pytest.mark.parametrize("words", [("nobody", "nobody"), ("a.cast", "b.cast"), ("work",)])
def test_what_cannot_be_compared_has_status_2(agent: Agent, words: tuple[str, ...]) -> None:
    """
    Status 1 says that two differ; a mistake is something else.
    """
    assert agent.cli("diff", *words).returncode == 2
