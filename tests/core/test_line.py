from agent_pty.core.line import Line


def test_a_line_stays_plain_until_it_is_edited() -> None:
    """
    A return alone changes nothing yet, because a line end may follow it.
    """
    line = Line(80)
    line.write(b"abc")
    line.control(b"K", 0)
    assert line.untouched

    line.carriage_return()
    assert (line.text, line.editor) == (b"abc", None)
    line.write(b"x")

    assert (line.text, line.untouched) == (b"xbc", False)


def test_finishing_begins_an_empty_line() -> None:
    """
    Nothing of a finished line is left, however it was edited.
    """
    line = Line(80)
    line.write(b"abc")
    line.back(1)

    assert line.finish() == b"abc"
    assert line == Line(80)


def test_moves_on_an_empty_line_are_forgotten_by_its_end() -> None:
    """
    A cursor that moved over nothing leaves an empty line.
    """
    line = Line(80)
    line.control(b"C", 5)

    assert line.empty
    line.write(b"x")
    assert line.text == b"     x"


def test_an_over_long_line_pushes_out_whole_characters() -> None:
    """
    The cut never goes through a character, and both parts together are the line.
    """
    written = "漢".encode() * 50_000
    line = Line(80)
    line.write(written)

    head = line.spill()

    assert head + line.text == written
    assert 0 < len(head) <= 64 * 1024
    assert head.decode() + line.text.decode() == written.decode()
    assert not line.empty


def test_marks_without_end_stay_bounded() -> None:
    """
    Marks that pile up on one cell overflow into cells of their own, and those are bounded.
    """
    line = Line(80)
    line.write(b"ab")
    line.back(1)

    for _ in range(10):
        line.write("\u0301".encode() * 100_000)

    assert len(line.spill() + line.text) == 1 + 2_000_000
    assert len(line.text) < 64 * 1024 * 16


def test_a_line_that_was_cut_is_not_empty() -> None:
    """
    After its beginning was pushed out, a line whose rest was erased still has to be ended.
    """
    line = Line(65_535)
    line.write(b"x" * 131_080)
    line.control(b"K", 2)

    assert line.text == b""
    assert not line.empty
    assert line.finish() == b"x" * (65_536 + 65_535)
    assert line.empty
