"""Pictures as SVG, compared by what stands where."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.emulator import Cursor, Emulator, Run, Style
from agent_pty.emulator.box import Rect, Shape, shape
from agent_pty.emulator.cluster import clusters
from agent_pty.emulator.cursor import CursorStyle
from agent_pty.emulator.palette import DEFAULT
from agent_pty.emulator.picture import Screen
from agent_pty.emulator.svg import svg, svg_of

CAPTURED = Path(__file__).parents[1] / "captured"
WIDTH, HEIGHT, BASELINE = 9, 18, 14
GREY, BLACK = "#d0d0d0", "#000000"
RED, GREEN, YELLOW = "#d62c2c", "#1a8440", "#a07400"
BOLD_GREEN = "#4fd36a"
HIDE_CURSOR = b"\x1b[?25l"


def picture(data: bytes, *, rows: int = 4, cols: int = 40) -> ET.Element:
    """Parse the picture of a terminal after *data*."""
    emulator = Emulator(rows=rows, cols=cols)
    emulator.feed(data)
    return ET.fromstring(svg(emulator))  # noqa: S314 - our own


def captured(name: str) -> ET.Element:
    """Parse the picture of a recording."""
    return picture((CAPTURED / f"{name}.bytes").read_bytes(), rows=24, cols=80)


def elements(root: ET.Element, tag: str) -> list[ET.Element]:
    """List the elements of one kind, in order."""
    return list(root.iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def words(root: ET.Element) -> dict[tuple[int, int], tuple[str | None, str | None]]:
    """Map row and column to the text there and its colour."""
    return {
        (
            (int(each.attrib["y"]) - BASELINE) // HEIGHT,
            int(each.attrib["x"]) // WIDTH,
        ): (each.text, each.get("fill"))
        for each in elements(root, "text")
    }


def rects(root: ET.Element) -> list[tuple[int, int, int, int, str | None]]:
    """List x, y, width, height and colour of the rectangles over the ground."""
    return [
        (*(int(each.attrib[key]) for key in ("x", "y", "width", "height")), each.get("fill"))  # type: ignore[misc]  # four and one are five
        for each in elements(root, "rect")[1:]
    ]


def test_the_log_is_drawn_in_its_colours_at_its_columns() -> None:
    """
    Graph, hash, branch and CJK title of `git log --graph` stand where the terminal has them.
    """
    root = captured("git-log")
    found = words(root)

    assert (root.get("width"), root.get("height")) == ("720", "432")
    assert found[0, 4] == ("1f41836", YELLOW)
    assert found[0, 21] == ("main", BOLD_GREEN)
    assert found[1, 0] == ("|", RED)
    assert (found[2, 33], found[2, 35]) == (("物", GREY), ("語", GREY))
    assert found[2, 38] == ("(Ada", GREY)


def test_an_editor_keeps_its_layout() -> None:
    """
    Vim's line numbers, code, status line and cursor are all there.
    """
    root = captured("vim")
    found = words(root)

    assert found[3, 4] == ("def", "#fff07a")
    assert found[8, 2] == ("8", "#fff07a")
    assert found[23, 0][0] == "--"
    assert rects(root) == [(20 * WIDTH, 8 * HEIGHT, WIDTH, HEIGHT, GREY)]


def test_wide_characters_take_two_cells_each() -> None:
    """
    CJK and emoji are placed one by one, so that no font can move what follows.
    """
    root = picture("日本x👍y e\u0301".encode())
    lengths = {
        each.text: int(each.attrib["textLength"]) // WIDTH for each in elements(root, "text")
    }

    assert [(place[1], text) for place, (text, _) in words(root).items()] == [
        (0, "日"),
        (2, "本"),
        (4, "x"),
        (5, "👍"),
        (7, "y"),
        (9, "e\u0301"),
    ]
    assert lengths == {"日": 2, "本": 2, "x": 1, "👍": 2, "y": 1, "e\u0301": 1}


STYLES = {
    b"1": {"font-weight": "bold"},
    b"3": {"font-style": "italic"},
    b"2": {"fill": "#686868"},
    b"31": {"fill": RED},
    b"38;5;196": {"fill": "#ff0000"},
    b"38;2;1;2;3": {"fill": "#010203"},
    b"7": {"fill": BLACK},
}


@pytest.mark.parametrize(("code", "expected"), STYLES.items())
def test_styles_become_attributes(code: bytes, expected: dict[str, str]) -> None:
    """
    Weight, slant and every kind of colour are written at the text.
    """
    (text,) = elements(picture(b"\x1b[%bmab" % code), "text")

    assert {key: text.get(key) for key in expected} == expected


def test_backgrounds_of_one_colour_are_one_rectangle() -> None:
    """
    Runs that differ only in weight share a rectangle; the default ground has none.
    """
    root = picture(HIDE_CURSOR + b"  \x1b[41mab\x1b[1mcd\x1b[42me\x1b[0m f")

    assert rects(root) == [
        (2 * WIDTH, 0, 4 * WIDTH, HEIGHT, RED),
        (6 * WIDTH, 0, WIDTH, HEIGHT, GREEN),
    ]


def test_inverse_text_stands_on_its_own_colour() -> None:
    """
    Foreground and background change places.
    """
    root = picture(HIDE_CURSOR + b"\x1b[31;7mab")

    assert rects(root) == [(0, 0, 2 * WIDTH, HEIGHT, RED)]
    assert words(root)[0, 0] == ("ab", BLACK)


def test_lines_run_under_and_through_blanks_too() -> None:
    """
    Underline and strikethrough cover the whole run.
    """
    root = picture(HIDE_CURSOR + b"\x1b[4ma b\x1b[0m \x1b[9mc d")

    assert rects(root) == [
        (0, 16, 3 * WIDTH, 1, GREY),
        (4 * WIDTH, 9, 3 * WIDTH, 1, GREY),
    ]


def test_invisible_text_is_not_in_the_file() -> None:
    """
    What the screen hides must not be found by reading the picture; its ground stays.
    """
    root = picture(HIDE_CURSOR + b"\x1b[8;4;41msecret")

    assert elements(root, "text") == []
    assert rects(root) == [(0, 0, 6 * WIDTH, HEIGHT, RED)]


def with_cursor(style: CursorStyle, *, col: int = 0, visible: bool = True) -> ET.Element:
    """Draw a red letter, a wide character and a letter, without an emulator."""
    runs = [
        Run(col=0, width=1, text="a", style=Style(fg=1)),
        Run(col=1, width=3, text="日y", style=Style()),
    ]
    cursor = Cursor(
        row=0, col=col, visible=visible, pending_wrap=False, style=style, blinking=False
    )
    screen = Screen(rows=[runs], height=1, width=9, cursor=cursor)
    return ET.fromstring(svg_of(screen))  # noqa: S314 - our own


def test_a_block_cursor_exchanges_the_colours_of_its_cell() -> None:
    """
    On a letter, on both halves of a wide character, and beyond the text.
    """
    on_letter, beyond = with_cursor("block"), with_cursor("block", col=5)

    assert rects(on_letter) == [(0, 0, WIDTH, HEIGHT, RED)]
    assert words(on_letter)[0, 0] == ("a", BLACK)
    for half in (1, 2):
        assert rects(with_cursor("block", col=half)) == [(WIDTH, 0, 2 * WIDTH, HEIGHT, GREY)]
    assert rects(with_cursor("block", col=3)) == [(3 * WIDTH, 0, WIDTH, HEIGHT, GREY)]
    assert rects(beyond) == [(5 * WIDTH, 0, WIDTH, HEIGHT, GREY)]


def test_other_cursors_leave_the_letter_as_it_is() -> None:
    """
    A bar stands left, an underline below, a hollow one around; a hidden one is not there.
    """
    bar, underline = with_cursor("bar", col=1), with_cursor("underline", col=1)

    assert rects(bar) == [(WIDTH, 0, 2, HEIGHT, GREY)]
    assert rects(underline) == [(WIDTH, HEIGHT - 2, WIDTH, 2, GREY)]
    assert len(rects(with_cursor("hollow"))) == 4
    assert words(bar)[0, 0] == ("a", RED)
    assert rects(with_cursor("block", visible=False)) == []


HOSTILE = [
    "</text><script>alert(1)</script>",
    "&lt;script&gt; & &amp; ]]> <!-- -->",
    "\" onload='x' <?xml?> <!DOCTYPE a [<!ENTITY b 'c'>]>",
    "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07",
    "a\u202eb\u2066c\x7fd\u009be\ufffef\u2028g",
    "\x1b]0;<title>\x07\x1b[31;xm\x00\x01\x02",
    "e" + "\u0301" * 500,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_inert(text: str) -> None:
    """
    Whatever is on the screen, the file has three kinds of elements, no link and no control.
    """
    emulator = Emulator(rows=4, cols=80)
    emulator.feed(text.encode())
    document = svg(emulator)
    root = ET.fromstring(document)  # noqa: S314 - our own

    assert {each.tag.rpartition("}")[2] for each in root.iter()} <= {"svg", "rect", "text", "path"}
    assert not any(key.startswith("on") or "href" in key for e in root.iter() for key in e.attrib)
    assert "javascript" not in document
    assert "http" not in document.replace("http://www.w3.org/2000/svg", "", 1)
    assert all(char.isprintable() or char in "\n\u200d" for char in document)
    assert len(document) < 20_000


def test_text_that_looks_like_markup_is_still_text() -> None:
    """
    It is escaped, not dropped.
    """
    root = picture(b"</text><script>&amp;")

    assert words(root)[0, 0][0] == "</text><script>&amp;"


def test_the_same_screen_gives_the_same_file() -> None:
    """
    Two emulators fed the same bytes are drawn alike.
    """
    data = (CAPTURED / "less.bytes").read_bytes()
    drawn = []
    for _ in range(2):
        emulator = Emulator(rows=24, cols=80)
        emulator.feed(data)
        drawn.append(svg(emulator))

    assert drawn[0] == drawn[1]


def test_the_palette_is_the_emulators_own() -> None:
    """
    What a program is told about the colours is what the picture shows.
    """
    emulator = Emulator(rows=2, cols=2)
    for index in range(256):
        emulator.feed(b"\x1b]4;%d;?\x07" % index)
    emulator.feed(b"\x1b]10;?\x07\x1b]11;?\x07")

    told = emulator.take_replies().decode().split("\x07")[:-1]

    shown = [tuple(int(part[:2], 16) for part in each.split("rgb:")[1].split("/")) for each in told]
    assert shown == [*DEFAULT.colors, DEFAULT.foreground, DEFAULT.background]


PIECES = [
    "a",
    " ",
    "ж",
    "日",
    "한",
    "─",
    "נ",
    "👍",
    "👍🏽",
    "❤",
    "❤\ufe0f",
    "🇩🇪",
    "👨\u200d👩\u200d👧",
    "e\u0301",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["C"]), max_size=20)


@given(text=TEXTS.map("".join), graphemes=st.booleans())
def test_clusters_fill_exactly_the_cells_of_their_run(text: str, *, graphemes: bool) -> None:
    """
    However characters join, what stands in a run covers it: nothing moves its neighbours.
    """
    emulator = Emulator(rows=1, cols=80)
    emulator.feed(b"\x1b[?7l" + (b"\x1b[?2027h" if graphemes else b"") + text.encode())

    for run in emulator.styled()[0]:
        widths = [cluster.width for cluster in clusters(run.text, run.width)]
        assert sum(widths) == run.width
        assert set(widths) <= {1, 2}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (b"", ["🇩", "🇪", "👍", "🏽", "❤\ufe0f", "x"]),
        (b"\x1b[?2027h", ["🇩🇪", "👍🏽", "❤\ufe0f", "x"]),
    ],
)
def test_characters_join_as_the_program_asked(mode: bytes, expected: list[str]) -> None:
    """
    Flags and skin tones are one character only in the mode that makes them one cell pair.
    """
    root = picture(mode + "🇩🇪👍🏽❤\ufe0fx".encode())

    assert [text for text, _ in words(root).values()] == expected


def test_a_heap_of_marks_is_cut() -> None:
    """
    A letter keeps some marks, not five hundred.
    """
    ((text, _),) = words(picture(b"z" + "\u0301".encode() * 500)).values()

    assert text == "z" + "\u0301" * 15


def grid(char: str) -> set[tuple[int, int]]:
    """Return the pixels that the rectangles of a character cover."""
    drawn = shape(char, WIDTH, HEIGHT)
    assert drawn is not None
    return {
        (x, y)
        for rect in drawn.rects
        for x in range(rect.left, rect.right)
        for y in range(rect.top, rect.bottom)
    }


def edges(char: str) -> list[list[int]]:
    """Return where a character touches the left, right, upper and lower edge of its cell."""
    pixels = grid(char)
    return [
        sorted(y for x, y in pixels if x == 0),
        sorted(y for x, y in pixels if x == WIDTH - 1),
        sorted(x for x, y in pixels if y == 0),
        sorted(x for x, y in pixels if y == HEIGHT - 1),
    ]


@pytest.mark.parametrize("family", ["─│┌┐└┘├┤┬┴┼", "━┃┏┓┗┛┣┫┳┻╋", "═║╔╗╚╝╠╣╦╩╬"])
def test_lines_of_a_family_meet_at_the_edges(family: str) -> None:
    """
    Every arm reaches its edge at the same pixels as the straight line of that family.
    """
    level, upright = edges(family[0])[0], edges(family[1])[2]

    for char in family:
        left, right, upper, lower = edges(char)
        assert left in ([], level)
        assert right in ([], level)
        assert upper in ([], upright)
        assert lower in ([], upright)
    assert edges(family[-1]) == [level, level, upright, upright]


def test_double_lines_keep_the_gap_between_them() -> None:
    """
    A double cross is hollow in the middle, a single line crosses a double one.
    """
    middle = (WIDTH // 2, (HEIGHT - 1) // 2)

    assert middle not in grid("╬")
    assert middle not in grid("╔")
    assert middle not in grid("╤")
    assert (middle[0] - 1, middle[1]) not in grid("╬")
    assert (middle[0] - 1, middle[1]) in grid("╠")
    assert middle in grid("╪")
    assert middle in grid("┼")


def test_every_box_block_and_braille_character_has_a_shape() -> None:
    """
    None of them falls back to a font, and none leaves its cell.
    """
    chars = [*map(chr, range(0x2500, 0x25A0)), *map(chr, range(0x2801, 0x2900))]

    for char in chars:
        drawn = shape(char, WIDTH, HEIGHT)
        assert drawn, char
        assert drawn.rects or drawn.strokes, char
        for left, top, right, bottom in drawn.rects:
            assert 0 <= left < right <= WIDTH, char
            assert 0 <= top < bottom <= HEIGHT, char
    assert shape("a", WIDTH, HEIGHT) is None
    assert shape("█", WIDTH, HEIGHT) == Shape(rects=(Rect(0, 0, WIDTH, HEIGHT),))
