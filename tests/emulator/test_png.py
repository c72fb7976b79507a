"""Pictures as PNG, probed pixel by pixel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from agent_pty.emulator import Emulator
from agent_pty.emulator.font_file import FontFile, font_files, in_order, packaged
from agent_pty.emulator.glyph import _Face
from agent_pty.emulator.picture import screen_of
from agent_pty.emulator.png import png, png_of
from agent_pty.errors import BadRequest

CAPTURED = Path(__file__).parents[1] / "captured"
WIDTH, HEIGHT = 9, 18
GREY, BLACK, RED = (0xD0, 0xD0, 0xD0), (0, 0, 0), (0xD6, 0x2C, 0x2C)
HIDE_CURSOR = b"\x1b[?25l"
Fonts = Callable[..., Sequence[FontFile]]


def terminal(data: bytes, *, rows: int = 4, cols: int = 20) -> Emulator:
    """Return a terminal after *data*."""
    emulator = Emulator(rows=rows, cols=cols)
    emulator.feed(data)
    return emulator


def picture(data: bytes, *, scale: int = 1, fonts: Fonts = packaged) -> Image.Image:
    """Decode the picture of a terminal, drawn with the fonts that are always there."""
    return Image.open(BytesIO(png_of(screen_of(terminal(data)), scale=scale, fonts=fonts)))


def cell(image: Image.Image, col: int, row: int = 0, *, cells: int = 1) -> Image.Image:
    """Cut out a cell, or some beside each other."""
    left, top = col * WIDTH, row * HEIGHT
    return image.crop((left, top, left + cells * WIDTH, top + HEIGHT))


def colors(image: Image.Image) -> set[tuple[int, ...]]:
    """Return the colours in an image."""
    found = image.getcolors(1 << 16)
    assert found is not None
    return {color for _, color in found if isinstance(color, tuple)}


def has_ink(image: Image.Image) -> bool:
    """Tell whether anything stands on the black ground."""
    return image.getbbox() is not None


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_a_picture_has_nine_by_eighteen_pixels_a_cell(scale: int) -> None:
    """
    Its size follows from the screen and the scale, its ground is the default colour.
    """
    image = picture(HIDE_CURSOR, scale=scale)

    assert image.format == "PNG"
    assert image.size == (20 * WIDTH * scale, 4 * HEIGHT * scale)
    assert colors(image) == {BLACK}


def test_a_red_background_is_red_up_to_its_edge() -> None:
    """
    Every pixel of the cells has the colour, none beside them has.
    """
    image = picture(HIDE_CURSOR + b" \x1b[41m  \x1b[0m ")

    assert colors(cell(image, 1, cells=2)) == {RED}
    assert colors(cell(image, 0)) == colors(cell(image, 3)) == {BLACK}


def test_letters_are_drawn_in_their_colour() -> None:
    """
    The strongest pixel of a red letter is the red of the palette.
    """
    image = picture(HIDE_CURSOR + b"\x1b[31mM")

    assert max(colors(cell(image, 0))) == RED
    assert not has_ink(cell(image, 1))


def test_the_cursor_is_an_inverted_cell() -> None:
    """
    A block on a blank is all light; on a letter the letter is dark.
    """
    image = picture(b"abM\x1b[1;3H")

    on_letter = cell(image, 2)
    assert on_letter.getpixel((0, 0)) == GREY
    assert min(colors(on_letter)) == BLACK
    assert colors(cell(picture(b"ab"), 2)) == {GREY}
    assert not has_ink(cell(picture(HIDE_CURSOR + b"ab"), 2))


def test_bar_and_underline_cursors_take_a_part_of_the_cell() -> None:
    """
    DECSCUSR chooses the shape.
    """
    bar, underline = picture(b"\x1b[6 q"), picture(b"\x1b[4 q")

    assert cell(bar, 0).getbbox() == (0, 0, 2, HEIGHT)
    assert cell(underline, 0).getbbox() == (0, HEIGHT - 2, WIDTH, HEIGHT)


@pytest.mark.parametrize("scale", [1, 2, 3])
def test_box_lines_join_across_cells(scale: int) -> None:
    """
    The upper line of a box is one line, and so is its left one.
    """
    image = picture(HIDE_CURSOR + "┌──┐\r\n│  │\r\n└──┘".encode(), scale=scale)
    width, height = WIDTH * scale, HEIGHT * scale
    middle = (width - 1) // 2, (height - 1) // 2

    top = [image.getpixel((x, middle[1])) for x in range(middle[0], 4 * width - middle[0] - 1)]
    left = [image.getpixel((middle[0], y)) for y in range(middle[1], 3 * height - middle[1] - 1)]

    assert set(top) == set(left) == {GREY}
    assert not has_ink(image.crop((0, 0, 4 * width, middle[1] - scale)))


def test_blocks_fill_their_cells_and_shades_are_even() -> None:
    """
    A full block is one colour to its edges, a shade is one between the two.
    """
    image = picture(HIDE_CURSOR + "█▒▄".encode())

    assert colors(cell(image, 0)) == {GREY}
    assert colors(cell(image, 1)) == {(0x68, 0x68, 0x68)}
    assert cell(image, 2).getbbox() == (0, HEIGHT // 2, WIDTH, HEIGHT)


def test_wide_characters_take_two_cells_with_any_font() -> None:
    """
    What no font has is a frame of its full width, and what follows keeps its place.
    """
    image = picture(HIDE_CURSOR + "日M".encode())
    alone = picture(HIDE_CURSOR + b"  M")

    frame = cell(image, 0, cells=2).getbbox()
    assert frame is not None
    assert frame[2] - frame[0] > WIDTH
    assert cell(image, 2).tobytes() == cell(alone, 2).tobytes()


def test_styles_change_the_letters() -> None:
    """
    Bold has more ink than plain, italic other pixels, underline and strikethrough a line.
    """
    image = picture(
        HIDE_CURSOR + b"M\x1b[1mM\x1b[0;3mM\x1b[0;4m \x1b[0;9m \x1b[0;8mM\x1b[0;2mM\x1b[0m"
    )
    drawn = [cell(image, col) for col in range(7)]
    ink = [sum(one.convert("L").tobytes()) for one in drawn]

    assert ink[1] > ink[0]
    assert drawn[2].tobytes() != drawn[0].tobytes()
    assert drawn[3].getbbox() == (0, 16, WIDTH, 17)
    assert drawn[4].getbbox() == (0, 9, WIDTH, 10)
    assert not has_ink(drawn[5])
    assert ink[6] < ink[0]


@pytest.mark.parametrize("name", ["git-log", "vim", "less", "top"])
def test_recordings_are_drawn_with_the_fonts_of_this_machine(name: str) -> None:
    """
    Wherever the screen has text there is ink, and nowhere else but at the cursor.
    """
    emulator = terminal((CAPTURED / f"{name}.bytes").read_bytes(), rows=24, cols=80)
    image = Image.open(BytesIO(png(emulator)))

    inked = [has_ink(image.crop((0, row * HEIGHT, 720, (row + 1) * HEIGHT))) for row in range(24)]

    rows, cursor = emulator.lines(), emulator.cursor
    shown = cursor.row if cursor.visible else None
    assert inked == [bool(rows[row]) or row == shown for row in range(24)]


def test_without_any_font_there_are_frames_and_no_failure() -> None:
    """
    Text becomes replacement boxes; lines and colours are as ever.
    """
    image = picture(HIDE_CURSOR + "a│\x1b[41m ".encode(), fonts=lambda *, bold: [])  # noqa: ARG005

    assert cell(image, 0).getbbox() == (1, 3, WIDTH - 1, HEIGHT - 3)
    assert has_ink(cell(image, 1))
    assert colors(cell(image, 2)) == {RED}


def test_a_font_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    """
    A missing file and a file that is no font cost nothing but themselves.
    """
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"not a font")
    bad = [FontFile(path=str(broken)), FontFile(path=str(tmp_path / "gone.ttf"))]

    image = picture(b"Mx", fonts=lambda *, bold: [*bad, *packaged(bold=bold)])

    assert image.tobytes() == picture(b"Mx").tobytes()


def test_fonts_are_asked_in_an_order_that_suits_cells() -> None:
    """
    Monospace first, ours before fonts of varying width if there is none, emoji last.
    """
    mono, text = FontFile(path="mono", monospace=True), FontFile(path="text")
    emoji, ours = FontFile(path="emoji", monospace=True, color=True), FontFile(module="ours")

    assert in_order([emoji, text, mono], [ours]) == (mono, text, ours, emoji)
    assert in_order([emoji, text], [ours]) == (ours, text, emoji)


def requires(char: str, *, color: bool = False) -> None:
    """Skip, with the reason, unless a font of this machine draws *char*."""
    files = [file for file in font_files(bold=False) if file.color == color]
    if not any(_Face(file, 15).has(char) for file in files):
        pytest.skip(f"no font here has {char} (scripts/system-packages --for test installs one)")


def test_cjk_text_is_drawn_by_a_font_of_this_machine() -> None:
    """
    Two characters differ, and each lies within its two cells.
    """
    requires("日")
    image = picture(HIDE_CURSOR + "日語".encode(), fonts=font_files)

    first, second = cell(image, 0, cells=2), cell(image, 2, cells=2)
    assert first.tobytes() != second.tobytes()
    assert has_ink(cell(image, 0))
    assert has_ink(cell(image, 1))


def test_emoji_keep_their_colours() -> None:
    """
    A thumb is yellow, whatever the colour of the text.
    """
    requires("👍", color=True)
    image = picture(HIDE_CURSOR + "\x1b[34m👍".encode(), fonts=font_files)

    thumb = cell(image, 0, cells=2)
    red, green, blue = max(pixel for pixel in colors(thumb) if pixel[0] > 0x80)[:3]
    assert red > blue
    assert green > blue


HOSTILE = [
    "e" + "\u0301" * 1000,
    "\u202e\u2066abc",
    "".join(map(chr, range(0x300, 0x370))),
    "\U0010fffd\ue000\ufdd0",
    "👨\u200d" * 30,
    "\x1b]8;;javascript:x\x07link\x1b]8;;\x07",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_makes_the_drawing_fail(text: str) -> None:
    """
    Heaps of marks, private characters and endless sequences give a picture of the same size.
    """
    for mode in (b"", b"\x1b[?2027h"):
        image = picture(mode + text.encode(), fonts=font_files)
        assert image.size == (20 * WIDTH, 4 * HEIGHT)


def test_the_same_screen_gives_the_same_bytes() -> None:
    """
    Nothing of time or chance is in the file.
    """
    screen = screen_of(terminal(b"\x1b[1mhello\x1b[0m \x1b[3mworld"))

    assert png_of(screen) == png_of(screen)


@pytest.mark.parametrize("scale", [0, 5, -1])
def test_a_scale_out_of_range_is_refused(scale: int) -> None:
    """
    The message names the limits.
    """
    with pytest.raises(BadRequest, match="within 1 and 4"):
        png(terminal(b""), scale=scale)


def test_a_picture_that_would_fill_the_memory_is_refused() -> None:
    """
    The largest screen would need a gigabyte; the message says what to do instead.
    """
    with pytest.raises(BadRequest, match="use a smaller scale, or svg"):
        png(terminal(b"", rows=1000, cols=2000))


def test_without_the_extra_the_remedy_is_named() -> None:
    """
    Pillow is optional: asking for a PNG without it says how to install it.
    """
    program = (
        "import sys; sys.modules['PIL'] = None\n"
        "from agent_pty.emulator import Emulator\n"
        "from agent_pty.emulator.png import png\n"
        "from agent_pty.errors import BadRequest\n"
        "try:\n    png(Emulator(rows=2, cols=2))\n"
        "except BadRequest as error:\n    print(error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )

    assert "pip install 'agent-pty[png]'" in done.stdout
