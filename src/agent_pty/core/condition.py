"""Wait conditions. Pure: time is an argument, never a call.

The grammar of the seed (literal text, `regex:P`, `prompt`, `idle:2s`, `exit`) and two of
ours: `screen:P`, which looks only at the rendered screen, and `cell:ID`. Each condition
becomes a machine with one shape: `feed(event)` answers what it found or None, `deadline` is
when it wants a `Tick`. Patterns are per line: `^` and `$` match at the borders of each line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agent_pty.core.duration import seconds
from agent_pty.errors import BadRequest

# A shell draws its prompt and at once reads what was typed ahead: a prompt that stays
# unchanged this long waits for new input.
PROMPT_SETTLES = 0.03
_LONGEST_PATTERN = 4096


class Search(Protocol):
    """Search a text for a pattern or a literal."""

    def __call__(self, text: str, *, before: str = "", after: str = "") -> str | None:
        """Return what was found, or None.

        *before* and *after* are the characters next to *text* on the same line, which are not
        searched: where there is one, the border of *text* is no border of a line.
        """


# Returns how a cell ended, or that it waits for a person; None while it runs.
CellOutcome = Callable[[str], str | None]


class View(Protocol):
    """What can be seen of a session; each property is computed only when a machine reads it."""

    @property
    def text(self) -> str:
        """New transcript text since the last input, without the echo of what was typed."""

    @property
    def before(self) -> str:
        """The character before the text on the same line; empty at the start of a line."""

    @property
    def after(self) -> str:
        """The character after the text on the same line; empty where the line ends so far."""

    @property
    def screen(self) -> str:
        """Lines of the rendered screen that were not there at the last input."""

    @property
    def at_prompt(self) -> bool:
        """Whether the last line looks like a prompt that came after the last input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The wait begins; a condition that is true already is met."""

    at: float
    view: View


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The program wrote something."""

    at: float
    view: View


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenDrawn:
    """Something was drawn on the rendered screen, so it should be searched."""

    at: float
    view: View


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A deadline has passed."""

    at: float
    view: View


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The program is gone."""

    at: float
    view: View


Event = Start | Output | ScreenDrawn | Tick | Ended


class Machine(Protocol):
    """One condition, being waited for."""

    @property
    def deadline(self) -> float | None:
        """When to send the next `Tick`, if nothing else comes."""

    def feed(self, event: Event) -> str | None:
        """Answer what made the condition true; None means not yet."""


class Text:
    """Met when *search* finds something in new text or on the screen."""

    deadline = None

    def __init__(self, search: Search, *, screen_only: bool = False) -> None:
        self._search = search
        self._screen_only = screen_only

    def feed(self, event: Event) -> str | None:
        """Search what this event may have changed."""
        if isinstance(event, ScreenDrawn):
            return self._search(event.view.screen)
        if self._screen_only:
            return None
        if not isinstance(event, Start | Output | Ended):
            return None
        view = event.view
        return self._search(view.text, before=view.before, after=view.after)

    def line(self, event: Event, found: str) -> str:
        """Return the first line that matches; of a match over several lines, their first."""
        view = event.view
        drawn = isinstance(event, ScreenDrawn)
        lines = (view.screen if drawn else view.text).split("\n")
        before = "" if drawn else view.before
        for number, line in enumerate(lines):
            if self._search(line, before="" if number else before) is not None:
                return line.rstrip()
        return found.strip("\n").partition("\n")[0].rstrip()


class Prompt:
    """Met when a prompt stays unchanged."""

    def __init__(self, *, since: float) -> None:
        self._last = since
        self._asked = False

    @property
    def deadline(self) -> float | None:
        """Once after each output; a prompt does not appear without one."""
        return None if self._asked else self._last + PROMPT_SETTLES

    def feed(self, event: Event) -> str | None:
        """Look for a prompt when output has settled."""
        if isinstance(event, Output):
            self._last, self._asked = event.at, False
            return None
        due = event.at >= self._last + PROMPT_SETTLES
        if not isinstance(event, Start | Tick) or self._asked or not due:
            return None
        self._asked = True
        return "prompt" if event.view.at_prompt else None


class Idle:
    """Met once *quiet* seconds pass without output."""

    def __init__(self, quiet: float, *, since: float) -> None:
        self._quiet = quiet
        self._last = since

    @property
    def deadline(self) -> float:
        """When to send the next `Tick`; a later output moves it."""
        return self._last + self._quiet

    def feed(self, event: Event) -> str | None:
        """Start again at each output."""
        if isinstance(event, Output):
            self._last = event.at
        return "idle" if event.at >= self.deadline else None


class Exit:
    """Met when the program ends."""

    deadline = None

    def feed(self, event: Event) -> str | None:
        """Wait for the one event that matters."""
        return "exit" if isinstance(event, Ended) else None


class CellSettled:
    """Met when there is something to report about a cell."""

    deadline = None

    def __init__(self, cell_id: str, outcome: CellOutcome) -> None:
        self._cell = cell_id
        self._outcome = outcome
        outcome(cell_id)  # an unknown id is an error now, not a wait that never ends

    def feed(self, event: Event) -> str | None:
        """Ask at every event: any of them may have ended the cell."""
        del event
        return self._outcome(self._cell)


def literal(needle: str) -> Search:
    """Search for plain text, which has no borders."""

    def search(text: str, *, before: str = "", after: str = "") -> str | None:
        del before, after
        return needle if needle in text else None

    return search


def machine(
    condition: str, *, compiled: Callable[[str], Search], outcome: CellOutcome, since: float
) -> Machine:
    """Return the machine for one condition; *since* is the time of the last input or output."""
    if len(condition) > _LONGEST_PATTERN:
        raise BadRequest(f"a condition of {len(condition)} characters; at most {_LONGEST_PATTERN}")
    kind, colon, rest = condition.partition(":")
    if condition == "prompt":
        return Prompt(since=since)
    if condition == "exit":
        return Exit()
    if kind == "idle" and colon:
        return Idle(seconds(rest, what="idle time"), since=since)
    if kind in ("regex", "screen") and colon:
        if not rest:
            raise BadRequest(f"empty pattern in {condition!r}")
        return Text(compiled(rest), screen_only=kind == "screen")
    if kind == "cell" and colon:
        return CellSettled(rest, outcome)
    if not condition:
        raise BadRequest(
            "empty condition: give text, regex:P, screen:P, prompt, idle:2s, cell:ID or exit"
        )
    return Text(literal(condition))


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """The condition that came true, the text that made it so, and the line which that is in."""

    condition: str
    failing: bool
    found: str
    guess: bool = False  # a prompt that no mark confirms
    line: str | None = field(default=None, compare=False)


class AnyOf:
    """Several conditions, each with whether it means failure; the first that is met answers."""

    def __init__(self, machines: Sequence[tuple[str, bool, Machine]]) -> None:
        self._machines = machines

    @property
    def deadline(self) -> float | None:
        """The earliest of all."""
        deadlines = [test.deadline for _, _, test in self._machines]
        return min((one for one in deadlines if one is not None), default=None)

    def feed(self, event: Event) -> Met | None:
        """Give all of them the event, also those after one that is met."""
        met: Met | None = None
        for condition, failing, test in self._machines:
            found = test.feed(event)
            if found is None or met is not None:
                continue
            line = test.line(event, found) if isinstance(test, Text) else None
            met = Met(condition=condition, failing=failing, found=found, line=line)
        return met
