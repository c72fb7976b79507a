from dataclasses import dataclass

import pytest

from agent_pty.core.condition import (
    PROMPT_SETTLES,
    AnyOf,
    CellOutcome,
    Ended,
    Exit,
    Idle,
    Machine,
    Output,
    Prompt,
    ScreenDrawn,
    Search,
    Start,
    Text,
    Tick,
    literal,
    machine,
)
from agent_pty.errors import BadRequest, UnknownCell


@dataclass
class Seen:
    """What a fake session shows; it notes what was looked at."""

    text: str = ""
    before: str = ""
    after: str = ""
    screen: str = ""
    at_prompt: bool = False


@dataclass
class Expensive:
    """A session that must not be looked at without need."""

    @property
    def text(self) -> str:
        """Fail."""
        raise AssertionError("the text was computed")

    before = after = text

    @property
    def screen(self) -> str:
        """Fail."""
        raise AssertionError("the screen was rendered")

    @property
    def at_prompt(self) -> bool:
        """Fail."""
        raise AssertionError("the prompt was looked for")


NOTHING = Seen()
PROMPT = Seen(at_prompt=True)


def compiled(pattern: str) -> Search:
    """Search for a pattern that is plain text, and say that it was compiled."""

    def search(text: str, *, before: str = "", after: str = "") -> str | None:
        del before, after
        return f"<{pattern}>" if pattern in text else None

    return search


def unheard(cell_id: str) -> str | None:
    """Know no cell."""
    raise UnknownCell("unknown cell", cell_id=cell_id)


def made(condition: str, *, since: float = 0.0, outcome: CellOutcome = unheard) -> Machine:
    """Return the machine of a condition."""
    return machine(condition, compiled=compiled, outcome=outcome, since=since)


# -- text


def test_text_that_is_there_already_counts() -> None:
    """
    A wait that begins after the text has come is met at once, also with no time to wait.
    """
    assert made("ready").feed(Start(at=0.0, view=Seen(text="all ready\n"))) == "ready"


def test_text_that_comes_later_counts() -> None:
    """
    Each output is looked at, until the text is there.
    """
    text = made("ready")

    assert text.feed(Start(at=0.0, view=NOTHING)) is None
    assert text.feed(Output(at=1.0, view=Seen(text="rea"))) is None
    assert text.feed(Output(at=2.0, view=Seen(text="ready"))) == "ready"


def test_text_on_the_screen_counts() -> None:
    """
    What a program draws is found when the screen is looked at.
    """
    text = made("ready")

    assert text.feed(Output(at=1.0, view=Seen(screen="ready"))) is None
    assert text.feed(ScreenDrawn(at=1.0, view=Seen(screen="ready"))) == "ready"


def test_last_words_count() -> None:
    """
    Text that came together with the end of the program is found.
    """
    assert made("bye").feed(Ended(at=1.0, view=Seen(text="bye\n"))) == "bye"


def test_text_wants_no_tick() -> None:
    """
    Text does not appear because time passes, so nothing is computed for it.
    """
    text = made("ready")

    assert text.deadline is None
    assert text.feed(Tick(at=9.0, view=Expensive())) is None


def test_a_screen_wait_looks_only_at_the_screen() -> None:
    """
    Text that scrolled by does not satisfy it and is not even computed.
    """
    screen = made("screen:menu")

    for event in (
        Start(at=0.0, view=Expensive()),
        Output(at=0.0, view=Expensive()),
        Ended(at=0.0, view=Expensive()),
    ):
        assert screen.feed(event) is None
    assert screen.feed(ScreenDrawn(at=0.0, view=Seen(screen="a menu"))) == "<menu>"


def test_a_regex_is_compiled_and_answers_what_it_found() -> None:
    """
    The part after the colon is the pattern, with every further colon in it.
    """
    found = made("regex:a:b").feed(Start(at=0.0, view=Seen(text="xa:by")))

    assert found == "<a:b>"


# -- prompt


def test_a_prompt_that_stands_still_counts() -> None:
    """
    A prompt that has been there for a while is met at once.
    """
    assert made("prompt", since=1.0).feed(Start(at=5.0, view=PROMPT)) == "prompt"


def test_a_prompt_must_settle() -> None:
    """
    Output that looks like a prompt may go on: only what stands still is believed.
    """
    prompt = made("prompt", since=1.0)

    assert prompt.feed(Start(at=1.0, view=PROMPT)) is None
    assert prompt.deadline == 1.0 + PROMPT_SETTLES
    assert prompt.feed(Output(at=1.02, view=PROMPT)) is None
    assert prompt.feed(Tick(at=1.0 + PROMPT_SETTLES, view=PROMPT)) is None
    assert prompt.deadline == 1.02 + PROMPT_SETTLES
    assert prompt.feed(Tick(at=1.02 + PROMPT_SETTLES, view=PROMPT)) == "prompt"


def test_a_settled_line_that_is_no_prompt_is_looked_at_once() -> None:
    """
    No prompt appears without output, so there is nothing to tick for until then.
    """
    prompt = made("prompt", since=0.0)

    assert prompt.feed(Start(at=5.0, view=NOTHING)) is None
    assert prompt.deadline is None
    assert prompt.feed(Tick(at=6.0, view=Expensive())) is None
    assert prompt.feed(Output(at=7.0, view=Expensive())) is None
    assert prompt.deadline == 7.0 + PROMPT_SETTLES
    assert prompt.feed(Tick(at=8.0, view=PROMPT)) == "prompt"


def test_a_dead_program_has_no_prompt() -> None:
    """
    Neither the end nor a look at the screen makes a prompt.
    """
    prompt = made("prompt", since=0.0)

    assert prompt.feed(Ended(at=9.0, view=PROMPT)) is None
    assert prompt.feed(ScreenDrawn(at=9.0, view=PROMPT)) is None


# -- idle


def test_output_postpones_idle() -> None:
    """
    Output restarts the quiet period; the tick armed before it proves nothing.
    """
    idle = made("idle:2s", since=0.0)

    assert idle.feed(Start(at=0.0, view=Expensive())) is None
    assert idle.deadline == 2.0
    assert idle.feed(Output(at=1.5, view=Expensive())) is None
    assert idle.feed(Tick(at=2.0, view=Expensive())) is None
    assert idle.deadline == 3.5
    assert idle.feed(Tick(at=3.5, view=Expensive())) == "idle"


def test_quiet_before_the_wait_counts() -> None:
    """
    A session that has been quiet for long enough is idle at once.
    """
    assert made("idle:2s", since=1.0).feed(Start(at=3.0, view=NOTHING)) == "idle"
    assert made("idle:2s", since=1.0).feed(Start(at=2.9, view=NOTHING)) is None


def test_no_quiet_at_all_is_always_there() -> None:
    """
    `idle:0` is met by whatever happens first.
    """
    assert made("idle:0", since=5.0).feed(Start(at=5.0, view=NOTHING)) == "idle"
    assert made("idle:0ms", since=5.0).feed(Output(at=5.0, view=NOTHING)) == "idle"


# -- exit


def test_only_the_end_is_an_exit() -> None:
    """
    Nothing that a program shows is taken for its end.
    """
    leaving = made("exit")

    assert leaving.deadline is None
    for event in (
        Start(at=0.0, view=Expensive()),
        Output(at=0.0, view=Expensive()),
        ScreenDrawn(at=0.0, view=Expensive()),
        Tick(at=0.0, view=Expensive()),
    ):
        assert leaving.feed(event) is None
    assert leaving.feed(Ended(at=0.0, view=Expensive())) == "exit"


# -- cells


def test_a_cell_is_asked_about_whatever_happens() -> None:
    """
    It may end with output or without: each event asks, and what is told is what was found.
    """
    told: dict[str, str | None] = {"abc": None}
    waiting = made("cell:abc", outcome=told.__getitem__)

    assert waiting.feed(Start(at=0.0, view=Expensive())) is None
    assert waiting.feed(Output(at=1.0, view=Expensive())) is None
    told["abc"] = "done"
    assert waiting.feed(Tick(at=2.0, view=Expensive())) == "done"


def test_a_cell_that_nobody_knows_is_refused_at_once() -> None:
    """
    Waiting for it would be waiting for ever.
    """
    with pytest.raises(UnknownCell):
        made("cell:abc")


# -- the grammar


@pytest.mark.parametrize(
    ("condition", "kind"),
    [("prompt", Prompt), ("exit", Exit), ("idle:2s", Idle), ("regex:x", Text), ("screen:x", Text)],
)
def test_each_word_has_its_machine(condition: str, kind: type) -> None:
    """
    The words of the seed, and one of ours.
    """
    assert type(made(condition)) is kind


@pytest.mark.parametrize(
    "condition",
    ["prompt:", "prompt: yes", "exit:", "exit code 0", "idle", "Prompt", " exit", "http://x", "::"],
)
def test_what_only_looks_like_a_word_is_text(condition: str) -> None:
    """
    Everything else is waited for literally, colons and all.
    """
    found = made(condition).feed(Start(at=0.0, view=Seen(text=f"say {condition} now")))

    assert found == condition


def test_a_literal_is_not_a_pattern() -> None:
    """
    Dots and stars mean themselves.
    """
    assert literal("a.c")("abc") is None
    assert literal("a.c")("xa.cx") == "a.c"


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("", "empty condition: give text, regex:P, screen:P, prompt, idle:2s, cell:ID or exit"),
        ("regex:", "empty pattern in 'regex:'"),
        ("screen:", "empty pattern in 'screen:'"),
        ("idle:", 'invalid idle time ""'),
        ("idle:soon", 'invalid idle time "soon"'),
        ("idle:-1s", 'invalid idle time "-1s"'),
        ("x" * 4097, "a condition of 4097 characters; at most 4096"),
    ],
)
def test_a_mistake_is_named(condition: str, message: str) -> None:
    """
    The message has what was written and what may be.
    """
    with pytest.raises(BadRequest) as caught:
        made(condition)

    assert str(caught.value).startswith(message)


def whole_line(pattern: str) -> Search:
    """Search for a whole line that is *pattern*."""

    def search(text: str, *, before: str = "", after: str = "") -> str | None:
        whole = pattern in text.split("\n") and not before and not after
        return pattern if whole else None

    return search


@pytest.mark.parametrize(
    ("search", "text", "line"),
    [
        (whole_line("error"), "no error\nerror\nerror", "error"),
        (literal("here"), "one\nerror here: 7  \n", "error here: 7"),
        (literal("an error\nover"), "one\nan error\nover two\n", "an error"),
    ],
)
def test_trial_20_the_answer_has_the_line_of_the_match(
    search: Search, text: str, line: str
) -> None:
    """
    Of several lines with the same text, the one that matches is the answer's line.
    """
    conditions = AnyOf([("c", False, Text(search))])

    met = conditions.feed(Output(at=0.0, view=Seen(text=text)))

    assert met is not None
    assert met.line == line
