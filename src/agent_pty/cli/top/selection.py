"""What a person does in `top`: choose, filter, answer a question. Keys in, orders out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from agent_pty.cli.top.sorting import DEFAULT, arranged
from agent_pty.cli.top.table import Row, printable

_HELP = "up/down  enter attach  i interrupt  x kill  / filter  s n c m t sort  q quit"
_SORTS = {"s": "state", "n": "name", "c": "cpu", "m": "memory", "t": "time"}
_MOVES = {"up": -1, "k": -1, "down": 1, "j": 1, "page-up": -10, "page-down": 10}
_ENDS = {"home": 0, "g": 0, "end": -1, "G": -1}


class Do(Enum):
    """What a key can order."""

    LEAVE = "leave"
    REDRAW = "redraw"
    ATTACH = "attach"
    INTERRUPT = "interrupt"
    KILL = "kill"

    @property
    def past(self) -> str:
        """The past tense, to report that it was done."""
        return "killed" if self is Do.KILL else f"{self.value}ed"


_ON_ROW = {"enter": Do.ATTACH, "i": Do.INTERRUPT}
_ANY_TIME = {"ctrl-c": Do.LEAVE, "ctrl-l": Do.REDRAW}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What must be done, and to which session."""

    do: Do
    row: Row | None = None


class Menu:
    """The rows to choose from, the chosen one, and what is asked or typed at the bottom."""

    def __init__(self, *, sort: str = DEFAULT) -> None:
        self.rows: Sequence[Row] = ()
        self._sort = sort
        self.filter = ""
        self._note = ""
        self._all: Sequence[Row] = ()
        self._chosen: str | None = None
        self._index = 0
        self._kill_question: Row | None = None
        self._typing = False

    @property
    def index(self) -> int:
        """Where the chosen row is; 0 if there is none."""
        return self._index

    @property
    def chosen(self) -> Row | None:
        """The chosen row."""
        return self.rows[self._index] if self.rows else None

    @property
    def heading(self) -> str:
        """The line at the top."""
        count, running = len(self._all), sum(row.state == "running" for row in self._all)
        text = f"agent-pty: {count} session{'' if count == 1 else 's'}, {running} running"
        text += f", {len(self.rows)} with {self.filter!a}" if self.filter else ""
        return text if self._sort == DEFAULT else f"{text}, by {self._sort}"

    @property
    def footer(self) -> str:
        """The line at the bottom."""
        if self._kill_question is not None:
            return f"kill {printable(self._kill_question.id)} with all its processes? y/n"
        if self._typing:
            return f"/{printable(self.filter)}_   enter keep  escape clear"
        return printable(self._note) or _HELP

    def say(self, note: str) -> None:
        """Show a note at the bottom, until the next key."""
        self._note = note

    def show(self, rows: Sequence[Row]) -> None:
        """Show the current sessions; the chosen one stays chosen, wherever it is in the list."""
        self._all = arranged(rows, self._sort)
        self.rows = [row for row in self._all if self.filter.casefold() in row.id.casefold()]
        places = {row.instance: place for place, row in enumerate(self.rows)}
        # If the chosen one is gone, the next one takes its place.
        last = max(0, len(self.rows) - 1)
        self._choose(places.get(self._chosen or "", min(self._index, last)))

    def _choose(self, index: int) -> None:
        self._index = index
        chosen = self.chosen
        # While no row matches the filter, the choice is remembered.
        self._chosen = chosen.instance if chosen else self._chosen

    def feed(self, key: str) -> Order | None:
        """Handle a key; None if only the screen must be drawn again."""
        self._note = ""
        if key in _ANY_TIME:
            return Order(do=_ANY_TIME[key])
        if self._kill_question is not None:
            return self._answered(key)
        if self._typing:
            self._typed(key)
            return None
        return self._pressed(key)

    def _answered(self, key: str) -> Order | None:
        """Kill the session that the question was about, by its instance: names may have changed."""
        asked, self._kill_question = self._kill_question, None
        now = [row for row in self._all if asked and row.instance == asked.instance]
        return Order(do=Do.KILL, row=now[0]) if now and key in ("y", "Y") else None

    def _typed(self, key: str) -> None:
        if key in ("enter", "escape"):
            self._typing = False
        if key == "escape":
            self.filter = ""
        if key == "backspace":
            self.filter = self.filter[:-1]
        if len(key) == 1:
            self.filter += key
        self.show(self._all)

    def _pressed(self, key: str) -> Order | None:
        if key == "q":
            return Order(do=Do.LEAVE)
        if key == "/":
            self._typing = True
        if key == "escape":
            self.filter = ""
        self._sort = _SORTS.get(key, self._sort)
        self.show(self._all)
        if self.chosen is None:
            return None
        if key in _MOVES:
            self._choose(min(max(0, self._index + _MOVES[key]), len(self.rows) - 1))
        if key in _ENDS:
            self._choose(_ENDS[key] % len(self.rows))
        if key == "x":
            self._kill_question = self.chosen
        return Order(do=_ON_ROW[key], row=self.chosen) if key in _ON_ROW else None
