from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.tty_state import Known, TtyState, Verdict, judge

# A shell that edits its line at a prompt; each test says what is different.
SHELL = TtyState(reading=True, own=True, line_mode=False, echo=False, alternate=False, line="$ ")
# Another program that the shell started and that reads a line.
READER = replace(SHELL, own=False, line_mode=True, echo=True)
UNKNOWN = Known()
MARKS = Known(prompt="$ ", marks=True, line_mode=False)

# Reason -> the tty, what is known, the verdict.
CASES: dict[str, tuple[TtyState, Known, Verdict]] = {
    "nobody reads": (replace(SHELL, reading=False), UNKNOWN, Verdict.BUSY),
    "nobody reads, whatever stands there": (
        replace(SHELL, reading=False, line_mode=True, line="Password: "),
        UNKNOWN,
        Verdict.BUSY,
    ),
    "nobody reads the full screen": (
        replace(SHELL, reading=False, alternate=True),
        UNKNOWN,
        Verdict.BUSY,
    ),
    "a full screen that waits for keys": (
        replace(READER, line_mode=False, alternate=True, line=""),
        UNKNOWN,
        Verdict.SCREEN,
    ),
    "a full screen is no prompt, whatever its last line": (
        replace(SHELL, alternate=True, line="$ "),
        UNKNOWN,
        Verdict.SCREEN,
    ),
    "a full screen that is drawn for seconds and never read": (
        replace(READER, reading=False, alternate=True, kept=True, line=""),
        UNKNOWN,
        Verdict.SCREEN,
    ),
    "a pager on the screen that everybody has": (
        replace(READER, line_mode=False, line="(END)"),
        Known(full_screen=True),
        Verdict.SCREEN,
    ),
    "a program that drew all over the screen that everybody has": (
        replace(READER, line_mode=False, line=""),
        Known(drawn=True),
        Verdict.SCREEN,
    ),
    "much was drawn, but the prompt is back": (SHELL, Known(drawn=True), Verdict.PROMPT),
    "much was drawn, then a line is asked for": (
        replace(READER, line="name? "),
        Known(drawn=True),
        Verdict.INPUT,
    ),
    "much was drawn by the session's own line editor": (
        replace(SHELL, line="name? "),
        Known(drawn=True),
        Verdict.INPUT,
    ),
    "a line that looks like a prompt": (replace(SHELL, line="a@b:~$ "), UNKNOWN, Verdict.PROMPT),
    "a prompt without line editing": (
        replace(SHELL, line_mode=True, echo=True, line="# "),
        UNKNOWN,
        Verdict.PROMPT,
    ),
    "the prompt of a program that a shell started": (
        replace(READER, line=">>> "),
        UNKNOWN,
        Verdict.PROMPT,
    ),
    "the prompt of before, which looks like none": (
        replace(SHELL, line="ready when you are "),
        Known(prompt="ready when you are "),
        Verdict.PROMPT,
    ),
    "the prompt of before, its blank lost": (
        replace(SHELL, line="ready"),
        Known(prompt="ready "),
        Verdict.PROMPT,
    ),
    "the prompt of before behind output without a line end": (
        replace(SHELL, line="abc!! "),
        Known(prompt="!! "),
        Verdict.PROMPT,
    ),
    "a prompt of one sign, alone": (replace(SHELL, line="! "), Known(prompt="!"), Verdict.PROMPT),
    "a sign that may end any line": (
        replace(READER, line="Really! "),
        Known(prompt="!"),
        Verdict.INPUT,
    ),
    "an empty line was the prompt, so it tells nothing": (
        replace(READER, line=""),
        Known(prompt="  "),
        Verdict.INPUT,
    ),
    "a question": (replace(READER, line="name? "), UNKNOWN, Verdict.INPUT),
    "a question to a line editor": (
        replace(SHELL, own=False, line="name? "),
        UNKNOWN,
        Verdict.INPUT,
    ),
    "no word at all (`cat`)": (replace(READER, line=""), UNKNOWN, Verdict.INPUT),
    "a line that is not shown": (
        replace(READER, echo=False, line="Password: "),
        UNKNOWN,
        Verdict.SECRET,
    ),
    "a line editor shows the line itself": (
        replace(READER, line_mode=False, echo=False, line="Password: "),
        UNKNOWN,
        Verdict.INPUT,
    ),
    "a prompt that nobody marked in a program that marks": (SHELL, MARKS, Verdict.UNMARKED),
    "`read` of a shell that marks, with a prompt of its own": (
        replace(SHELL, line_mode=True, echo=True),
        MARKS,
        Verdict.INPUT,
    ),
    "`read -s` of a shell that marks": (
        replace(SHELL, line_mode=True),
        MARKS,
        Verdict.SECRET,
    ),
    "a shell that marks became its like without marks": (
        SHELL,
        replace(MARKS, replaced=True),
        Verdict.PROMPT,
    ),
    "a shell that marks became another program": (
        replace(SHELL, line_mode=True, echo=True, line=">>> "),
        replace(MARKS, replaced=True),
        Verdict.PROMPT,
    ),
    "another program asks, under a shell that marks": (
        replace(READER, line=">>> "),
        MARKS,
        Verdict.PROMPT,
    ),
    "another program asks for a secret, under a shell that marks": (
        replace(READER, echo=False, line="[sudo] password for me: "),
        MARKS,
        Verdict.SECRET,
    ),
}


PYTHON = replace(MARKS, prompt=">>> ", asks=True)
READLINE = replace(MARKS, edits=True)

# Reason -> the tty, what is known, the verdict; all of programs that mark their prompts.
UNMARKED: dict[str, tuple[TtyState, Known, Verdict]] = {
    "another prompt": (replace(SHELL, line="new> "), MARKS, Verdict.UNMARKED),
    "a line that its editor has": (
        replace(SHELL, edits=True, line="name? "),
        READLINE,
        Verdict.UNMARKED,
    ),
    "a prompt-like question without the editor": (SHELL, READLINE, Verdict.INPUT),
    "a prompt that is written elsewhere": (
        replace(SHELL, mute=True, line=""),
        READLINE,
        Verdict.UNMARKED,
    ),
    "a question that is written elsewhere": (
        replace(SHELL, mute=True, line_mode=True, echo=True, line=""),
        READLINE,
        Verdict.INPUT,
    ),
    "a question of code that asks as its prompt does": (
        replace(SHELL, line="> "),
        PYTHON,
        Verdict.INPUT,
    ),
    "its own prompt, shown by other code": (
        replace(SHELL, line=">>> "),
        PYTHON,
        Verdict.UNMARKED,
    ),
    "a debugger in it": (replace(SHELL, line="(Pdb) "), PYTHON, Verdict.UNMARKED),
    "a debugger of IPython in it": (replace(SHELL, line="ipdb> "), PYTHON, Verdict.UNMARKED),
    "`read` after the marks were lost": (
        replace(SHELL, line_mode=True, echo=True),
        replace(MARKS, marks=False),
        Verdict.INPUT,
    ),
}


@pytest.mark.parametrize("reason", UNMARKED)
def test_trial_09_a_prompt_may_be_without_its_mark(reason: str) -> None:
    """
    A program that marks its prompts and reads as it does there may have lost its marks.
    """
    tty, known, verdict = UNMARKED[reason]

    assert judge(tty, known) is verdict


RELAY = replace(SHELL, own=False, polling=True, relays=True)

# Reason -> the line behind a relay, the verdict.
RELAYED: dict[str, tuple[str, Verdict]] = {
    "nothing": ("", Verdict.BUSY),
    "output that is not complete": ("Compiling", Verdict.BUSY),
    "progress": ("45% (450/1000)", Verdict.BUSY),
    "the learned prompt": ("ready ", Verdict.PROMPT),
    "what looks like a prompt": ("me@host:~$ ", Verdict.PROMPT),
    "what ends as prompts of shells do": ("inner:/usr$ ", Verdict.PROMPT),
    "a price": ("30$ ", Verdict.BUSY),
    "a question": ("Name: ", Verdict.INPUT),
    "a question for a secret": ("[sudo] password for me: ", Verdict.SECRET),
}


@pytest.mark.parametrize("reason", RELAYED)
def test_trial_07_behind_a_relay_only_the_line_counts(reason: str) -> None:
    """
    A relay always reads: what is on the other side of it is judged by the line alone.
    """
    line, verdict = RELAYED[reason]

    assert judge(replace(RELAY, line=line), Known(prompt="ready ")) is verdict


def test_trial_07_a_full_screen_behind_a_relay_is_one() -> None:
    """
    The alternate screen shows that a full-screen program runs on the other side; so does drawing.
    """
    assert judge(replace(RELAY, alternate=True, line=""), UNKNOWN) is Verdict.SCREEN
    assert judge(replace(RELAY, line="1 root"), Known(drawn=True)) is Verdict.SCREEN


@pytest.mark.parametrize("reason", CASES)
def test_who_sits_at_the_keyboard_tells_what_is_going_on(reason: str) -> None:
    """
    Each tty has one verdict, for the reason that names it.
    """
    tty, known, verdict = CASES[reason]

    assert judge(tty, known) is verdict


SEATS = st.builds(
    TtyState,
    reading=st.booleans(),
    own=st.booleans(),
    line_mode=st.booleans(),
    echo=st.booleans(),
    alternate=st.booleans(),
    line=st.sampled_from(("", "$ ", "name? ", "abc=> ", "=> ")),
)
KNOWNS = st.builds(
    Known,
    prompt=st.sampled_from((None, "", "$ ", "=> ")),
    marks=st.booleans(),
    drawn=st.booleans(),
    replaced=st.booleans(),
)


@given(tty=SEATS, known=KNOWNS)
def test_only_a_reader_is_waited_for(tty: TtyState, known: Known) -> None:
    """
    Whatever stands there: nobody reads means busy, and the full screen is never a prompt.
    """
    verdict = judge(tty, known)

    assert (verdict is Verdict.BUSY) == (not tty.reading)
    assert (verdict is Verdict.SCREEN) >= (tty.reading and tty.alternate)
    assert verdict is not Verdict.SECRET or (tty.line_mode and not tty.echo)


@given(tty=SEATS, known=KNOWNS)
def test_a_program_that_marks_is_taken_at_its_word(tty: TtyState, known: Known) -> None:
    """
    As long as it is the same program, a line of its own that it did not mark is no prompt.
    """
    quiet = replace(known, marks=True, replaced=False)

    assert judge(replace(tty, own=True), quiet) is not Verdict.PROMPT


def test_who_always_polls_says_itself_when_it_asks() -> None:
    """
    Node waits for its keyboard and for a promise at one place; only another program's wait counts.
    """
    polling = replace(SHELL, polling=True, line="")

    assert judge(polling, Known(marks=True, loops=True)) is Verdict.BUSY
    assert judge(polling, Known(marks=True)) is Verdict.INPUT
    assert judge(replace(polling, own=False), Known(marks=True, loops=True)) is Verdict.INPUT
