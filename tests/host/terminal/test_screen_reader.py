from __future__ import annotations

import asyncio
import base64
import html
from typing import cast

import pytest

from agent_pty.emulator import Emulator
from agent_pty.host.events import EventLog
from agent_pty.host.terminal.notices import Notices
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.screen import ScreenReader
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.context import Form
from agent_pty.ops.model import Screen, State


class Watched:
    """A screen, somebody who reads it, and a count of what was drawn."""

    def __init__(self, *, rows: int = 5, cols: int = 40) -> None:
        self.emulator = Emulator(rows=rows, cols=cols)
        self.name = "watched"
        self.version = 0
        self.state = State.RUNNING
        self.output = self  # one object is as much of a terminal as a reader needs
        notices = Notices(cast("TerminalOutput", self), EventLog())
        self.reader = ScreenReader(cast("Terminal", self), notices)

    def foreground_process(self) -> None:
        """Name no program beside the session's own."""

    def draws(self, text: str) -> None:
        """Draw."""
        self.emulator.feed(text.encode())
        self.version += 1

    def look(self, state: State = State.RUNNING) -> Screen:
        """Read the screen."""
        self.state = state
        return self.reader.read()


def test_a_hash_names_what_is_shown() -> None:
    """
    Equal rows have an equal hash, however they came to be; other rows another.
    """
    one, other = Watched(), Watched()
    one.draws("hello\r\nworld")
    other.draws("hello there\x1b[5D\x1b[K\x1b[2;1Hworld\x1b[1;6H\x1b[K\x1b[2;6H")

    assert one.look().hash == other.look().hash
    one.draws("!")
    assert one.look().hash != other.look().hash


def test_only_changed_rows_are_told() -> None:
    """
    Against a screen that was given out, the rows that differ come, and the new hash.
    """
    watched = Watched()
    watched.draws("one\r\ntwo\r\nthree")
    before = watched.look().hash
    watched.draws("\x1b[2;1HTWO")

    changes = watched.reader.changes(before)

    assert [(row.row, row.text) for row in changes.rows] == [(1, "TWO")]
    assert (changes.unchanged, changes.full) == (False, False)
    assert changes.hash == watched.look().hash
    assert (changes.cursor.row, changes.cursor.col) == (1, 3)


def test_an_unchanged_screen_says_so() -> None:
    """
    A moved cursor is no change of rows, but its place is told.
    """
    watched = Watched()
    watched.draws("one")
    before = watched.look().hash
    watched.draws("\x1b[3;3H")

    changes = watched.reader.changes(before)

    assert (changes.unchanged, changes.full, changes.rows) == (True, False, [])
    assert (changes.cursor.row, changes.cursor.col) == (2, 2)


def test_a_hash_that_is_forgotten_gives_everything() -> None:
    """
    The last few screens are remembered, also those that only changes gave out.
    """
    watched = Watched()
    hashes = [watched.look().hash]
    for number in range(8):
        watched.draws(f"\x1b[{number % 5 + 1};1H{number}")
        hashes.append(watched.reader.changes(hashes[-1]).hash)

    remembered = watched.reader.changes(hashes[1])
    forgotten = watched.reader.changes(hashes[0])

    assert not remembered.full
    assert forgotten.full
    assert [row.row for row in forgotten.rows] == [0, 1, 2, 3, 4]


def test_links_are_told_with_their_cells() -> None:
    """
    A link on a screen of plain letters is found, and a picture of one is not.
    """
    watched = Watched()
    watched.draws("see \x1b]8;;https://a.example/\x1b\\this\x1b]8;;\x1b\\ <a href=x>")

    (link,) = watched.look().links

    assert (link.row, link.col, link.width, link.text) == (0, 4, 4, "this")
    assert link.uri == "https://a.example/"


@pytest.mark.parametrize(
    "hidden",
    ["\x1b[8mx", "\x1b[1;8mx", "\x1b[31;41mx", "\x1b[38;5;200;48;5;200mx", "\x1b[97;107mx"],
)
def test_hidden_text_is_told(hidden: str) -> None:
    """
    However the style is written, text without contrast is found on a screen of plain letters.
    """
    watched = Watched()
    watched.draws(hidden)

    assert len(watched.look().suspicious) == 1


def test_a_quiet_look_is_the_same_look() -> None:
    """
    While nothing is drawn the screen is not rendered again; what is known otherwise is fresh.
    """
    watched = Watched()
    watched.draws("one")
    first = watched.look()
    watched.emulator.feed(b" two")  # drawn, but not said

    quiet = watched.look(State.EXITED)
    watched.version += 1

    assert quiet.spans is first.spans
    assert quiet.state is State.EXITED
    assert watched.look().text == "one two"


def test_text_is_found_on_rows_as_displayed() -> None:
    """
    A line that wraps is searched row by row.
    """
    watched = Watched(cols=10)
    watched.draws("0123456789needle")

    assert [(place.row, place.col) for place in watched.reader.find("needle")] == [(1, 0)]


def test_the_screen_is_rendered_in_every_form() -> None:
    """
    Text, ANSI and HTML of the same screen; pictures as what they are.
    """
    watched = Watched()
    watched.draws("\x1b[31ma<b")

    def rendered(form: Form) -> str:
        return asyncio.run(watched.reader.render(form, scrollback=0, palette="legible"))

    assert rendered("text").rstrip() == "a<b"
    assert "\x1b[38;5;1m" in rendered("ansi")
    assert html.escape("a<b") in rendered("html")
    assert rendered("svg").startswith("<svg")
    assert base64.b64decode(rendered("png")).startswith(b"\x89PNG")


def test_trial_17_html_is_a_whole_document_without_harm() -> None:
    """
    What is saved to a file and opened looks like the screen, and its links lead to the web only.
    """
    watched = Watched()
    watched.draws("\x1b[31mred\x1b[m \x1b]8;;javascript:alert(1)\x1b\\here\x1b]8;;\x1b\\")

    page = asyncio.run(watched.reader.render("html", scrollback=0, palette="legible"))

    assert page.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in page
    assert "color: #d62c2c" in page
    assert "javascript:" not in page
