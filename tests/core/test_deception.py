from __future__ import annotations

import pytest

from agent_pty.core.deception import suspicions
from agent_pty.emulator import Run, Style


def run(text: str, style: Style | None = None, *, col: int = 0) -> Run:
    """Return a stretch of text in a style."""
    return Run(col=col, width=len(text), text=text, style=style or Style())


@pytest.mark.parametrize(
    ("kind", "hidden"),
    [
        ("concealed", run("x", Style(invisible=True))),
        ("same_colour", run("x", Style(fg=1, bg=1))),
        ("same_colour", run("x", Style(fg=(1, 2, 3), bg=(1, 2, 3)))),
        ("same_colour", run("x", Style(fg=1, bg=1, inverse=True))),
        ("bidi_control", run("a\u202eb")),
        ("bidi_control", run("a\u2066b")),
        ("tag_character", run("a\U000e0041")),
        ("zero_width", run("a\u200bb")),
        ("zero_width", run("a\u2060b")),
        ("zero_width", run("a\ufeffb")),
        ("zero_width", run("a\u00adb")),
    ],
)
def test_each_way_to_hide_has_its_name(kind: str, hidden: Run) -> None:
    """
    What a person does not see is found, and its way of hiding named.
    """
    assert [each.kind for each in suspicions([[hidden]])] == [kind]


@pytest.mark.parametrize(
    "honest",
    [
        run("plain"),
        run("\u00e4\u4e2d\u0645"),
        run("\U0001f469\u200d\U0001f4bb \u2764\ufe0f"),
        run("x", Style(fg=1, bg=2)),
        run("x", Style(fg=None, bg=None)),
        run("x", Style(inverse=True)),
        run("   ", Style(invisible=True)),
        run(" ", Style(fg=1, bg=1)),
        run(""),
    ],
)
def test_what_a_person_sees_is_not_suspicious(honest: Run) -> None:
    """
    Letters of any script, joined emoji, colours and painted blanks are no deceit.
    """
    assert suspicions([[honest]]) == []


def test_the_place_is_told_and_the_text_is_safe_to_read() -> None:
    """
    Row and column are where it stands; its text is escaped and cut.
    """
    hidden = run("  go\u202e" + "y" * 200, col=7)

    (found,) = suspicions([[], [run("fine"), hidden]])

    assert (found.row, found.col) == (1, 7)
    assert found.text.startswith("go\\u202ey")
    assert len(found.text) == 80


def test_one_stretch_may_hide_in_several_ways() -> None:
    """
    Every way is told; a screen full of them is bounded.
    """
    both = run("a\u202e\u200b", Style(invisible=True))

    assert [each.kind for each in suspicions([[both]])] == [
        "concealed",
        "bidi_control",
        "zero_width",
    ]
    assert len(suspicions([[both]] * 60)) == 100
