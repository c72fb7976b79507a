import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_pty.core.pattern import compiled
from agent_pty.host.terminal import pages
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.ops.op import LARGEST_PAGE
from support.spool import new_ring

ALL = 1 << 20


class Program:
    """Writes to a stream what a test tells it to."""

    def __init__(self, stream: TerminalOutput) -> None:
        self.stream = stream
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)

    def says(self, text: str) -> None:
        """Write, and let the stream take it."""
        data = text.encode()
        for start in range(0, len(data), 4096):
            os.write(self._write, data[start : start + 4096])
            self.stream.take(self._read)

    def close(self) -> None:
        """End."""
        os.close(self._read)
        os.close(self._write)
        self.stream.close()


@contextmanager
def program(*, keep: int = ALL) -> Iterator[Program]:
    """Give a program whose output is recorded in files of its own."""
    with tempfile.TemporaryDirectory() as directory:
        writer = Program(
            TerminalOutput.create(directory, new_ring(), rows=24, cols=80, keep=keep, nonce="5eed")
        )
        yield writer
        writer.close()


# Only what a transcript leaves as it is: no controls but the line feed.
TEXTS = st.lists(st.text("ab é€𝄞\u2028\n", max_size=40), max_size=6)


@given(texts=TEXTS, limit=st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_pages_add_up_to_the_text(texts: list[str], limit: int) -> None:
    """
    However small the pages, together they are the text: nothing twice, no half character.
    """
    with program() as writer:
        for text in texts:
            writer.says(text.replace("\n", "\r\n"))
        found = [pages.page(writer.stream, since=None, limit=limit)]
        while found[-1].more:
            found.append(pages.page(writer.stream, since=found[-1].cursor, limit=limit))

        assert "".join(page.text for page in found) == "".join(texts)
        assert all(len(page.text.encode()) <= max(4, limit) for page in found)
        assert all(page.gap is None for page in found)
        assert found[-1].cursor == writer.stream.cursor


def test_a_reader_goes_on_where_it_stopped() -> None:
    """
    A page from the last cursor has what came since, and nothing if nothing came.
    """
    with program() as writer:
        writer.says("one\r\ntw")
        first = pages.page(writer.stream, since=None, limit=ALL)
        writer.says("o\r\nthree")

        second = pages.page(writer.stream, since=first.cursor, limit=ALL)
        third = pages.page(writer.stream, since=second.cursor, limit=ALL)

        assert (first.text, second.text, third.text) == ("one\ntw", "o\nthree", "")


def test_a_line_rewritten_since_is_read_again() -> None:
    """
    Who was shown `10%` of a progress bar gets the line as it is now, whole.
    """
    with program() as writer:
        writer.says("start\r\n 10%")
        first = pages.page(writer.stream, since=None, limit=ALL)
        writer.says("\r 99%")
        second = pages.page(writer.stream, since=first.cursor, limit=ALL)
        writer.says("\r100%\r\ndone\r\n")

        third = pages.page(writer.stream, since=second.cursor, limit=ALL)

        assert (first.text, second.text) == ("start\n 10%", " 99%")
        assert third.text == "100%\ndone\n"


def test_a_cursor_from_the_future_is_the_end() -> None:
    """
    Who asks for text that is yet to come gets nothing, and the place to go on.
    """
    with program() as writer:
        writer.says("text")

        found = pages.page(writer.stream, since=10_000, limit=ALL)

        assert (found.text, found.cursor, found.more) == ("", writer.stream.cursor, False)


def test_text_that_is_gone_is_a_gap() -> None:
    """
    The page begins with the oldest text there is, and says what is missing before it.
    """
    line = "x" * 79 + "\r\n"
    with program(keep=1000) as writer:
        writer.says("first\r\n")
        begin = pages.page(writer.stream, since=None, limit=ALL).cursor
        # Three segments of 8 MiB: the oldest is dropped.
        for _ in range(45):
            writer.says(line * 5000)

        found = pages.page(writer.stream, since=begin, limit=100)

        assert found.gap is not None
        assert found.gap.start == begin
        assert found.gap.end > 8_000_000
        assert found.more
        assert pages.page(writer.stream, since=None, limit=100).gap is None


def test_the_tail_is_the_last_lines() -> None:
    """
    The unfinished line counts as one; no lines are no text.
    """
    with program() as writer:
        writer.says("one\r\ntwo\r\nthree")

        assert pages.tail(writer.stream, lines=2, limit=ALL).text == "two\nthree"
        assert pages.tail(writer.stream, lines=99, limit=ALL).text == "one\ntwo\nthree"
        assert pages.tail(writer.stream, lines=0, limit=ALL).text == ""
        assert pages.tail(writer.stream, lines=1, limit=ALL).cursor == writer.stream.cursor


def test_only_a_line_feed_ends_a_line() -> None:
    """
    Other characters at which Python would cut are part of their line.
    """
    odd = "a\u2028b\u2029c"
    with program() as writer:
        writer.says(f"before\r\n{odd}\r\n")

        tail = pages.tail(writer.stream, lines=1, limit=ALL)
        page = pages.page(writer.stream, since=None, limit=ALL)

        assert tail.text == f"{odd}\n"
        assert pages.matching(page, compiled("c")).text == f"{odd}\n"


def test_a_tail_that_does_not_fit_says_so() -> None:
    """
    If the lines asked for are longer than the limit, a gap tells that the beginning is missing.
    """
    with program() as writer:
        writer.says("0123456789\r\n" * 10)

        whole = pages.tail(writer.stream, lines=2, limit=50)
        cut = pages.tail(writer.stream, lines=9, limit=50)

        assert (whole.text, whole.gap) == ("0123456789\n" * 2, None)
        assert cut.gap is not None
        assert cut.gap.end == 110 - 50
        assert cut.text == ("0123456789\n" * 10)[-50:]


def test_must_hold_3_a_page_has_as_many_bytes_as_fit() -> None:
    """
    A page is cut only within a character; one character is the least it has.
    """
    with program() as writer:
        writer.says("ab€cd")

        found = [pages.page(writer.stream, since=None, limit=limit).text for limit in range(1, 8)]

        assert found == ["a", "ab", "ab", "ab", "ab€", "ab€c", "ab€cd"]
        assert pages.page(writer.stream, since=2, limit=1).text == "€"


def test_must_hold_3_a_long_tail_comes_in_pages() -> None:
    """
    The last lines begin where they begin, however far back; the cursor leads to the rest.
    """
    with program(keep=1 << 30) as writer:
        lines = [f"{number:>9}" for number in range(60_000)]
        writer.says("\r\n".join(lines))
        wanted = "\n".join(lines[-50_000:])

        first = pages.tail(writer.stream, lines=50_000, limit=1 << 30)
        rest = pages.page(writer.stream, since=first.cursor, limit=1 << 30)
        cut = pages.tail(writer.stream, lines=50_000, limit=300_000)

        assert (len(first.text), first.gap, first.more) == (LARGEST_PAGE, None, True)
        assert first.text + rest.text == wanted
        assert cut.gap is not None
        assert cut.text == wanted[-300_000:][:LARGEST_PAGE]


@given(texts=TEXTS, lines=st.integers(0, 12), limit=st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_must_hold_3_the_tail_is_the_end_of_the_text(
    texts: list[str], lines: int, limit: int
) -> None:
    """
    The last lines of the text, or as much of them as fits, beginning with a whole character.
    """
    with program() as writer:
        for text in texts:
            writer.says(text.replace("\n", "\r\n"))
        whole = "".join(texts)
        last = "".join(list(io.StringIO(whole, newline="\n"))[-lines:]) if lines else ""

        found = pages.tail(writer.stream, lines=lines, limit=limit)

        assert last.endswith(found.text)
        assert found.cursor == writer.stream.cursor
        assert found.text == last or found.gap is not None
        assert len(last.encode()) > limit - 3 or found.text == last


def test_only_matching_lines_are_kept() -> None:
    """
    The lines that match, in their order; the place to go on is that of the whole page.
    """
    with program() as writer:
        writer.says("error: a\r\nfine\r\nerror: b")
        page = pages.page(writer.stream, since=None, limit=ALL)

        found = pages.matching(page, compiled("^error"))

        assert found.text == "error: a\nerror: b"
        assert (found.cursor, found.more) == (page.cursor, page.more)


def test_an_empty_match_keeps_its_line() -> None:
    """
    `^$` finds empty lines, and a pattern that needs nothing finds all.
    """
    with program() as writer:
        writer.says("a\r\n\r\nb\r\n")
        page = pages.page(writer.stream, since=None, limit=ALL)

        assert pages.matching(page, compiled("^$")).text == "\n"
        assert pages.matching(page, compiled("x*")).text == "a\n\nb\n"


def test_pages_of_whole_lines_cut_no_line() -> None:
    """
    A page that is searched ends with a line: half of one could match, or fail to.
    """
    with program() as writer:
        writer.says("first\r\nsecond\r\nthird\r\n")

        one = pages.page(writer.stream, since=None, limit=10, whole_lines=True)
        two = pages.page(writer.stream, since=one.cursor, limit=10, whole_lines=True)
        small = pages.page(writer.stream, since=None, limit=4, whole_lines=True)

        assert (one.text, one.more) == ("first\n", True)
        assert two.text == "second\n"
        assert small.text == "firs"
