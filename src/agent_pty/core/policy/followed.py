"""What was found in shell text: its commands, what nobody can know, and its comments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from agent_pty.core.policy.field import Field, texts

# Where something stands in the text.
Span = tuple[int, int]


class Nothing:
    """Standard input is the terminal."""


# What a command reads: known text, None for text that is not known, or nothing.
Stdin = str | None | type[Nothing]


class SubCommand(NamedTuple):
    """A program with its arguments; *assigned* are variables for it alone, *guess*: perhaps one."""

    fields: tuple[Field, ...]
    span: Span
    assigned: dict[str, str]
    guess: bool = False

    @property
    def argv(self) -> list[str]:
        """The words alone."""
        return texts(self.fields)


@dataclass(slots=True)
class Followed:
    """Everything that was found in some text."""

    commands: list[SubCommand] = field(default_factory=list)
    opaque: list[tuple[str, Span]] = field(default_factory=list)
    comments: list[tuple[str, Span]] = field(default_factory=list)
    doubtful: bool = False

    def doubt(self) -> None:
        """Note that a part of the text is no shell text."""
        self.doubtful = True


@dataclass(frozen=True, slots=True)
class Place:
    """Where nested text stands: how deep, inside of which aliases and functions.

    Its spans are those of the command that brought it.
    """

    found: Followed
    depth: int = 0
    expanding: frozenset[str] = frozenset()
    within: Span | None = None
