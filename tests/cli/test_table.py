"""The pure half of `top`: keys, choices, the table, and what of it is drawn."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agent_pty.cli.top.drawing import Canvas
from agent_pty.cli.top.keyboard import Keyboard
from agent_pty.cli.top.selection import Do, Menu, Order
from agent_pty.cli.top.table import (
    Row,
    View,
    duration,
    fit,
    picture,
    plain,
    plan,
    printable,
    size,
    state,
    window,
)
from agent_pty.cli.top.usage import Meter, Sample
from agent_pty.core.width import cells

SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


def row(name: str, **facts: Any) -> Row:
    """Return a running session unless told otherwise."""
    return Row(**{"id": name, "instance": f"i-{name}", "state": "running", **facts})


def view(*rows: Row, **facts: Any) -> View:
    """Return a view of these sessions, the first chosen."""
    given = {"index": 0, "heading": "head", "footer": "foot", "title": "it", "preview": []}
    return View(rows=rows, **{**given, **facts})


def lines(shown: View, rows: int = 24, cols: int = 80) -> list[str]:
    """Draw and take the colours away."""
    return [SEQUENCE.sub("", line).rstrip() for line in picture(shown, rows=rows, cols=cols)]


# -- values


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "running"),
        ({"state": "exited", "exit_code": 0}, "exit 0"),
        ({"state": "exited", "exit_code": 3}, "exit 3"),
        ({"state": "exited", "signal": 15}, "signal 15"),
        ({"state": "exited"}, "exit ?"),
        ({"state": "lost"}, "lost"),
    ],
)
def test_a_state_is_said_in_a_word_or_two(facts: dict[str, Any], said: str) -> None:
    """
    Running, how it ended, or lost; an end nobody saw is no zero.
    """
    assert state(row("a", **facts)) == said


def test_numbers_fit_their_columns() -> None:
    """
    Durations and sizes keep to five characters, whatever their value.
    """
    assert [duration(ms) for ms in (None, 0, 59_999, 3_599_000, 172_800_000)] == [
        "-",
        "0s",
        "59s",
        "59m",
        "2d",
    ]
    assert [size(count) for count in (None, 0, 1024, 10 * 1024, 5 << 20, 1 << 40)] == [
        "-",
        "0.0K",
        "1.0K",
        "10K",
        "5.0M",
        "1.0T",
    ]
    assert max(len(size(1 << shift)) for shift in range(50)) <= 5


@pytest.mark.parametrize("text", ["\x1b]0;x\x07", "\x9b2J", "\u202e", "a\nb", "\x7f", "\u200b"])
def test_what_could_move_a_terminal_is_shown_escaped(text: str) -> None:
    """
    Controls of both sets, line ends, and invisible or reversing characters become text.
    """
    shown = printable(text)

    assert shown.isprintable()
    assert "\\" in shown


def test_text_is_cut_by_cells() -> None:
    """
    Wide characters count double and are never cut in half.
    """
    assert fit("中文字", 5) == "中文…"
    assert fit("中文字", 4) == "中… "
    assert fit("ab", 4, right=True) == "  ab"
    assert fit("abc", 0) == ""


# -- the table


def test_the_table_fits_80_columns() -> None:
    """
    Every column has room at 80, and no line is longer.
    """
    busy = row("a-very-long-name-of-a-session", quiet_ms=61_000, host="h1", attached=2, pid=4194304)
    other = row("b", cpu_percent=99.95, memory_bytes=5 << 20, last_line="x" * 200)

    found = plain([busy, other], 80)

    assert found[0].split() == [
        "NAME",
        "STATE",
        "QUIET",
        "CPU%",
        "MEM",
        "PID",
        "HOST",
        "LAST",
        "LINE",
    ]
    assert found[1].startswith("a-very-long-nam… running      1m     -     - 4194304 h1+2")
    assert found[2].endswith("x…")
    assert max(map(cells, found)) <= 80


@pytest.mark.parametrize("cols", [1, 10, 20, 40, 60, 80, 100, 149, 150, 200, 400])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 10, 24, 60])
def test_a_picture_has_the_size_of_the_screen(rows: int, cols: int) -> None:
    """
    Whatever the size: as many lines as there are rows, and none wider than the screen.
    """
    many = view(*(row(f"s{number}") for number in range(30)), preview=["y" * 500] * 100, index=29)

    found = picture(many, rows=rows, cols=cols)

    assert len(found) == rows
    assert max(cells(re.sub(r"\x1b\[[0-9;]*[mG]", "", line)) for line in found) <= cols


def test_a_narrow_screen_gives_up_columns_for_the_last_line() -> None:
    """
    What a session says is worth more than its pid.
    """
    found = plain([row("work", pid=77, quiet_ms=0, last_line="tests passed")], 50)

    assert "tests passed" in found[1]
    assert "PID" not in found[0]
    assert "QUIET" in found[0]


@pytest.mark.parametrize("doing", ["idle", "busy", "waiting", "secret"])
def test_trial_25_a_running_session_says_what_it_does(doing: str) -> None:
    """
    Idle, busy, waiting or secret stand where `running` would say nothing; paused is more urgent.
    """
    assert state(row("a", doing=doing)) == doing
    assert state(row("a", doing=doing, output_paused=True)) == "paused"
    assert state(row("a", doing=doing, state="exited", exit_code=0)) == "exit 0"


def test_trial_25_who_waits_is_coloured() -> None:
    """
    A session that waits for a person is seen at once, unless it is the chosen one.
    """
    shown = view(row("a"), row("b", doing="waiting"), row("c", doing="secret"), row("d"))

    found = picture(shown, rows=24, cols=80)

    assert [line.startswith("\x1b[33m") for line in found[2:6]] == [False, True, True, False]


def test_trial_25_command_and_directory_have_columns_where_there_is_room() -> None:
    """
    In 80 columns the command stands before the last line; wider, it has a column of its own.
    """
    busy = row("a", doing="busy", command="make test", cwd="/srv/app", last_line="ok 7")

    narrow, wide = plain([busy, row("b")], 80), plain([busy, row("b")], 149)

    assert narrow[1].endswith("make test: ok 7")
    assert wide[0].split()[-4:] == ["COMMAND", "DIRECTORY", "LAST", "LINE"]
    assert wide[1].split()[-5:] == ["make", "test", "/srv/app", "ok", "7"]
    assert "COMMAND" not in plain([row("b")], 149)[0]


def test_trial_25_a_part_of_the_table_says_which() -> None:
    """
    Where not every row fits, the heading says which ones are shown, and of how many.
    """
    rows = [row(f"s{number}") for number in range(42)]

    part = lines(view(*rows, index=14))
    whole = lines(view(*rows[:3]))

    assert part[0] == "head, 10-19 of 42"
    assert part[2].startswith(" s9 ")
    assert part[11].startswith(" s18")
    assert whole[0] == "head"


def test_below_the_table_is_the_end_of_the_chosen_screen() -> None:
    """
    The preview shows the bottom of the screen, without the blank rows under it.
    """
    shown = view(row("a"), row("b"), preview=[f"line {number}" for number in range(50)] + [""] * 9)

    found = lines(shown)

    assert found[0] == "head"
    assert found[2].startswith(">a")
    assert found[3].startswith(" b")
    assert found[4].startswith("── it ───")
    assert found[22] == "line 49"
    assert found[23] == "foot"


def test_a_wide_screen_has_the_preview_beside() -> None:
    """
    From 150 columns on a screen of 80 columns fits to the right of the table.
    """
    found = picture(view(row("a"), preview=["hello"]), rows=10, cols=161)

    assert plan(10, 161, 1).preview_cols == 80
    assert found[2].endswith("hello")
    assert "\x1b[81G" in found[2]


def test_the_chosen_row_is_always_in_sight() -> None:
    """
    A long table scrolls with the choice and stays filled.
    """
    for index in range(100):
        seen = window(100, index, 7)

        assert index in seen
        assert len(seen) == 7


def test_no_text_of_a_session_reaches_the_terminal_raw() -> None:
    """
    Names, titles, last lines, screens and diagnoses carry no escape sequence out.
    """
    evil = "\x1b]52;c;ZXZpbA==\x07\x9b2J\n"
    hostile = row(evil, title=evil, last_line=evil, host=evil, diagnosis=evil)

    found = picture(
        view(hostile, preview=[evil], heading=evil, footer=evil, title=evil), rows=24, cols=200
    )

    rest = [re.sub(r"\x1b\[[0-9;]*[mG]", "", line) for line in found]
    assert all(line.isprintable() for line in rest)
    assert all(line.isprintable() for line in plain([hostile], 80))


# -- drawing


def test_only_changed_lines_are_drawn() -> None:
    """
    The first picture enters the screen; then a changed line costs that line, an equal one nothing.
    """
    canvas = Canvas()
    first = canvas.draw(["one", "two"])

    assert b"\x1b[?1049h" in first
    assert canvas.draw(["one", "two"]) == b""
    assert canvas.draw(["one", "TWO"]) == (
        b"\x1b[?2026h\x1b[2;1H\x1b[0m\x1b[2KTWO\x1b[0m\x1b[?2026l"
    )

    canvas.forget()

    assert canvas.draw(["one", "TWO"]) == first.replace(b"two", b"TWO")


# -- keys


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (b"\x1b[A\x1bOB\x1b[5~\x1b[6~", ["up", "down", "page-up", "page-down"]),
        (b"jk/\r\x03\x0c\x7f ", ["j", "k", "/", "enter", "ctrl-c", "ctrl-l", "backspace", "space"]),
        ("é中".encode(), ["é", "中"]),
        (b"\x1b[1;5Zx\x1b[200~\x1bq", ["x"]),
        (b"\x1b\x1b[A", ["escape", "up"]),
    ],
)
def test_keys_have_names_however_they_arrive(typed: bytes, keys: list[str]) -> None:
    """
    One piece or byte by byte, the same keys; sequences nobody knows are none.
    """
    whole, split = Keyboard(), Keyboard()

    assert whole.feed(typed) == keys
    assert [key for byte in typed for key in split.feed(bytes([byte]))] == keys


def test_a_lone_escape_is_a_key_once_nothing_follows() -> None:
    """
    It may be the beginning of another key; the caller says when it is not.
    """
    keyboard = Keyboard()

    assert keyboard.feed(b"\x1b") == []
    assert keyboard.unfinished
    assert keyboard.finish() == ["escape"]
    assert not keyboard.unfinished


# -- choices


@pytest.fixture
def menu() -> Menu:
    """A menu of three."""
    made = Menu()
    made.show([row("alpha"), row("beta"), row("gamma")])
    return made


def chosen(menu: Menu) -> str | None:
    """Return the name of the chosen row."""
    return menu.chosen.id if menu.chosen else None


def test_arrows_and_letters_choose(menu: Menu) -> None:
    """
    The choice stops at both ends.
    """
    seen = []
    for key in ("up", "down", "j", "down", "k", "home", "G"):
        assert menu.feed(key) is None
        seen.append(chosen(menu))

    assert seen == ["alpha", "beta", "gamma", "gamma", "beta", "alpha", "gamma"]


def test_the_choice_follows_its_session(menu: Menu) -> None:
    """
    Sessions that come, go or are renamed do not move the choice to another one.
    """
    menu.feed("down")

    menu.show([row("aaa"), row("alpha"), row("zeta", instance="i-beta")])

    assert chosen(menu) == "zeta"

    menu.show([row("aaa"), row("alpha")])

    assert chosen(menu) == "alpha"

    menu.show([])

    assert menu.chosen is None
    assert menu.feed("x") is None
    assert menu.feed("enter") is None


def names(menu: Menu) -> list[str]:
    """Return the rows in their order."""
    return [one.id for one in menu.rows]


def test_trial_25_who_waits_comes_first_then_names_as_people_count() -> None:
    """
    Sessions that wait for a person come first; `s2` comes before `s10`.
    """
    menu = Menu()

    menu.show(
        [
            row("s10", doing="idle"),
            row("s2", doing="busy"),
            row("S1"),
            row("t", doing="secret"),
            row("s11", doing="waiting"),
        ]
    )

    assert names(menu) == ["s11", "t", "S1", "s2", "s10"]


@pytest.mark.parametrize(
    ("key", "by", "expected"),
    [
        ("n", ", by name", ["a", "b", "c"]),
        ("c", ", by cpu", ["b", "a", "c"]),
        ("m", ", by memory", ["a", "b", "c"]),
        ("t", ", by time", ["b", "a", "c"]),
        ("s", "", ["c", "a", "b"]),
    ],
)
def test_trial_25_keys_sort(key: str, by: str, expected: list[str]) -> None:
    """
    By name, CPU, memory or the latest output; what is not known comes last, the choice stays.
    """
    menu = Menu()
    menu.show(
        [
            row("a", cpu_percent=1.0, memory_bytes=9, quiet_ms=500),
            row("b", cpu_percent=90.0, memory_bytes=5, quiet_ms=20),
            row("c", doing="waiting"),
        ]
    )

    menu.feed(key)

    assert names(menu) == expected
    assert menu.heading == f"agent-pty: 3 sessions, 3 running{by}"
    assert menu.chosen is not None
    assert menu.chosen.id == "c"


def test_kill_asks_first(menu: Menu) -> None:
    """
    Only `y` kills, and it kills the session asked about, by the name it has now.
    """
    menu.feed("x")
    assert menu.footer == "kill alpha with all its processes? y/n"
    assert menu.feed("n") is None

    menu.feed("x")
    renamed = row("beta", instance="i-alpha")
    menu.show([renamed])

    assert menu.feed("y") == Order(do=Do.KILL, row=renamed)


def test_a_session_that_went_away_while_asked_is_not_killed(menu: Menu) -> None:
    """
    A new session of the same name is another one.
    """
    menu.feed("x")
    menu.show([row("alpha", instance="other")])

    assert menu.feed("y") is None


def test_a_filter_is_typed_kept_and_cleared(menu: Menu) -> None:
    """
    Letters that are keys otherwise are text here; the choice comes back with its row.
    """
    for key in "/MA":
        menu.feed(key)

    assert [shown.id for shown in menu.rows] == ["gamma"]
    assert menu.footer.startswith("/MA_")

    for key in ("q", "backspace", "enter"):
        assert menu.feed(key) is None
    assert [shown.id for shown in menu.rows] == ["gamma"]
    assert menu.heading == "agent-pty: 3 sessions, 3 running, 1 with 'MA'"

    menu.feed("escape")

    assert len(menu.rows) == 3
    assert chosen(menu) == "gamma"


def test_orders_name_their_row(menu: Menu) -> None:
    """
    Enter attaches, i interrupts, q and ctrl-c leave, the latter also from a question.
    """
    menu.feed("down")

    assert menu.feed("enter") == Order(do=Do.ATTACH, row=row("beta"))
    assert menu.feed("i") == Order(do=Do.INTERRUPT, row=row("beta"))
    assert menu.feed("q") == Order(do=Do.LEAVE)
    menu.feed("x")
    assert menu.feed("ctrl-c") == Order(do=Do.LEAVE)


# -- CPU


def test_cpu_is_measured_between_two_looks() -> None:
    """
    At first over a process's life, as `ps` does; then since the last look, whoever came or went.
    """
    meter = Meter()
    shell = Sample(pid=1, birth=0.0, spent=1.0, memory=100)

    first = meter.take({1: [shell]}, at=10.0)
    later = Sample(pid=1, birth=0.0, spent=1.5, memory=100)
    child = Sample(pid=2, birth=10.5, spent=0.25, memory=50)
    second = meter.take({1: [later, child]}, at=11.0)
    third = meter.take({1: [later]}, at=12.0)

    assert (first[1].cpu_percent, first[1].memory_bytes) == (10.0, 100)
    assert (second[1].cpu_percent, second[1].memory_bytes) == (75.0, 150)
    assert third[1].cpu_percent == 0.0
