"""The recording of a terminal: segments, past screens, deaths of hosts, a full disk, the budget."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_pty.core.evidence.event import Recording as Noted
from agent_pty.core.evidence.event import RecordingDropped, RecordingGap
from agent_pty.host.events import Batch, CellBegan, Exited
from agent_pty.host.evidence.past_screen import Wanted, past_screen
from agent_pty.store import recording as files
from support.recorded import Recorded

FORMATS = Path(__file__).parents[2] / "formats"
GITHUB = b"ghp_FakeFakeFakeFakeFakeFakeFakeFakeFake"
KEY = b"""-----BEGIN RSA PRIVATE KEY-----\r
MIIFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKE\r
"""
REST_OF_KEY = b"FAKEFAKE+FAKE/FAKE==\r\n-----END RSA PRIVATE KEY-----\r\n"


def played(
    directory: Path, story: Callable[[Recorded], Awaitable[None]], *, budget: int = 1 << 30
) -> None:
    """Play a story with a recording."""

    async def play() -> None:
        one = Recorded(directory, budget=budget, known=b"correct-horse")
        try:
            await story(one)
        finally:
            one.close()

    asyncio.run(play())


def exited(code: int | None = 0) -> Exited:
    """Return the end of the program."""
    return Exited(cursor=0, exit_code=code, signal=None)


def test_what_is_shown_can_be_seen_again(tmp_path: Path) -> None:
    """
    The screen of each past moment is drawn as it was, also an unfinished line.
    """

    async def story(one: Recorded) -> None:
        one.show(b"$ ")
        first = time.monotonic_ns()
        one.show(b"ls\r\na  b\r\n$ ")
        second = time.monotonic_ns()
        one.show(b"clear\r\n\x1b[H\x1b[2Jnew")

        assert one.screen(first).text == "$"
        assert one.screen(second).text == "$ ls\na  b\n$"
        assert one.screen(time.monotonic_ns()).text == "new"
        assert one.screen(second).problem is None

    played(tmp_path, story)


def test_the_end_is_recorded_and_the_segment_compressed(tmp_path: Path) -> None:
    """
    Whatever a line lacks is there; the journal has the digest of the whole text.
    """

    async def story(one: Recorded) -> None:
        one.notice(CellBegan(cell_id="c", code="make test"))
        one.show(b"no newline")
        one.resize(rows=12, cols=50)
        one.notice(exited(3))

        assert one.events() == [
            ("m", "make test"),
            ("o", "no newline"),
            ("r", "50x12"),
            ("x", "3"),
        ]
        assert one.names == ["recording-000001.cast.gz"]
        (noted,) = one.noted
        assert isinstance(noted, Noted)
        assert noted.sealed
        assert noted.bytes == len(gzip.decompress((one.recordings / one.names[0]).read_bytes()))
        assert one.problem() is None

    played(tmp_path, story)


@pytest.mark.parametrize("size", [1, 5, 4096])
def test_red_04_no_secret_is_in_a_recording(tmp_path: Path, size: int) -> None:
    """
    Whatever pieces it comes in: a token, a private key, a value of the environment.
    """
    output = b"see " + GITHUB + b" ok\r\n" + KEY + REST_OF_KEY + b"pw correct-horse\r\nafter\r\n"

    async def story(one: Recorded) -> None:
        for at in range(0, len(output), size):
            one.show(output[at : at + size])
        one.notice(exited())

        shown = one.shown()
        assert len(shown) == len(output)
        for secret in ("FakeFake", "FAKEFAKE", "correct-horse"):
            assert secret not in shown
        assert "see gh_[REDACTED]" in shown
        assert shown.endswith("after\r\n")

    played(tmp_path, story)


def test_segments_begin_with_the_screen_as_it_was(tmp_path: Path) -> None:
    """
    A past screen costs one segment; what stood on it before that began is there, without secrets.
    """

    async def story(one: Recorded) -> None:
        one.show(b"\x1b[2J\x1b[Htop " + GITHUB + b"\x1b[5;1H")
        for number in range(8000):
            one.show(b"\x1b[5;1Hline %d\x1b[K\r\n" % number)
        now = one.screen(time.monotonic_ns())
        one.notice(exited())

        assert len(one.names) > 1
        assert now.segment > 1
        # The token takes 40 cells after 4: its line wraps.
        assert now.text.splitlines()[0] == "top gh_[REDACTED]".ljust(44, "*")
        assert now.text.splitlines()[-1] == "line 7999"
        assert "Fake" not in one.shown()
        assert one.problem() is None

    played(tmp_path, story, budget=64_000 * 8)


def test_past_the_budget_the_middle_goes(tmp_path: Path) -> None:
    """
    The beginning and the newest stay; the journal names what was dropped, and files are whole.
    """

    async def story(one: Recorded) -> None:
        noise = iter(range(10_000_000))
        for _ in range(60):
            lines = [f"{next(noise) * 7919 % 1_000_003:x} " * 4 for _ in range(1000)]
            one.show("\r\n".join([*lines, ""]).encode())
        one.notice(exited())

        numbers = [one.number for one in files.segments(str(one.recordings))]
        dropped = [
            number
            for noted in one.noted
            if isinstance(noted, RecordingDropped)
            for number in noted.segments
        ]
        sealed = [noted.segment for noted in one.noted if isinstance(noted, Noted) and noted.sealed]
        assert numbers[0] == 1
        assert numbers[-1] == sealed[-1]
        assert dropped
        assert sorted(numbers + dropped) == sealed
        total = sum(segment.size for segment in files.segments(str(one.recordings)))
        assert total <= 200_000
        assert one.problem() is None

    played(tmp_path, story, budget=200_000)


def test_a_dead_host_loses_nothing(tmp_path: Path) -> None:
    """
    What it had read and not recorded is recorded by the next one, and what it had is not again.
    """

    async def story(one: Recorded) -> None:
        one.show(b"recorded\r\nunfinished ")
        one.show(b"line\r\nread but not recorded\r\n", recorded=False)
        one.die()
        one.show(b"after\r\n")
        now = one.screen(time.monotonic_ns())
        one.notice(exited())

        first, second = files.segments(str(one.recordings))
        text = b"".join(files.read_events(first)).decode()
        assert text.count("recorded\\r\\n") == 2
        assert text.count("unfinished ") == 1
        assert now.text.splitlines() == [
            "recorded",
            "unfinished line",
            "read but not recorded",
            "after",
        ]
        assert second.number == 2
        assert one.problem() is None

    played(tmp_path, story)


def test_red_07_a_private_key_during_which_a_host_dies(tmp_path: Path) -> None:
    """
    The next host does not take the rest of the key for harmless text.
    """

    async def story(one: Recorded) -> None:
        one.show(b"key:\r\n" + KEY)
        one.die()
        one.show(REST_OF_KEY, recorded=False)
        one.die()
        one.show(b"after\r\n")
        one.notice(exited())

        assert "FAKE" not in one.shown()
        assert "after" in one.shown()

    played(tmp_path, story)


def test_what_we_undo_ourselves_is_recorded_although_it_is_in_no_spool(tmp_path: Path) -> None:
    """
    The terminal has written nothing yet; the next host finds a place that there is.
    """

    async def story(one: Recorded) -> None:
        one.notice(Batch(data=b"\x1b[?25h\x1b[m", marks=(), replies=b""))
        one.show(b"after\r\n")
        one.die()
        one.notice(exited())

        assert "after" in one.shown()
        assert one.problem() is None

    played(tmp_path, story)


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    """
    A host that died in the middle of a write leaves whole lines, and the next one goes on.
    """

    async def story(one: Recorded) -> None:
        one.show(b"before\r\n")
        with (one.recordings / one.names[0]).open("ab") as file:
            file.write(b'[0.1,"o","to')
        one.die()
        one.show(b"after\r\n")
        one.notice(exited())

        assert "before" in one.shown()
        assert '"to' not in one.shown()
        assert one.problem() is None

    played(tmp_path, story)


def test_what_cannot_be_written_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    It is counted, the journal and the next segment say so, and the screen is right again.
    """

    async def story(one: Recorded) -> None:
        one.show(b"before\r\n")
        with monkeypatch.context() as broken:
            broken.setattr("agent_pty.store.atomic.write_all", no_room)
            one.show(b"lost-one\r\n")
            trouble = one.recording.trouble
        later = time.monotonic_ns() + 10**10
        monkeypatch.setattr(time, "monotonic_ns", lambda: later)
        one.show(b"lost-two\r\n")
        one.show(b"after\r\n")
        now = one.screen(time.monotonic_ns())
        one.notice(exited())

        assert trouble == "No space left on device"
        assert one.recording.trouble is None
        gaps = [noted for noted in one.noted if isinstance(noted, RecordingGap)]
        assert [(gap.bytes, gap.reason) for gap in gaps] == [(20, "No space left on device")]
        assert now.text.splitlines() == ["before", "lost-one", "lost-two", "after"]
        assert now.problem == "20 bytes are missing before this: No space left on device"
        assert one.problem() is None

    played(tmp_path, story)


def no_room(_fd: int, _data: bytes) -> None:
    """Fail as a full disk does."""
    raise OSError(28, "No space left on device")


def test_a_session_of_an_earlier_build_is_recorded_from_now_on(tmp_path: Path) -> None:
    """
    What it showed before is not there, and that is said.
    """

    async def story(one: Recorded) -> None:
        one.show(b"before\r\n")
        for path in one.recordings.iterdir():
            path.unlink()
        one.die()
        one.show(b"after\r\n")
        now = one.screen(time.monotonic_ns())

        assert now.text.splitlines() == ["before", "after"]
        assert now.problem == "what was shown before was not recorded"
        assert any(isinstance(noted, RecordingGap) for noted in one.noted)

    played(tmp_path, story)


def test_a_full_screen_program_is_left_behind_with_a_doubt(tmp_path: Path) -> None:
    """
    A segment that began within it does not know what stood under it, and says so.
    """

    async def story(one: Recorded) -> None:
        one.show(b"under\r\n\x1b[?1049h\x1b[2J\x1b[Heditor")
        one.die()
        within = one.screen(time.monotonic_ns())
        one.show(b"\x1b[?1049lback\r\n")
        after = one.screen(time.monotonic_ns())

        assert (within.text, within.alternate_screen, within.problem) == ("editor", True, None)
        assert "is not known" in str(after.problem)

    played(tmp_path, story)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), "segment 1 is gone"),
        (lambda path: path.write_bytes(changed(path)), "it is not what was recorded"),
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "segment 1"),
        (lambda path: path.write_bytes(gzip.compress(b"{}\n")), "bytes are missing"),
        (lambda path: path.write_bytes(longer(path)), "something was added"),
    ],
    ids=["removed", "changed", "cut", "emptied", "longer"],
)
def test_damage_of_a_recording_is_named(
    tmp_path: Path, damage: Callable[[Path], object], said: str
) -> None:
    """
    The journal knows every segment: one that is gone, changed, cut or longer shows.
    """

    async def story(one: Recorded) -> None:
        one.show(b"hello\r\n")
        one.notice(exited())
        damage(one.recordings / one.names[0])

        assert said in str(one.problem())

    played(tmp_path, story)


def changed(path: Path) -> bytes:
    """Return a segment with another text."""
    return gzip.compress(gzip.decompress(path.read_bytes()).replace(b"hello", b"jello"))


def longer(path: Path) -> bytes:
    """Return a segment with another line."""
    return gzip.compress(gzip.decompress(path.read_bytes()) + b'[0.1,"o","more"]\n')


@pytest.mark.parametrize(
    "left", sorted(FORMATS.glob("*/recorded")), ids=lambda one: one.parent.name
)
def test_lif_11_past_screens_of_earlier_builds_are_drawn(left: Path) -> None:
    """
    What an earlier build recorded can still be seen.
    """
    (place,) = [
        path.parent for path in left.rglob("*.gz") if b"hello" in gzip.decompress(path.read_bytes())
    ]
    wanted = Wanted(
        name="work",
        instance=place.name,
        directory=str(place),
        monotonic_ns=1 << 62,
        time=None,
        form="text",
    )

    assert past_screen(wanted, []).text.splitlines()[:2] == ["$ echo hello", "hello"]
