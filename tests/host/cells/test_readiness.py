"""Whether a program can be given a command: by its marks, else by observation."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator

import pytest

from agent_pty.core.tty_state import TtyState, Verdict
from agent_pty.host.cells.cell import CellStart
from agent_pty.host.cells.foreground import Foreground, Reader
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.terminal.terminal import Terminal
from support.terminal import NONCE, Program, program

AT_PROMPT = TtyState(
    reading=True, own=True, line_mode=True, echo=True, alternate=False, line="bash-5.2$ "
)
BASH = Foreground(tty=AT_PROMPT, reader=Reader(pid=100, naps=5), name="bash", drawn=0, image=1)


class Observation:
    """Takes the place of `observe`: answers *seen* and counts how often it was asked."""

    def __init__(self, seen: Foreground = BASH) -> None:
        self.seen = seen
        self.count = 0

    def __call__(self, terminal: Terminal) -> Foreground:
        """Observe."""
        del terminal
        self.count += 1
        return self.seen


@pytest.fixture
def foreground(monkeypatch: pytest.MonkeyPatch) -> Observation:
    """The foreground as the test says it is."""
    fake = Observation()
    monkeypatch.setattr("agent_pty.host.cells.readiness.observe", fake)
    return fake


@pytest.fixture
def one() -> Iterator[Program]:
    """A terminal with nothing on it."""
    with program() as opened:
        yield opened


def mark(kind: str, number: int | None = None) -> str:
    """Write a mark as an integrated program does."""
    counted = "" if number is None else f".{number}"
    return f"\x1b]133;{kind};apty={NONCE}{counted}\x07"


def prompt(number: int) -> str:
    """Write a whole marked prompt."""
    return f"{mark('D', number)}$ {mark('B', number)}"


def tell(readiness: Readiness, one: Program, text: str) -> None:
    """Let the program write, and give its marks to *readiness*, with `changed` cleared before."""
    readiness.changed.clear()
    for placed in one.says(text):
        readiness.mark(placed)


def seen(*, image: int = 1, drawn: int = 0, **state: object) -> Foreground:
    """Return an observation of bash at its prompt, but for what is given."""
    tty = dataclasses.replace(AT_PROMPT, **state)  # type: ignore[arg-type]  # fields of TtyState
    return dataclasses.replace(BASH, tty=tty, image=image, drawn=drawn)


def started(*, prompt: str = "$ ", drawn: int = 0) -> CellStart:
    """Return a cell that was typed at *prompt*."""
    return CellStart(
        cell_id="0123456789ab",
        frame="ladder",
        typed=0,
        lines=["x"],
        echoed=True,
        line_mode=True,
        drawn=drawn,
        number=None,
        prompt=prompt,
        began=0.0,
        limit=None,
    )


# -- marks


def test_nothing_is_known_of_a_new_program(one: Program) -> None:
    """
    A program that has sent nothing is not ready, has no marks and no number.
    """
    readiness = Readiness(one.terminal, program="bash")

    assert (readiness.ready, readiness.marks, readiness.number) == (None, False, None)
    assert readiness.program == "bash"


@pytest.mark.usefixtures("foreground")
def test_a_marked_prompt_makes_ready(one: Program) -> None:
    """
    The mark of a prompt makes ready, gives its number and sets `changed`.
    """
    readiness = Readiness(one.terminal, program="bash")

    tell(readiness, one, prompt(3))

    assert (readiness.ready, readiness.marks, readiness.number) == ("marks", True, 3)
    assert readiness.changed.is_set()


@pytest.mark.usefixtures("foreground")
@pytest.mark.parametrize("after", [mark("C", 3), mark("D", 4), mark("P", 3)])
def test_any_other_mark_ends_readiness(one: Program, after: str) -> None:
    """
    A program that runs a command or asks for the rest of one is not ready.
    """
    readiness = Readiness(one.terminal, program="bash")
    tell(readiness, one, prompt(3))

    tell(readiness, one, after)

    assert readiness.ready is None
    assert readiness.marks
    assert readiness.changed.is_set()


@pytest.mark.parametrize(
    ("last", "ready", "number"),
    [
        ("", "marks", 3),
        (mark("C", 3), None, 3),
        (mark("P", 3), None, 3),
        (mark("D", 4), None, 4),
    ],
)
def test_the_last_mark_of_a_recovered_terminal_counts(
    one: Program, last: str, ready: str | None, number: int
) -> None:
    """
    A host that takes over a terminal knows from its last mark whether the program is ready.
    """
    one.says(prompt(3) + last)

    readiness = Readiness(one.terminal, program="bash")

    assert (readiness.ready, readiness.marks, readiness.number) == (ready, True, number)


@pytest.mark.usefixtures("foreground")
def test_a_line_that_was_entered_ends_readiness(one: Program) -> None:
    """
    After Enter the program is not ready until it says so again.
    """
    readiness = Readiness(one.terminal, program="bash")
    tell(readiness, one, prompt(1))
    readiness.changed.clear()

    readiness.entered()
    after_enter = readiness.ready
    set_by_enter = readiness.changed.is_set()
    tell(readiness, one, prompt(2))

    assert (after_enter, set_by_enter) == (None, True)
    assert (readiness.ready, readiness.number) == ("marks", 2)


# -- observation


def test_a_program_without_marks_can_be_accepted(one: Program) -> None:
    """
    A program that reads can be declared ready, which sets `changed`.
    """
    readiness = Readiness(one.terminal, program=None)

    readiness.accept()

    assert readiness.ready == "tty"
    assert readiness.changed.is_set()


def test_a_prompt_that_is_observed_makes_ready(one: Program) -> None:
    """
    Without marks, the verdict that a prompt stands there makes ready.
    """
    readiness = Readiness(one.terminal, program=None)

    verdict = readiness.judge(BASH, None)

    assert verdict is Verdict.PROMPT
    assert readiness.ready == "tty"
    assert readiness.changed.is_set()


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (seen(reading=False), Verdict.BUSY),
        (seen(line="Name: "), Verdict.INPUT),
        (seen(line="Password: ", echo=False), Verdict.SECRET),
        (seen(alternate=True), Verdict.SCREEN),
    ],
)
def test_any_other_verdict_does_not_make_ready(
    one: Program, state: Foreground, verdict: Verdict
) -> None:
    """
    A program that works or asks a person is not ready for a command.
    """
    readiness = Readiness(one.terminal, program=None)

    judged = readiness.judge(state, None)

    assert judged is verdict
    assert readiness.ready is None
    assert not readiness.changed.is_set()


@pytest.mark.usefixtures("foreground")
def test_an_observed_prompt_does_not_replace_a_marked_one(one: Program) -> None:
    """
    A program that is ready by its marks stays so, whatever prompt of another is observed.
    """
    readiness = Readiness(one.terminal, program="bash")
    tell(readiness, one, prompt(1))

    verdict = readiness.judge(seen(own=False), None)

    assert verdict is Verdict.PROMPT
    assert readiness.ready == "marks"


@pytest.mark.usefixtures("foreground")
def test_a_program_with_marks_must_mark_its_prompt(one: Program) -> None:
    """
    What looks like a prompt of a program that sends marks makes nothing ready until it is marked.
    """
    readiness = Readiness(one.terminal, program="bash")
    tell(readiness, one, prompt(1) + mark("C", 1))

    verdict = readiness.judge(BASH, None)

    assert verdict is Verdict.UNMARKED
    assert readiness.ready is None


@pytest.mark.usefixtures("foreground")
def test_a_program_that_lost_its_marks_is_observed(one: Program) -> None:
    """
    After its marks were forgotten, a prompt without a mark makes ready.
    """
    readiness = Readiness(one.terminal, program="bash")
    tell(readiness, one, prompt(1) + mark("C", 1))

    readiness.forget_marks()
    known = (readiness.marks, readiness.number)
    verdict = readiness.judge(BASH, None)

    assert known == (False, None)
    assert verdict is Verdict.PROMPT
    assert readiness.ready == "tty"


def test_a_program_that_replaced_itself_is_observed(one: Program, foreground: Observation) -> None:
    """
    A program that became another one after its first prompt need not mark its prompt.
    """
    readiness = Readiness(one.terminal, program="bash")
    foreground.seen = seen(image=1)
    tell(readiness, one, prompt(1))
    foreground.seen = seen(image=2)
    tell(readiness, one, prompt(2) + mark("C", 2))

    same = readiness.judge(seen(image=1), None)
    replaced = readiness.judge(seen(image=2), None)

    assert (same, replaced) == (Verdict.UNMARKED, Verdict.PROMPT)


def test_the_prompt_before_the_cell_is_known_again(one: Program) -> None:
    """
    A line that looks like no prompt is one if it stood there when the cell was typed.
    """
    readiness = Readiness(one.terminal, program=None)
    state = seen(line="what now ")

    without = readiness.judge(state, None)
    with_cell = readiness.judge(state, started(prompt="what now "))

    assert (without, with_cell) == (Verdict.INPUT, Verdict.PROMPT)


@pytest.mark.parametrize(
    ("drawn", "verdict"), [(4, Verdict.INPUT), (5, Verdict.INPUT), (6, Verdict.SCREEN)]
)
def test_much_that_was_drawn_since_the_cell_began_is_a_full_screen(
    one: Program, drawn: int, verdict: Verdict
) -> None:
    """
    A program that drew twice outside its line since the cell began has the whole screen.
    """
    readiness = Readiness(one.terminal, program=None)
    state = seen(own=False, line_mode=False, line="top", drawn=drawn)

    assert readiness.judge(state, started(drawn=4)) is verdict
    assert readiness.judge(state, None) is Verdict.INPUT


@pytest.mark.usefixtures("foreground")
@pytest.mark.parametrize(("name", "verdict"), [("node", Verdict.BUSY), ("bash", Verdict.UNMARKED)])
def test_a_program_that_always_polls_is_busy_until_its_mark(
    one: Program, name: str, verdict: Verdict
) -> None:
    """
    A program with one event loop reads its keyboard all the time, so only its marks count.
    """
    readiness = Readiness(one.terminal, program=name)
    tell(readiness, one, prompt(1) + mark("C", 1))

    assert readiness.judge(seen(polling=True), None) is verdict


def test_a_program_that_always_polls_is_observed_before_its_first_mark(one: Program) -> None:
    """
    As long as no mark came, even such a program is judged by its prompt.
    """
    readiness = Readiness(one.terminal, program="node")

    assert readiness.judge(seen(polling=True), None) is Verdict.PROMPT


# -- what is observed at a prompt


def test_a_marked_prompt_is_not_looked_up(one: Program, foreground: Observation) -> None:
    """
    A program that marked its prompt is taken as the reader, without an observation.
    """
    readiness = Readiness(one.terminal, program="bash")
    tell(readiness, one, prompt(1))
    before = foreground.count

    found = readiness.observe_at_prompt()

    assert foreground.count == before
    assert (found.tty.reading, found.tty.own, found.tty.line) == (True, True, "$ ")
    assert found.reader is not None
    assert found.reader.pid == os.getpid()


def test_an_observed_prompt_is_looked_up_again(one: Program, foreground: Observation) -> None:
    """
    Without a mark, the reader at the prompt is observed when it is needed.
    """
    readiness = Readiness(one.terminal, program=None)
    readiness.accept()

    found = readiness.observe_at_prompt()

    assert foreground.count == 1
    assert found is BASH
