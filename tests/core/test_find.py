from __future__ import annotations

from agent_pty.core.find import Place, find


def test_every_place_is_told_in_cells() -> None:
    """
    Rows and columns count from 0; wide characters before it count twice, joined marks not.
    """
    lines = ["ok", "", "\u4e2d\u6587 ok e\u0301 ok"]

    places = find(lines, "ok")

    assert [(place.row, place.col) for place in places] == [(0, 0), (2, 5), (2, 10)]


def test_what_is_found_may_be_wide() -> None:
    """
    The width of a place is that of the text in cells: a click in its middle hits it.
    """
    assert find(["x\u4e2d\u6587"], "\u4e2d\u6587") == [
        Place(row=0, col=1, width=4, text="\u4e2d\u6587")
    ]


def test_places_do_not_overlap() -> None:
    """
    A text within itself is found once, then searched for behind that.
    """
    assert [place.col for place in find(["aaaaa"], "aa")] == [0, 2]


def test_nothing_is_found_nowhere() -> None:
    """
    Neither the empty text nor one that would begin on one row and end on the next.
    """
    assert find(["ab", "cd"], "") == []
    assert find(["ab", "cd"], "bc") == []


def test_a_screen_full_of_it_is_bounded() -> None:
    """
    At most a thousand places are told.
    """
    assert len(find(["x" * 200] * 50, "x")) == 1000
