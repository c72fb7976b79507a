from __future__ import annotations

import itertools
import json
import tracemalloc
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_pty.core.safe import QUIET, Allowed, SafeOutput, one_line, safe_json
from agent_pty.emulator import Bell, CwdChanged, Emulator, Progress, Style
from support.harmful import HARMFUL, harms

ST = b"\x1b\\"
BEL = b"\x07"
# Longer than the longest string and the longest control sequence that the filter keeps.
LONG = 10_000

PASSES = {
    "text": b"plain, \xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80 text\r\n\ttab\b",
    "bell": BEL,
    "colours": b"\x1b[1;31mred\x1b[38;2;1;2;3m\x1b[4:3m\x1b[48;5;9m\x1b[0m\x1b[m",
    "cursor": b"\x1b[H\x1b[3;4H\x1b[2A\x1b[B\x1b[5C\x1b[D\x1b[7G\x1b[8d\x1b[s\x1b[u\x1b7\x1b8",
    "erasing": b"\x1b[2J\x1b[K\x1b[1K\x1b[?2K\x1b[3X\x1b[2P\x1b[L\x1b[M\x1b[4@",
    "scrolling": b"\x1b[2;20r\x1b[3S\x1b[2T\x1bM\x1bD\x1bE",
    "alternate screen": b"\x1b[?1049h\x1b[?1049l\x1b[?47h",
    "cursor shape": b"\x1b[?25l\x1b[?25h\x1b[5 q\x1b[ q",
    "mouse": b"\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?1004h",
    "keys": b"\x1b[?1h\x1b=\x1b[?2004h\x1b>",
    "line drawing": b"\x1b(0lqk\x1b(B\x0e\x0f\x1b)0",
    "insert mode": b"\x1b[4h\x1b[4l",
    "soft reset": b"\x1b[!p",
    "link": b"\x1b]8;id=1;https://example.org/x\x1b\\here\x1b]8;;\x1b\\",
    "mail": b"\x1b]8;;mailto:a@example.org\x1b\\",
}
# Bytes that build sequences are likely, so that sequences are.
PIECES = st.lists(
    st.one_of(
        st.sampled_from([*PASSES.values(), *HARMFUL.values()]),
        st.sampled_from(
            [bytes([each]) for each in b"\x1b[]PX^_\\\x07\x18\x1a?;:>=<$!0129 cnmthlqpuRZx"]
        ),
        st.sampled_from(
            [b"\xc2", b"\x9b", b"\x9c", b"\x9d", b"\x90", b"\xe4\xb8", b"\xad", b"\xff"]
        ),
        st.binary(max_size=6),
    ),
    max_size=30,
).map(b"".join)


def filtered(data: bytes, allowed: Allowed | None = None) -> bytes:
    """Return what passes of *data*, given in one piece."""
    return SafeOutput(allowed).feed(data)


@pytest.mark.parametrize("name", PASSES)
def test_what_a_screen_needs_passes_as_it_is(name: str) -> None:
    """
    Text, colours, cursor movement and the modes of full-screen programs pass unchanged.
    """
    assert filtered(PASSES[name]) == PASSES[name]


@pytest.mark.parametrize("name", HARMFUL)
def test_trm_01_02_what_a_terminal_would_answer_or_obey_is_removed(name: str) -> None:
    """
    Queries, reports, clipboard, titles and all unknown is left out; the text around it stays.
    """
    assert filtered(b"before" + HARMFUL[name] + b"after") == b"beforeafter"


@pytest.mark.parametrize(
    ("given_bytes", "shown"),
    [
        (b"\x9b6n", b"\xef\xbf\xbd6n"),
        (b"\x9d52;c;QQ==\x07", b"\xef\xbf\xbd52;c;QQ==\x07"),
        (b"\xc2\x9b6n", b"6n"),
        (b"\xff\xfe ok", b"\xef\xbf\xbd\xef\xbf\xbd ok"),
    ],
    ids=["raw CSI", "raw OSC", "CSI as UTF-8", "invalid"],
)
def test_an_eight_bit_control_starts_nothing(given_bytes: bytes, shown: bytes) -> None:
    """
    A raw C1 byte is invalid UTF-8 and is shown as such; encoded as UTF-8 it is left out.
    """
    assert filtered(given_bytes) == shown


def test_of_several_modes_only_the_known_pass() -> None:
    """
    A list of modes loses the ones that are not on the list.
    """
    assert filtered(b"\x1b[?1049;3;2004h") == b"\x1b[?1049;2004h"


def test_the_text_of_a_bad_link_stays() -> None:
    """
    A link to a script is dropped, the words it was on are not.
    """
    linked = b"see \x1b]8;;javascript:alert(1)\x1b\\this\x1b]8;;\x1b\\ now"

    assert filtered(linked) == b"see this\x1b]8;;\x1b\\ now"


def test_a_link_with_a_control_or_without_measure_is_dropped() -> None:
    """
    What would not fit on one line of printable characters is no link.
    """
    assert filtered(b"\x1b]8;;https://a/\x01\x1b\\x") == b"x"
    assert filtered(b"\x1b]8;;https://a/" + b"x" * 3000 + b"\x1b\\x") == b"x"


@pytest.mark.parametrize(
    "interrupted",
    [
        b"\x1b]0;title",
        b"\x1b]0;" + b"x" * LONG,
        b"\x1bPdevice",
        b"\x1b_graphics",
        b"\x1b[12;",
    ],
    ids=["OSC", "long OSC", "DCS", "APC", "CSI"],
)
def test_an_unfinished_sequence_does_not_swallow_the_next(interrupted: bytes) -> None:
    """
    As in a terminal, an escape ends what came before it: the screen stays usable.
    """
    assert filtered(interrupted + b"\x1b[31mred").endswith(b"\x1b[31mred")


@pytest.mark.parametrize("end", [BEL, ST, b"\xc2\x9c", b"\x18", b"\x1a"])
@pytest.mark.parametrize("length", [3, LONG])
def test_every_end_of_a_string_is_known(end: bytes, length: int) -> None:
    """
    After its end, also one that aborts it, text is shown again, wherever the bytes were split.
    """
    data = b"\x1b]0;" + b"x" * length + end + b"after"
    for cut in (len(data) - 7, len(data) - 6, len(data) - 5):
        stream = SafeOutput()

        assert stream.feed(data[:cut]) + stream.feed(data[cut:]) == b"after"


def test_a_mode_of_any_number_of_digits_is_no_number() -> None:
    """
    Python refuses to read very long numbers: such a sequence becomes text, not an exception.
    """
    assert b"\x1b" not in filtered(b"\x1b[?" + b"9" * LONG + b"h")


def test_trm_06_a_string_without_end_costs_no_memory() -> None:
    """
    A hundred megabytes of an OSC that never ends are dropped while they arrive.
    """
    stream = SafeOutput()
    stream.feed(b"\x1b]52;c;")
    piece = b"QUFB" * 16_384
    tracemalloc.start()
    try:
        for _ in range(100 * 1024 * 1024 // len(piece)):
            assert stream.feed(piece) == b""
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 1024 * 1024
    assert stream.feed(b"\x07shown") == b"shown"


def test_the_title_passes_if_asked_for() -> None:
    """
    With the flag the three title commands pass, printable and properly ended.
    """
    asked = Allowed(title=True)

    assert filtered(b"\x1b]0;a\x01b\x07", asked) == b"\x1b]0;ab\x1b\\"
    assert filtered(b"\x1b]1;a\x07\x1b]2;b\x07", asked) == b"\x1b]1;a\x1b\\\x1b]2;b\x1b\\"
    assert filtered(b"\x1b[21t\x1b]52;c;QQ==\x07", asked) == b""


def test_the_clipboard_is_written_if_asked_for_and_never_read() -> None:
    """
    With the flag a clipboard is set; the question for its content never passes.
    """
    asked = Allowed(clipboard=True)

    assert filtered(b"\x1b]52;c;QQ==\x07", asked) == b"\x1b]52;c;QQ==\x1b\\"
    assert filtered(b"\x1b]52;c;?\x07\x1b]52;;?\x07\x1b]0;x\x07", asked) == b""


@settings(deadline=None)
@given(data=PIECES, cuts=st.lists(st.integers(0, 200), max_size=8))
@example(data=b"\x1b]0;" + b"x" * LONG + b"\x1b\\after", cuts=[LONG + 5])
@example(data=b"\x1b[" + b"1;" * LONG + b"mafter", cuts=[5000])
def test_bytes_may_be_split_anywhere(data: bytes, cuts: list[int]) -> None:
    """
    Any split gives the same bytes as none.
    """
    stream, whole = SafeOutput(), SafeOutput()
    borders = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]

    pieces = [stream.feed(data[a:b]) for a, b in itertools.pairwise(borders)]

    assert b"".join(pieces) == whole.feed(data)


@settings(deadline=None)
@given(data=PIECES)
def test_nothing_harmful_passes(data: bytes) -> None:
    """
    Of whatever bytes, what passes is quiet by a second parser's judgement too.
    """
    assert harms(filtered(data)) == []


# What a reset forgets; nothing of the program's passes with that.
FORGOTTEN = (CwdChanged(cwd=None), Progress(state="remove", percent=None))


@settings(deadline=None)
@given(data=PIECES)
@example(data=b"\x1bc")
def test_no_terminal_answers(data: bytes) -> None:
    """
    A real terminal emulator, shown what passes, has nothing to say, to set or to copy.
    """
    screen = Emulator(rows=5, cols=20)

    screen.feed(filtered(data))

    assert screen.take_replies() == b""
    events = [each for each in screen.take_events() if each not in FORGOTTEN]
    assert all(isinstance(each, Bell) for each in events)
    assert screen.title == ""


@pytest.mark.parametrize("name", HARMFUL)
def test_the_second_parser_sees_the_harm(name: str) -> None:
    """
    The judge of these tests condemns each thing that must be removed.
    """
    assert harms(HARMFUL[name])


def test_quiet_takes_back_all_that_passes() -> None:
    """
    After it a terminal is as if new, but for what stands on it and where the cursor is.
    """
    screen, fresh = Emulator(rows=10, cols=40), Emulator(rows=10, cols=40)
    switched = b"\x1b[?1;5;6;25l\x1b[?1;5;12;66;1003;1006;1004;2004;2026h\x1b=\x1b[4;20h\x1b(0"
    screen.feed(filtered(switched + b"\x1b[?7l\x1b[3;5r\x1b[31m\x1b[4 q"))
    screen.feed(filtered(b"\x1b]8;;https://a/\x1b\\\x1b[4;7Hq"))

    screen.feed(QUIET)

    assert (screen.cursor.row, screen.cursor.col) == (3, 7)
    assert screen.modes() == fresh.modes()
    screen.feed(b"q\x1b[Hx")
    assert screen.lines()[:4] == ["x", "", "", "      \u2500q"]
    last = screen.styled()[3][-1]
    assert (last.text, last.style, last.link) == ("q", Style(), None)


def test_quiet_leaves_the_alternate_screen_only_if_there_is_one() -> None:
    """
    Back on the first screen the cursor is where it was; who never left it stays put.
    """
    here, away = Emulator(rows=10, cols=40), Emulator(rows=10, cols=40)
    here.feed(b"one\r\ntwo")
    away.feed(b"one\r\ntwo\x1b[?1049h\x1b[9;9Hvim")

    here.feed(QUIET + b"!")
    away.feed(QUIET + b"!")

    assert here.text() == away.text() == "one\ntwo!"


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b"\x1b[?1049h", b""),
        (b"\x1b[?47l", b""),
        (b"\x1bc", b""),
        (b"\x1b[?25;1049;1047h", b"\x1b[?25h"),
    ],
)
def test_trial_25_screens_are_not_switched_where_that_is_not_allowed(
    data: bytes, kept: bytes
) -> None:
    """
    The switch is left out and reported once, also if it comes byte by byte.
    """
    filtered = SafeOutput(Allowed(screens=False))

    passed = b"".join(filtered.feed(bytes([byte])) for byte in b"a" + data + b"b")

    assert passed == b"a" + kept + b"b"
    assert [filtered.take_switched(), filtered.take_switched()] == [True, False]
    assert SafeOutput().feed(data) == data
    assert filtered.feed(b"\x1b[?25l\x1b[2J\x1b7") == b"\x1b[?25l\x1b[2J\x1b7"
    assert not filtered.take_switched()


def test_trial_17_controls_are_shown_as_text() -> None:
    """
    Each control but the tab is replaced by its escape; everything else stays.
    """
    family = "\u00a0é漢👨\u200d👩"

    assert (
        one_line(f"a\x1b[2J\x9b1m\x7f\r\n\tb{family}") == rf"a\x1b[2J\x9b1m\x7f\r\n" f"\tb{family}"
    )


@given(text=st.text())
@example(text="é\x9b1m\x7f")
@example(text="\x7f")
def test_trial_17_json_keeps_its_value_and_loses_its_controls(text: str) -> None:
    """
    What is read from it is the same text.
    """
    written = safe_json(json.dumps(text, ensure_ascii=False))

    assert json.loads(written) == text
    assert all(unicodedata.category(one) != "Cc" for one in written)
