"""What a command runs in its turn: another program, text for a shell, or what nobody knows."""

from __future__ import annotations

from dataclasses import dataclass

from agent_pty.core.policy.field import Field, texts
from agent_pty.core.policy.shell_scope import Scope

# What a shell calls itself that was given no name.
UNNAMED = "bash"


@dataclass(frozen=True, slots=True)
class Argv:
    """Another program with its arguments; *guess*: perhaps it is only data."""

    fields: list[Field]
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """Text that another shell runs; if it *reads*, then *stdin*, which may not be known.

    *name* is its `$0`.
    """

    text: str
    positional: tuple[str, ...] = ()
    stdin: str | None = None
    reads: bool = False
    name: str = UNNAMED


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something runs that cannot be known before."""

    reason: str


CarriedOut = Argv | Script | Opaque


@dataclass(frozen=True, slots=True)
class Call:
    """A command: *piped*, it reads something, which is *stdin* if that is known."""

    fields: list[Field]
    scope: Scope
    stdin: str | None
    piped: bool

    @property
    def rest(self) -> list[Field]:
        """Everything after the program's name."""
        return self.fields[1:]

    @property
    def words(self) -> list[str]:
        """The same as text."""
        return texts(self.fields[1:])


def base(name: str) -> str:
    """Return the name of a program without its directory."""
    return name.rpartition("/")[2]
