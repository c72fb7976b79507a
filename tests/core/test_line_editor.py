import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.line_editor import LineEditor

PRINTABLE = st.characters(exclude_categories=("Cc", "Cs"))


@given(
    text=st.text(st.one_of(PRINTABLE, st.sampled_from("ab漢\u0301\t")), min_size=1),
    cols=st.integers(1, 20),
)
def test_text_at_the_end_of_the_line_is_never_changed(text: str, cols: int) -> None:
    """
    Tabs, wide characters and marks come out as they were written, at any width.
    """
    editor = LineEditor(cols)

    editor.write(text)

    assert editor.text == text


@given(
    texts=st.lists(st.text("ab漢é\u0301\t", min_size=1), min_size=1),
    back=st.integers(1, 9),
    cols=st.integers(1, 12),
)
def test_a_run_is_written_like_its_characters(texts: list[str], back: int, cols: int) -> None:
    """
    Writing a text at once or by the character leaves the same cells and the same cursor.
    """
    at_once, stepwise = LineEditor(cols), LineEditor(cols)

    for text in texts:
        at_once.write(text)
        at_once.back(back)
        for character in text:
            stepwise.write(character)
        stepwise.back(back)

    assert at_once == stepwise


@pytest.mark.parametrize(
    ("text", "column"), [("漢字", 2), ("漢字", 4), ("\tx", 1), ("\tx", 5), ("\tx", 8)]
)
def test_overwriting_a_part_of_a_wide_cell_blanks_the_rest(text: str, column: int) -> None:
    """
    What is left of a wide character or a tab are blanks, so that nothing else moves.
    """
    editor = LineEditor(80)
    editor.write(text)
    cells = len(editor.cells)

    editor.column(column)
    editor.write("o")

    assert len(editor.cells) == cells
    assert editor.cells[column - 1] == "o"


def test_moves_stay_on_the_screen_row() -> None:
    """
    No move to the left or right leaves the row that the cursor is on.
    """
    editor = LineEditor(10)
    editor.write("a" * 25)
    places = []

    editor.back(99)
    places.append(editor.at)
    editor.forward(99)
    places.append(editor.at)
    editor.column(3)
    places.append(editor.at)
    editor.carriage_return()
    places.append(editor.at)

    assert places == [20, 29, 22, 20]


def test_going_up_and_down_ends_where_the_line_ends() -> None:
    """
    Only rows that the line has can be reached; otherwise the cursor stays.
    """
    editor = LineEditor(10)
    editor.write("a" * 20)

    assert not editor.vertical(1)
    assert editor.vertical(-1)
    assert not editor.vertical(-1)
    assert editor.at == 9
    assert editor.vertical(1)
    assert editor.at == 19


def test_edits_in_an_upper_row_leave_the_rows_below() -> None:
    """
    Deleting, inserting and erasing move and clear cells of the cursor's row alone.
    """
    editor = LineEditor(4)
    editor.write("abcdefgh")
    editor.vertical(-1)
    editor.column(2)
    texts = []

    for edit in (editor.delete, editor.insert, editor.blank, editor.erase):
        edit(2)
        texts.append(editor.text)

    assert texts == ["ad  efgh", "a  defgh", "a  defgh", "    efgh"]


def test_erasing_while_the_row_is_full_keeps_its_last_character() -> None:
    """
    A program that erases to the right after a full row means the void behind it.
    """
    editor = LineEditor(4)
    editor.write("abcd")

    editor.erase(0)

    assert editor.text == "abcd"


def test_inserting_pushes_out_of_the_row_only() -> None:
    """
    Blanks move the rest to the right; what leaves the row is gone, as on a screen.
    """
    editor = LineEditor(6)
    editor.write("abcde")
    editor.column(2)

    editor.insert(2)

    assert editor.text == "a  bcd"


def test_the_beginning_can_be_given_away() -> None:
    """
    Cells cut off at the front are returned as text, and the cursor stays where it was in the rest.
    """
    editor = LineEditor(4)
    editor.write("abcdefg")

    head = editor.cut(4)
    editor.carriage_return()
    editor.write("x")

    assert (head, editor.text) == ("abcd", "xfg")
