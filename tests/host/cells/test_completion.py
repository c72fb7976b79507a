from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from agent_pty.core.tty_state import TtyState, Verdict
from agent_pty.host.cells.capture import Capture
from agent_pty.host.cells.cell import CellStart, Result
from agent_pty.host.cells.completion import (
    INCOMPLETE,
    Completion,
    Exact,
    Ladder,
    Repeat,
    completion_of,
)
from agent_pty.host.cells.foreground import Foreground, Reader
from agent_pty.ops.cell_model import Status
from support.terminal import NONCE, Program

READER, ANOTHER = 100, 200
# Looks without a change after which even a program that seems busy is taken to stand still.
STILL = 8


def mark(kind: str, number: int | None = None, code: str = "") -> str:
    """Write a mark as an integrated program does."""
    counted = "" if number is None else f".{number}"
    return f"\x1b]133;{kind};{code};apty={NONCE}{counted}\x07"


def seen(line: str = "", *, pid: int | None = READER, own: bool = True) -> Foreground:
    """Observe a terminal where *pid* reads, or nobody."""
    tty = TtyState(
        reading=pid is not None, own=own, line_mode=True, echo=True, alternate=False, line=line
    )
    reader = Reader(pid=pid, naps=1) if pid is not None else None
    return Foreground(tty=tty, reader=reader, name="program", image=1, drawn=0)


class Terminal(Program):
    """A real terminal whose program is the test, and at most one cell."""

    capture: Capture | None = None
    completion: Completion | None = None

    def types(
        self,
        *lines: str,
        frame: str = "ladder",
        echoed: bool = True,
        line_mode: bool = False,
    ) -> None:
        """Begin a cell as `CellRunner` does: the code is typed at what stands there."""
        pending = self.output.transcript.pending
        start = CellStart(
            cell_id="0123456789ab",
            frame=frame,
            typed=self.output.log.committed + len(pending),
            lines=list(lines),
            echoed=echoed,
            line_mode=line_mode,
            drawn=0,
            number=None,
            prompt=pending.decode(),
            began=0.0,
            limit=None,
            reader=READER,
        )
        self.capture = Capture(start, self.output)
        self.completion = completion_of(self.capture)

    def answers(self, text: str) -> Result | None:
        """Let the program write, and tell what decides the end."""
        assert self.completion is not None
        return self.completion.output(self.says(text))

    def shows(
        self, verdict: Verdict, same: int = 1, *, pid: int | None = READER, own: bool = True
    ) -> Result | None:
        """Observe what stands there, and tell what decides the end."""
        assert self.completion is not None
        line = self.output.transcript.pending.decode()
        return self.completion.observed(verdict, seen(line, pid=pid, own=own), same)

    def text(self, result: Result | None) -> str:
        """Return the output of a cell that ended well, whole."""
        assert result is not None
        assert (result.status, result.error) == (Status.DONE, None)
        pages = [result.output.read(self.output.log, 0, 1 << 16)]
        while pages[-1].more:
            pages.append(result.output.read(self.output.log, pages[-1].next, 1 << 16))
            assert pages[-1].text, "a page without text that is not the last"
        return "".join(page.text for page in pages)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal with nothing on it."""
    opened: AbstractContextManager[Terminal] = closing(Terminal(tmp_path))
    with opened as one:
        yield one


@pytest.mark.parametrize(
    ("asked", "kind"),
    [("ladder", Ladder), ("", Ladder), ("exact:(gdb)", Exact), ("repeat", Repeat)],
)
def test_the_frame_is_as_asked_for(terminal: Terminal, asked: str, kind: type[Completion]) -> None:
    """
    Nobody who says nothing gets anything but the ladder.
    """
    terminal.types("x", frame=asked)

    assert isinstance(terminal.completion, kind)


# -- the ladder: marks

PROMPT = mark("D", 1) + "$ " + mark("B", 1)
C, D = mark("C", 1), mark("D", 2, "3")


def test_output_lies_between_its_marks(terminal: Terminal) -> None:
    """
    Neither the echo before nor the prompt behind it, and the status is that of the mark.
    """
    terminal.says(PROMPT)
    terminal.types("ls")

    result = terminal.answers(f"ls\n{C}a\n\n  b\n{D}$ {mark('B', 2)}")

    assert terminal.text(result) == "a\n\n  b"
    assert result is not None
    assert (result.frame, result.exit_code, result.cell_id) == ("marks", 3, "0123456789ab")


@pytest.mark.parametrize(
    ("written", "output"),
    [
        ("abc", "abc"),
        ("abc\n", "abc"),
        ("abc\n\n", "abc\n"),
        ("", ""),
        ("\n", ""),
        ("a\nb", "a\nb"),
        ("10%\r50%\r100%\n", "100%"),
        ("$ ", "$ "),
        ("漢\n𝄞", "漢\n𝄞"),
    ],
)
def test_the_last_line_end_is_no_output(terminal: Terminal, written: str, output: str) -> None:
    """
    Everything else is, to the letter, as the line looks in the end.
    """
    terminal.says(PROMPT)
    terminal.types("x")

    assert terminal.text(terminal.answers(f"x\n{C}{written}{D}")) == output


def test_marks_may_come_one_by_one(terminal: Terminal) -> None:
    """
    Until the mark of the end there is no end, however long it takes.
    """
    terminal.says(PROMPT)
    terminal.types("x")

    assert terminal.answers("x") is None
    assert terminal.answers("\n") is None
    assert terminal.answers(C) is None
    assert terminal.answers("a\nb") is None
    assert terminal.text(terminal.answers(D)) == "a\nb"


def test_output_begins_with_the_first_mark_that_says_so(terminal: Terminal) -> None:
    """
    A second command of the same cell does not take the output of the first.
    """
    terminal.says(PROMPT)
    terminal.types("x")

    result = terminal.answers(f"x\n{C}a\n{C}b\n{D}")

    assert terminal.text(result) == "a\nb"


@pytest.mark.parametrize("written", ["out", "out\n", "out\nmore"])
def test_output_may_begin_on_the_line_of_the_echo(terminal: Terminal, written: str) -> None:
    """
    The mark says where, also in the middle of a line that ends later, or never.
    """
    terminal.says(PROMPT)
    terminal.types("x")

    assert terminal.text(terminal.answers(f"x{C}{written}{D}")) == written.removesuffix("\n")


def test_without_a_mark_of_the_beginning_it_is_behind_the_echo(terminal: Terminal) -> None:
    """
    A program with a fixed prompt marks only that: the line that was typed ends its echo.
    """
    terminal.says(f"{mark('D')}sqlite> {mark('B')}")
    terminal.types("select 1;")

    assert terminal.text(terminal.answers(f"select 1;\n1\n{mark('D')}sqlite> ")) == "1"


def test_a_line_that_was_not_echoed_is_not_missed(terminal: Terminal) -> None:
    """
    With the echo off, output begins where the code was typed.
    """
    terminal.says(f"{mark('D')}$ ")
    terminal.types("x", echoed=False)

    assert terminal.text(terminal.answers(f"\nhidden\n{mark('D')}")) == "\nhidden"


def test_text_that_looks_like_a_mark_ends_nothing(terminal: Terminal) -> None:
    """
    Without the nonce it is text, and with an old number it is a recording.
    """
    terminal.says(PROMPT)
    terminal.types("x")

    assert terminal.answers(f"x\n{C}\x1b]133;D;0\x07{mark('D', 1)}still\n") is None
    assert terminal.text(terminal.answers(D)) == "still"


def test_trial_13_a_shell_that_marks_its_exit_is_awaited(terminal: Terminal) -> None:
    """
    Fish marks the end of `exit` too, so its cells end when the next prompt shows that it lives.
    """
    terminal.says(PROMPT)
    terminal.types("ls")
    assert terminal.capture is not None
    terminal.completion = completion_of(terminal.capture, marks_exit=True)

    marked = terminal.answers(f"ls\n{C}a\n{D}")
    busy = terminal.shows(Verdict.BUSY, 99, pid=None)
    prompt = terminal.answers(f"$ {mark('B', 2)}")

    assert (marked, busy) == (None, None)
    assert terminal.text(prompt) == "a"
    assert prompt is not None
    assert prompt.exit_code == 3


def test_trial_13_a_shell_that_reads_again_has_not_exited(terminal: Terminal) -> None:
    """
    Without the mark of the next prompt, a shell that reads is at it.
    """
    terminal.says(PROMPT)
    terminal.types("ls")
    assert terminal.capture is not None
    terminal.completion = completion_of(terminal.capture, marks_exit=True)
    terminal.answers(f"ls\n{C}a\n{D}$ ")

    assert terminal.text(terminal.shows(Verdict.INPUT, 0)) == "a"


# -- the ladder: looks


def test_a_prompt_ends_a_command_where_nobody_marks(terminal: Terminal) -> None:
    """
    When it was seen twice: the first look may have come between two writes.
    """
    terminal.says(">>> ")
    terminal.types("1")
    terminal.answers("1\n1\n>>> ")

    first = terminal.shows(Verdict.PROMPT, 0)
    second = terminal.shows(Verdict.PROMPT, 1)

    assert first is None
    assert terminal.text(second) == "1"
    assert second is not None
    assert (second.frame, second.exit_code) == ("tty", None)


@pytest.mark.parametrize("verdict", [Verdict.BUSY, Verdict.INPUT, Verdict.SECRET, Verdict.SCREEN])
def test_only_a_prompt_is_the_end(terminal: Terminal, verdict: Verdict) -> None:
    """
    A program that asks, or is busy, goes on, however long it stands still.
    """
    terminal.says(">>> ")
    terminal.types("input()")
    terminal.answers("input()\n")

    assert terminal.shows(verdict, 1000) is None


@pytest.mark.parametrize(
    ("written", "pid", "output"),
    [
        ("abc>>> ", READER, "abc"),
        ("a\nb>>> ", READER, "a\nb"),
        (">>> ", READER, ""),
        ("a\n>>> ", ANOTHER, "a"),
        ("a\n(Pdb) ", READER, "a"),
        ("a\nxy>>> ", ANOTHER, "a"),
    ],
)
def test_output_may_stand_before_the_prompt(
    terminal: Terminal, written: str, pid: int, output: str
) -> None:
    """
    On the line of the prompt of before, if the same program shows it; another's has nothing else.
    """
    terminal.says(">>> ")
    terminal.types("x")
    terminal.answers(f"x\n{written}")

    assert terminal.text(terminal.shows(Verdict.PROMPT, pid=pid)) == output


def test_several_lines_are_one_cell(terminal: Terminal) -> None:
    """
    The echo of each goes, wherever it stands.
    """
    terminal.says(">>> ")
    terminal.types("print(1)", "print(2)")
    terminal.answers("print(1)\n1\n>>> print(2)\n2\n>>> ")

    assert terminal.text(terminal.shows(Verdict.PROMPT)) == "1\n2"


def test_several_lines_may_have_a_large_output(terminal: Terminal) -> None:
    """
    However much was written between the echoes, the end is not lost; late echoes may stay in it.
    """
    terminal.says(">>> ")
    terminal.types("f()", "g()")
    terminal.answers("f()\n" + ("x" * 1023 + "\n") * 1025 + ">>> g()\nlast\n>>> ")

    output = terminal.text(terminal.shows(Verdict.PROMPT))

    assert output.endswith("\nlast")
    assert output.count("x") == 1023 * 1025


def test_a_command_that_is_not_whole_is_an_error(terminal: Terminal) -> None:
    """
    The shell asks for the rest: nobody will give it, so the cell is over and says why.
    """
    terminal.says(PROMPT)
    terminal.types("echo 'x")
    terminal.answers(f"echo 'x\n{mark('P', 1)}> ")

    result = terminal.shows(Verdict.INPUT, 0)

    assert result is not None
    assert (result.status, result.error) == (Status.ERROR, INCOMPLETE)
    assert result.output.size == 0


def test_a_command_that_is_still_read_may_become_whole(terminal: Terminal) -> None:
    """
    While nobody reads, or another program does, the continuation prompt says nothing.
    """
    terminal.says(PROMPT)
    terminal.types("echo 'x")
    terminal.answers(f"echo 'x\n{mark('P', 1)}> ")

    assert terminal.shows(Verdict.BUSY, 99, pid=None) is None
    assert terminal.shows(Verdict.INPUT, 99, own=False) is None


# -- the exact prompt


def test_the_exact_prompt_is_the_end(terminal: Terminal) -> None:
    """
    On the unfinished line of a program that reads; the blank behind it does not matter.
    """
    terminal.says("(gdb) ")
    terminal.types("p 1", frame="exact:(gdb) ")
    terminal.answers("p 1\n$1 = 1\n(gdb) ")

    result = terminal.shows(Verdict.INPUT, 0)

    assert terminal.text(result) == "$1 = 1"
    assert result is not None
    assert result.frame == "exact"


def test_a_printed_prompt_is_output(terminal: Terminal) -> None:
    """
    A line that ends, or a program that is still busy, is not the end.
    """
    terminal.says("(gdb) ")
    terminal.types("x", frame="exact:(gdb)")

    assert terminal.answers("x\n(gdb)\n(gdb) ") is None
    assert terminal.shows(Verdict.BUSY, STILL - 1, pid=None) is None
    assert terminal.answers("more\n") is None
    assert terminal.shows(Verdict.INPUT, 99) is None
    terminal.answers("(gdb) ")
    assert terminal.text(terminal.shows(Verdict.INPUT, 0)) == "(gdb)\n(gdb) more"


def test_a_prompt_that_stands_still_is_believed(terminal: Terminal) -> None:
    """
    Where it cannot be seen who reads, time has to do.
    """
    terminal.says("(gdb) ")
    terminal.types("x", frame="exact:(gdb)")
    terminal.answers("x\ny\n(gdb) ")

    assert terminal.shows(Verdict.BUSY, 0, pid=None) is None
    assert terminal.text(terminal.shows(Verdict.BUSY, STILL, pid=None)) == "y"


def test_output_may_stand_before_the_exact_prompt(terminal: Terminal) -> None:
    """
    A program that wrote no line end has its output kept.
    """
    terminal.says("(gdb) ")
    terminal.types("x", frame="exact:(gdb)")
    terminal.answers("x\nno-nl(gdb) ")

    assert terminal.text(terminal.shows(Verdict.INPUT)) == "no-nl"


def test_another_prompt_is_not_the_end(terminal: Terminal) -> None:
    """
    Exact is exact: neither a mark nor what looks like a prompt will do.
    """
    terminal.says("(gdb) ")
    terminal.types("x", frame="exact:(gdb)")

    assert terminal.answers(f"x\n{mark('C')}y\n{mark('D')}>>> ") is None
    assert terminal.shows(Verdict.PROMPT, 99) is None


# -- five Enters


def prompts(count: int) -> str:
    """Show the prompt so often, each but the last with its Enter."""
    return "\n".join([">>> "] * count)


def test_the_prompt_five_times_more_is_the_end(terminal: Terminal) -> None:
    """
    What stands before it is the output.
    """
    terminal.says(">>> ")
    terminal.types("f()", frame="repeat")
    assert terminal.answers(f"f()\na\n\n  b\n{prompts(3)}") is None
    assert terminal.shows(Verdict.PROMPT) is None
    terminal.answers("\n" + prompts(3))

    result = terminal.shows(Verdict.PROMPT)

    assert terminal.text(result) == "a\n\n  b"
    assert result is not None
    assert result.frame == "repeat"


def test_prompts_of_a_busy_program_may_be_output(terminal: Terminal) -> None:
    """
    Until somebody reads, or all stands still, they are not counted.
    """
    terminal.says(">>> ")
    terminal.types("f()", frame="repeat")
    terminal.answers(f"f()\na\n{prompts(6)}")

    assert terminal.shows(Verdict.BUSY, STILL - 1, pid=None) is None
    assert terminal.text(terminal.shows(Verdict.BUSY, STILL, pid=None)) == "a"


def test_repeat_needs_no_output(terminal: Terminal) -> None:
    """
    A command that wrote nothing has six prompts behind its echo.
    """
    terminal.says(">>> ")
    terminal.types("pass", frame="repeat")
    terminal.answers(f"pass\n{prompts(6)}")

    assert terminal.text(terminal.shows(Verdict.PROMPT)) == ""


@pytest.mark.parametrize("output", ["abc", "a\nb", ""])
def test_prompts_may_stand_behind_the_output(terminal: Terminal, output: str) -> None:
    """
    Where the kernel echoed the Enters at once, all prompts follow on the line of the output.
    """
    terminal.says("# ")
    terminal.types("printf", frame="repeat", line_mode=True)
    terminal.answers(f"printf\n\n\n\n\n\n{output}" + "# " * 6)

    result = terminal.shows(Verdict.PROMPT)

    assert terminal.text(result) == output


def test_a_second_cell_finds_the_prompt_in_a_row_of_them(terminal: Terminal) -> None:
    """
    What stands there before the second cell are six prompts of the first.
    """
    terminal.says("# " * 6)
    terminal.types("echo a", frame="repeat", line_mode=True)
    terminal.answers("echo a\n\n\n\n\n\na\n" + "# " * 6)

    assert terminal.text(terminal.shows(Verdict.PROMPT)) == "a"


@pytest.mark.parametrize("shift", range(3))
def test_a_large_output_is_cut_at_its_prompts(terminal: Terminal, shift: int) -> None:
    """
    Only the last megabyte is looked at, which may begin within a character: no byte is gained.
    """
    output = "漢漢漢漢漢漢漢漢漢\n" * 40_000 + "x" * shift + "end\n"
    terminal.says(">>> ")
    terminal.types("f()", frame="repeat")
    terminal.answers(f"f()\n{output}{prompts(6)}")

    result = terminal.shows(Verdict.PROMPT)

    assert result is not None
    assert result.output.size == len(output.encode()) - 1


@pytest.mark.parametrize("frame", ["ladder", "exact:$", "repeat"])
def test_a_frame_holds_nothing(terminal: Terminal, frame: str) -> None:
    """
    Closing it is allowed at any time, and twice.
    """
    terminal.types("x", frame=frame)
    assert terminal.completion is not None

    terminal.completion.close()
    terminal.completion.close()
