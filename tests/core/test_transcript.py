import contextlib
import random
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.transcript import Transcript
from agent_pty.emulator import Emulator

PIECES = (
    "abc", "é", "漢字", "e\u0301", "\u0301", "\t", "   ", "\n", "\r\n", "\r\r\n", "\r", "\b",
    "\b\b", "\x00", "\x07", "\x0b", "\x7f", "\x85", "\x1b", "\x18", "\x1b[m", "\x1b[1;31m",
    "\x1b[0m", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[3C", "\x1b[2D", "\x1b[4G", "\x1b[2`",
    "\x1b[2P", "\x1b[2X", "\x1b[2@", "\x1b[H", "\x1b[2J", "\x1b[J", "\x1b[1J", "\x1b[A", "\x1b[2B",
    "\x1b[S", "\x1b[3b", "\x1bM", "\x1bD", "\x1bE", "\x1bc", "\x1b7", "\x1b8", "\x1b(B", "\x1bNx",
    "\x1b=", "\x1b[?25l", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?1;47h", "\x1b[?1047l", "\x1b[>4;2m",
    "\x1b[?1u", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1bPq#0\x1b\\", "\x1b_apc\x1b\\",
    "\x1b[" + "1" * 40 + "K", "\x1b]", "\x1b[12", "\x1bP", "\x1b(0", "\x1b)0", "\x1b)B", "\x1b(",
    "lqk", "\x0e", "\x0f", "\x1b[4h", "\x1b[4l",
)  # fmt: skip
STREAMS = st.lists(
    st.one_of(st.sampled_from(PIECES).map(str.encode), st.binary(max_size=6)), max_size=30
).map(b"".join)
COLS = st.sampled_from((1, 2, 3, 5, 9, 20, 80))


def read(data: bytes, *, cols: int = 80) -> bytes:
    """Read a whole stream: what was committed and what is pending."""
    transcript = Transcript(cols=cols)
    return transcript.feed(data) + transcript.pending


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"one\r\ntwo\n", b"one\ntwo\n"),
        (b"one\r\r\r\ntwo", b"one\ntwo"),
        (b"\r\n\r\n  indented\r\n\r\n", b"\n\n  indented\n\n"),
        (b"a\tb  \t \r\n", b"a\tb  \t \n"),
        (b" 10%\r 50%\r100%\r\ndone\r\n", b"100%\ndone\n"),
        (b"fetching 10 files\rdone\x1b[K\r\n", b"done\n"),
        (b"long text\rshort", b"shorttext"),
        (b"ab\b\bcd\be", b"ce"),
        (b"_\bx_\by", b"xy"),
        (b"\b\bab", b"ab"),
        (b"abcdef\x1b[3D\x1b[K", b"abc"),
        (b"abcdef\x1b[3D\x1b[0K", b"abc"),
        (b"abcdef\x1b[3D\x1b[1K", b"    ef"),
        (b"abcdef\x1b[2Kx", b"      x"),
        (b"abcdef\r\x1b[2Kx", b"x"),
        (b"ab\x1b[3Cc", b"ab   c"),
        (b"ab\x1b[3C\n", b"ab\n"),
        (b"abcdef\x1b[2Gx\x1b[4`y", b"axcyef"),
        (b"abcdef\x1b[2G\x1b[2P", b"adef"),
        (b"abcdef\x1b[2G\x1b[2X", b"a  def"),
        (b"abcdef\x1b[2G\x1b[2@", b"a  bcdef"),
        (b"abcdef\x1b[2G\x1b[99X", b"a"),
        (b"\x1b[1;31mred\x1b[0m and \x1b[38:2:1:2:3mtrue\x1b[m\n", b"red and true\n"),
        (b"\x1b[01;31m\x1b[Kmatch\x1b[m\x1b[K rest\n", b"match rest\n"),
        (b"a\x1b]0;title\x07b\x1b]2;title\x1b\\c", b"abc"),
        (b"\x1b]8;;http://x.org\x1b\\link\x1b]8;;\x1b\\!", b"link!"),
        (b"a\x1bPq#0;1\x1b\\b\x1b_apc\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", b"abcde"),
        (b"a\x1b(Bb\x1b)0c\x1b=d\x1b>e\x1b7f\x1b#3g", b"abcdefg"),
        (b"\x1bNa\x1bOb", b"ab"),
        (b"a\x00b\x07c\x7fd\x0ee\x1a", b"abcde"),
        (b"a\xc2\x85b\xc2\x9b1mc", b"ab1mc"),
        (b"a\x0bb\x0cc", b"a\nb\nc"),
        (b"a\x1bDb\x1bEc", b"a\nb\nc"),
        (b"\xff\xe2\x82x\xc0\xaf", "\ufffd\ufffdx\ufffd\ufffd".encode()),
        (b"\xe2\x82\x07\xac", "\ufffd\ufffd".encode()),
        (b"\xe2\x82\x1b[m\xac", "\ufffd\ufffd".encode()),
        (b"\x1b[?25l\x1b[?2004hx\x1b[>4;1m\x1b[6n\x1b[!p\x1b[2 q", b"x"),
        (b"a\x1b[3\x1b[mb", b"ab"),
        (b"a\x1b[3\x18b\x1b\x1b[mc", b"abc"),
        (b"a\x1b]0;cut\x18b", b"ab"),
        (b"text\x1b[H\x1b[2Jmore", b"text\nmore"),
        (b"\x1b[H\x1b[2J\x1b[3Jmore", b"more"),
        (b"a\x1b[Ab\x1b[2Bc\x1b[5;5Hd\x1b[3de\x1bMf\x1b8g", b"a\nb\nc\nd\ne\nf\ng"),
        (b"$ old\r\x1b[J$ new", b"$ new"),
        (b"a\x1b[?1049h\x1b[Hvim\n\x1b[?1049lb", b"ab"),
        (b"a\x1b[?47hx\x1b[?47lb\x1b[?1;1047hy\x1b[?1047lc\x1b[?1049hz\x1bcd", b"abcd"),
        ("漢字\b\b".encode() + b"xy", "漢xy".encode()),
        ("漢字\b".encode() + b"x", "漢 x".encode()),
        ("e\u0301\bo".encode(), b"o"),
        (b"a\tb\rx", b"x\tb"),
        (b"a\tb\r123", b"123     b"),
        (b"a\tb\rc\td", b"c\td"),
    ],
)
def test_output_becomes_the_text_it_leaves_behind(written: bytes, text: bytes) -> None:
    """
    Escapes and controls vanish, edits are applied within their line, everything else is kept.
    """
    assert read(written) == text


def test_an_unfinished_line_is_pending() -> None:
    """
    Only a line end commits; until then the line is shown as pending and counted nowhere.
    """
    transcript = Transcript(cols=80)

    assert transcript.feed(b"abc") == b""
    assert (transcript.pending, transcript.committed) == (b"abc", 0)
    assert transcript.feed(b"d\r\ne") == b"abcd\n"
    assert (transcript.pending, transcript.committed) == (b"e", 5)


def test_readline_wraps_a_long_command_line_without_a_trace() -> None:
    """
    A full row, a blank and a return force a wrap; the echoed command line comes out whole.
    """
    first, second, third = "a" * 80, "b" * 80, "tail"

    assert read(f"{first} \r{second} \r{third}\r\n".encode()) == b"%b\n" % (
        (first + second + third).encode()
    )


def test_readline_ends_a_line_that_fills_its_row() -> None:
    """
    It goes back up from the row it had forced, and writes the last character again.
    """
    echoed = b"a" * 80 + b" \r\x1b[K\x1b[A\x1b[79C\x1b[Ka\r\nnext"

    assert read(echoed) == b"a" * 80 + b"\nnext"
    assert read(echoed.replace(b"\r\x1b[K", b"\r")) == b"a" * 80 + b"\nnext"


def test_going_up_and_down_within_a_wrapped_line_does_not_leave_it() -> None:
    """
    An editor that goes to another row of its line changes it there; a line feed goes down first.
    """
    assert read(b"abcdefgh\x1b[A\rx\nye\nz", cols=4) == b"xbcdyegh\nz"
    assert read(b"abcdef\x1b[A\x1b[Kz\x1b[B!", cols=4) == b"abz ef !"
    assert read(b"abcdefgh\x1b[3Ax", cols=4) == b"abcdefgh\nx"


def test_a_return_after_a_full_row_stays_on_it() -> None:
    """
    The cursor wraps with the next character, not with the last of a row.
    """
    assert read(b"abcd\rxy", cols=4) == b"xycd"
    assert read(b"abcde\rxy", cols=4) == b"abcdxy"
    assert read(b"abcde\b\b\bx", cols=4) == b"abcdx"


def test_a_wide_character_that_does_not_fit_starts_the_next_row() -> None:
    """
    The cell left free is no text, but the return that follows goes to the wide character.
    """
    assert read("abc漢\rx".encode(), cols=4) == b"abcx "
    assert read("abc漢\n".encode(), cols=4) == "abc漢\n".encode()


def test_a_new_width_holds_from_then_on() -> None:
    """
    After a resize the rows of the pending line are counted with the new width.
    """
    transcript = Transcript(cols=80)
    transcript.feed(b"abcdef")
    transcript.resize(cols=4)

    transcript.feed(b"\rx")

    assert transcript.pending == b"abcdxf"
    with pytest.raises(ValueError, match="cols must be"):
        transcript.resize(cols=0)


def test_the_alternate_screen_is_left_out_and_announced() -> None:
    """
    What a full-screen program draws is no text; the line before it goes on afterwards.
    """
    transcript = Transcript(cols=80)

    transcript.feed(b"$ \x1b[?1049h\x1b[2;2Hhello\r\n")
    assert transcript.alternate
    assert transcript.pending == b"$ "
    transcript.feed(b"bye\r\n\x1b[?1049ldone")

    assert not transcript.alternate
    assert transcript.pending == b"$ done"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"\x1b(0lqqk\x1b(B lq", "┌──┐ lq"),
        (b"x\x1b(0x\x1b[31mx\x1b[m\x1b(Bx", "x││x"),
        (b"\x1b(0lk\r\nmj\x1b(B", "┌┐\n└┘"),
        (b"\x1b(0tqu\b\b\x1b(Bx", "├x┤"),
        (b"\x1b)0lq\x0elq\x0flq", "lq┌─lq"),
        (b"\x1b)0\x0elq\x1b)Blq\x0f", "┌─lq"),
        (b"\x1b(0lq\x1bclq", "┌─\nlq"),
        (b"\x0elq\x1b(Alq\x1b((0lq\x1b*0lq", "lqlqlqlq"),
        (b"\x1b(0A_^ 1\tq\xc3\xa9", "A_^ 1\t─é"),
        (b"\x1b[?1049h\x1b(0lq\x1b[?1049llq", "lq"),
    ],
)
def test_trial_13_line_drawing_is_read_as_lines(written: bytes, text: str) -> None:
    """
    While the special graphics set is chosen, small letters stand for lines and corners.
    """
    assert read(written) == text.encode()


def test_trial_13_line_drawing_is_that_of_the_screen() -> None:
    """
    Transcript and screen show the same character for each code.
    """
    codes = b"\x1b(0" + bytes(range(0x21, 0x7F)) + b"\x1b(B"
    with contextlib.closing(Emulator(rows=2, cols=100)) as emulator:
        emulator.feed(codes)

        assert read(codes, cols=100).decode() == emulator.text()


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"abc\r\x1b[4hXY\x1b[4lZ", "XYZbc"),
        (b"abc\x1b[4h\x1b[2GXY", "aXYbc"),
        (b"\x1b[4habc\r\nabc\rX", "abc\nXabc"),
        (b"abc\x1b[2;4;9h\rX\x1b[?4lY\x1b[20;4lZ", "XYZbc"),
        ("a漢\r\x1b[4h字".encode(), "字a漢"),
        ("ab\b\x1b[4h\u0301e".encode(), "a\u0301eb"),
        (b"abc\r\x1b[4h\x1bcabc\rX", "abc\nXbc"),
    ],
)
def test_trial_13_insert_mode_moves_the_rest_of_the_line(written: bytes, text: str) -> None:
    """
    In insert mode what is written moves the text after it to the right.
    """
    assert read(written) == text.encode()


def test_trial_13_insert_mode_stays_within_the_screen_row() -> None:
    """
    What leaves the row is gone, as on the screen; rows below stay, and a full row wraps first.
    """
    assert read(b"abcdefgh\x1b[A\x1b[2G\x1b[4hXY", cols=4) == b"aXYbefgh"
    assert read(b"abcdefgh\x1b[A\x1b[4G\x1b[4hXY", cols=4) == b"abcXYefg"


def test_trial_13_a_prompt_ends_what_was_left_set() -> None:
    """
    A program that is killed cannot restore character set and mode; they end with its cell.
    """
    transcript = Transcript(cols=80)
    transcript.feed(b"\x1b(0\x1b)0\x0e\x1b[4h")

    transcript.at_prompt()
    transcript.feed(b"lq\rX")

    assert transcript.pending == b"Xq"


def test_trial_13_a_state_without_modes_is_read() -> None:
    """
    Earlier builds saved no character set and no insert mode: none was set.
    """
    saved = bytes.fromhex("9692c400c4009650c400c2945092a161a17802c2c400c2930000c4000400c2")

    transcript = Transcript.restore(b"transcript-1\n" + saved)

    assert (transcript.pending, transcript.committed) == (b"ax", 4)
    assert transcript.feed(b"lq\rX\n") == b"Xxlq\n"


def test_trial_02_a_prompt_ends_the_alternate_screen() -> None:
    """
    A program that was killed leaves it set: text counts again from the shell's prompt on.
    """
    transcript = Transcript(cols=80)
    transcript.feed(b"$ less\r\n\x1b[?1049h\x1b[2;2Hpage")
    drawn = transcript.drawn

    transcript.at_prompt()
    transcript.feed(b"$ ")

    assert (transcript.alternate, transcript.pending) == (False, b"$ ")
    assert transcript.drawn == drawn + 1
    transcript.at_prompt()
    assert transcript.drawn == drawn + 1


@pytest.mark.parametrize(
    ("written", "drawn"),
    [
        (b"text\r\n\x1b[1mbold\x1b[K\r50%\x1b[3D\x1b[2Cx\x1b[?25l\x1b]0;t\x07", 0),
        (b"\x1b[H", 1),
        (b"\x1b[J\x1b[2J\x1b[A\x1b[B\x1b[5d\x1b[2S\x1bM\x1b8\x1b[2;9r\x1b[3b", 8),
        (b"\x1b[1G\x1b[0Jversion: (1.0.0) \x1b[18G", 0),
        (b"\x1b[?1049h\x1b[H\x1b[Kx\x1b[2J\x1b[?1049l", 4),
        (b"\x1b[?1049l", 0),
    ],
)
def test_drawing_is_counted(written: bytes, drawn: int) -> None:
    """
    Controls that leave the line are counted, what a line editor does in its line is not.
    """
    transcript = Transcript(cols=80)
    transcript.feed(written)

    assert transcript.drawn == drawn


@pytest.mark.parametrize("unit", ["x", "漢字é", "a\t"])
def test_an_endless_line_comes_out_exact_in_bounded_space(unit: str) -> None:
    """
    A line of a megabyte is committed piece by piece, and nothing of it is lost.
    """
    line = unit.encode() * (1_000_000 // len(unit.encode()))
    transcript = Transcript(cols=80)
    committed = b""

    for start in range(0, len(line), 60_001):
        committed += transcript.feed(line[start : start + 60_001])
        assert len(transcript.pending) < 128 * 1024
    assert committed
    committed += transcript.feed(b"\r\n")

    assert committed == line + b"\n"


def test_an_endless_edited_line_stays_bounded() -> None:
    """
    Edits reach the part that is still pending; what was committed stays as it was.
    """
    transcript = Transcript(cols=80)
    transcript.feed(b"abc\b")
    committed = transcript.feed(b"d" * 200_000)
    assert len(transcript.pending) < 128 * 1024

    committed += transcript.feed(b"\r\x1b[Kend\r\n")

    assert committed == b"ab" + b"d" * (200_002 // 80 * 80 - 2) + b"end\n"


@pytest.mark.parametrize("start", [b"\x1b]0;", b"\x1bP", b"\x1b_", b"\x1b[", b"\x1b("])
def test_unfinished_controls_need_no_memory(start: bytes) -> None:
    """
    Neither an endless string nor endless parameters pile up.
    """
    filler = {b"\x1b[": b"1", b"\x1b(": b"("}.get(start, b"x") * 60_000
    transcript = Transcript(cols=80)
    transcript.feed(start)
    transcript.feed(filler)
    tracemalloc.start()

    for _ in range(20):
        transcript.feed(filler)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert kept < 1000
    assert len(transcript.state()) < 100


def test_an_endless_string_ends_where_it_ends() -> None:
    """
    Text goes on after the terminator of a string of any length.
    """
    transcript = Transcript(cols=80)
    for part in (b"a\x1b]0;", b"x" * 100_000, b"\n" * 1000, b"\x1b", b"\\b"):
        transcript.feed(part)

    assert (transcript.pending, transcript.committed) == (b"ab", 0)


@given(data=STREAMS, cols=COLS, cuts=st.lists(st.integers(0, 120), max_size=8))
def test_any_split_gives_the_same(data: bytes, cols: int, cuts: list[int]) -> None:
    """
    However the bytes are split, text and state are the same.
    """
    whole, split = Transcript(cols=cols), Transcript(cols=cols)

    committed = whole.feed(data)
    pieces = b"".join(
        split.feed(data[start:end]) for start, end in pairwise([0, *sorted(cuts), len(data) + 120])
    )

    assert pieces == committed
    assert split.state() == whole.state()


def test_an_over_long_line_is_cut_alike_however_it_is_split() -> None:
    """
    Where a line is cut depends on the stream, so that edits reach as far in every split.
    """
    line = "漢é\tx".encode() * 30_000 + b"\rback\x1b[K" + b"y" * 150_000 + b"\r\x1b[2Kz"
    rng = random.Random(5)  # noqa: S311 # not for secrets
    results = set()

    for size in (1 << 20, 65536, 4096, 777):
        transcript = Transcript(cols=80)
        pieces = []
        start = 0
        while start < len(line):
            step = rng.randint(1, size)
            pieces.append(transcript.feed(line[start : start + step]))
            start += step
        results.add((b"".join(pieces), transcript.state()))

    assert len(results) == 1


@given(data=STREAMS, cols=COLS, cut=st.integers(0, 120))
def test_a_restored_transcript_goes_on_as_if_nothing_happened(
    data: bytes, cols: int, cut: int
) -> None:
    """
    State taken anywhere, even inside a character, gives the same future.
    """
    kept = Transcript(cols=cols)
    kept.feed(data[:cut])
    kept.observe()
    restored = Transcript.restore(kept.state())

    assert restored.pending == kept.pending
    assert restored.feed(data[cut:]) == kept.feed(data[cut:])
    assert restored.state() == kept.state()
    assert (restored.committed, restored.drawn) == (kept.committed, kept.drawn)
    assert (restored.alternate, restored.intact) == (kept.alternate, kept.intact)


@pytest.mark.parametrize(
    "state", [b"", b"transcript-0\n", b"transcript-1\n", b"transcript-1\n\x90"]
)
def test_a_foreign_state_is_refused(state: bytes) -> None:
    """
    Another version's state, or half of one, is an error and never a guess.
    """
    with pytest.raises(ValueError, match="transcript state"):
        Transcript.restore(state)


@pytest.mark.parametrize(
    ("seen", "later", "intact"),
    [
        (b"$ ", b"ls", 2),
        (b"$ ", b"ls\r\nfile\r\n$ ", 2),
        (b"abc", b"\r\n", 3),
        (b"10%", b"\r50%", 0),
        (b"10%", b"\r50%\r\nnext", 0),
        (b"at 10%", b"\rat 50%", 3),
        (b"at 10%", b"\rat 10%\r\n", 6),
        (b"abc", b"\b\x1b[K", 2),
        (b"abc", b"\b\x1b[K\r\nabc", 2),
        (b"", b"abc", 0),
        (b"abc", b"x" * 300_000, 3),
        (b"a" * 100_000, b"a" * 100_000 + b"\r\n", 100_000),
    ],
)
def test_a_reader_learns_what_of_the_line_it_saw_still_stands(
    seen: bytes, later: bytes, intact: int
) -> None:
    """
    A continued line is intact, a rewritten one up to the first difference, committed or not.
    """
    transcript = Transcript(cols=80)
    transcript.feed(seen)
    transcript.observe()

    transcript.feed(later)

    assert transcript.intact == intact
    assert transcript.superseded == (intact < len(seen))


def test_random_bytes_never_raise() -> None:
    """
    Whatever a program writes, it is read.
    """
    rng = random.Random(7)  # noqa: S311 # not for secrets
    transcript = Transcript(cols=13)

    total = sum(len(transcript.feed(rng.randbytes(rng.randint(0, 5000)))) for _ in range(200))

    assert total == transcript.committed
