"""Palettes: which colours a picture has, and that text in them can be read."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest

from agent_pty.emulator import Emulator, Style
from agent_pty.emulator.contrast import contrast
from agent_pty.emulator.palette import DEFAULT, PALETTES, palette_named
from agent_pty.emulator.picture import look
from agent_pty.emulator.style import Color
from agent_pty.emulator.svg import svg
from agent_pty.errors import BadRequest
from agent_pty.ops.screen import SCREEN, Render
from agent_pty.words.arguments import described

BOLD = True
LEAST = 4.0
# Text that these programs really show: its colour, its background, whether it is bold, and the
# contrast that it gets. WCAG 2 asks for 4.5 and, of large text, for 3.
PAIRS: dict[tuple[str, Color, Color, bool], float] = {
    ("mc: menus, the selected file", 0, 6, False): 4.3,
    ("mc: headings", 11, 4, False): 6.6,
    ("mc: files", 7, 4, False): 5.0,
    ("mc: directories", 15, 4, False): 7.8,
    ("mc: hot keys of the menu", 11, 6, False): 4.2,
    ("mc: the menu", 15, 6, False): 4.9,
    ("mc: the open menu", 15, 0, False): 21.0,
    ("mc: hot keys of the open menu", 11, 0, False): 18.0,
    ("mc: sources", 6, 4, False): 4.2,
    ("mc: documents", 3, 4, False): 4.1,
    ("mc: media", 2, 4, False): 4.2,
    ("mc: programs", 10, 4, False): 4.0,
    ("mc: archives", 13, 4, False): 4.1,
    ("mc: errors", 15, 1, False): 4.9,
    ("mc: hot keys of a dialog", 4, 7, False): 5.0,
    ("tig: dates", 4, None, False): 4.2,
    ("tig: authors", 2, None, False): 4.4,
    ("tig: the selected commit", 7, 2, BOLD): 4.8,
    ("tig: the title", 7, 4, BOLD): 7.8,
    ("ncdu: the frame's text", 0, 6, BOLD): 4.3,
    ("ncdu: numbers in the frame", 3, 6, BOLD): 4.2,
    ("ncdu: numbers", 3, 0, BOLD): 18.0,
    ("ncdu: directories", 4, 0, BOLD): 9.7,
    ("ncdu: files", 7, 0, False): 13.6,
    ("ncdu: the selected number", 3, 2, BOLD): 4.1,
    ("ncdu: the selected directory", 4, 2, BOLD): 4.1,
    ("ncdu: the selected graph", 5, 2, False): 4.1,
    ("ncdu: the selected file", 7, 2, BOLD): 4.8,
    ("dialog: text", 0, 7, False): 13.6,
    ("dialog: a button", 0, 7, BOLD): 13.6,
    ("dialog: hot keys", 1, 7, False): 4.2,
    ("dialog: the title", 4, 7, BOLD): 5.0,
    ("dialog: the selected hot key", 1, 4, BOLD): 4.1,
    ("dialog: the key of the selected button", 3, 4, BOLD): 6.6,
    ("dialog: the selected entry", 7, 4, BOLD): 7.8,
}


def seen(fg: Color, bg: Color, *, bold: bool, palette: str = "legible") -> float:
    """Measure the contrast of text in a picture."""
    looks = look(Style(fg=fg, bg=bg, bold=bold), palette_named(palette))
    return contrast(looks.ink, looks.bg)


@pytest.mark.parametrize(("pair", "expected"), PAIRS.items(), ids=[pair[0] for pair in PAIRS])
def test_trial_26_text_is_legible_on_the_backgrounds_that_programs_use(
    pair: tuple[str, Color, Color, bool], expected: float
) -> None:
    """
    What mc, tig, ncdu and dialog show has a contrast of 4 and more in the default palette.
    """
    _name, fg, bg, bold = pair

    measured = seen(fg, bg, bold=bold)

    assert measured >= LEAST
    assert round(measured, 1) == expected


def test_trial_26_the_measure_finds_a_palette_that_is_not_legible() -> None:
    """
    Of the pastel colours that were the default before, most of these pairs fail.
    """
    failed = [
        name
        for name, fg, bg, bold in PAIRS
        if seen(fg, bg, bold=bold, palette="tomorrow-night") < LEAST
    ]

    assert len(failed) > len(PAIRS) / 2
    assert "mc: files" in failed


def test_trial_26_every_two_of_the_sixteen_colours_are_legible() -> None:
    """
    Whatever a program combines, the text is seen; in the colour of its background it stays hidden.
    """
    for fg, bg in product(range(16), repeat=2):
        shown = seen(fg, bg, bold=False)
        assert shown >= LEAST if fg != bg else shown == 1, (fg, bg)


def test_bold_text_is_bright_where_that_is_seen_better() -> None:
    """
    As programs for sixteen colours expect; on a light background the dark colour is the better one.
    """
    on_black, on_grey = look(Style(fg=4, bold=True)), look(Style(fg=4, bg=7, bold=True))
    frame = look(Style(fg=7, bg=7, bold=True))

    assert on_black.fg == DEFAULT.colors[12]
    assert on_grey.fg == DEFAULT.colors[4]
    assert frame.fg == DEFAULT.colors[15]


def test_colours_of_a_wider_choice_are_never_corrected() -> None:
    """
    A program that chooses among 256 or 16 million colours gets what it chose.
    """
    dark: Color = (10, 10, 10)

    assert look(Style(fg=dark)).ink == dark
    assert look(Style(fg=232)).ink == (8, 8, 8)
    for palette in PALETTES.values():
        assert palette.colors[16:] == DEFAULT.colors[16:]
    assert DEFAULT.colors[16] == (0, 0, 0)
    assert DEFAULT.colors[196] == (0xFF, 0, 0)
    assert DEFAULT.colors[255] == (0xEE, 0xEE, 0xEE)


def test_lines_keep_the_colour_that_letters_may_not_have() -> None:
    """
    A block in blue continues a blue background, while a blue letter on black is made lighter.
    """
    emulator = Emulator(rows=1, cols=4)
    emulator.feed("\x1b[?25l\x1b[34m█a".encode())
    drawn = svg(emulator)

    blue = "#{:02x}{:02x}{:02x}".format(*DEFAULT.colors[4])
    assert f'<path d="M0 0H9V18H0Z" fill="{blue}"' in drawn
    assert drawn.count(blue) == 1


def test_named_palettes_are_shown_as_they_are_known() -> None:
    """
    Only the default one is corrected.
    """
    assert look(Style(fg=4, bg=2), PALETTES["xterm"]).ink == (0, 0, 0xEE)
    assert look(Style(fg=4), PALETTES["vga"]).ink == (0, 0, 0xAA)
    assert look(Style(fg=2, bold=True), PALETTES["solarized-dark"]).ink == (0x85, 0x99, 0)


def test_trial_26_an_unknown_palette_is_an_error_that_lists_all() -> None:
    """
    The message names the value and the choice; help and reference name the same palettes.
    """
    with pytest.raises(BadRequest, match="no palette 'pink'") as caught:
        palette_named("pink")

    names = ", ".join(PALETTES)
    arguments = [each for part in SCREEN.commands[0].parts for each in part.arguments]
    (field,) = [each for each in msgspec.structs.fields(Render) if each.name == "palette"]
    (given,) = [each for each in arguments if each.names == ("--palette",)]
    assert str(caught.value).endswith(f"choose one of {names}")
    assert names in given.options["help"]
    assert names in described(field)[1]
    assert PALETTES[Render(id="x").palette] is DEFAULT
