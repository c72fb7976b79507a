"""Lines that a shell may have read and not run, because it waits for the rest of them. Pure.

Whether it still waits is not always known. What is typed while a command runs may be taken by that
command, and a prompt that is drawn later may be the one after an earlier command. Then both are
possible, and what comes next is judged for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Lines that belong together; none: the shell waits for a new command."""

    lines: tuple[str, ...] = ()
    # When so many prompts have been drawn, the shell has given them up.
    prompts: int = 0
    # Whether the shell has them, and no program that ran when they were typed.
    sure: bool = True
    # What would end them.
    end: str = ""


Possible = tuple[Unfinished, ...]
NOTHING: Possible = (Unfinished(),)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads what is typed next: the shell at a prompt, or what it runs before that."""

    # So many prompts, at most, are drawn before the shell reads what is typed next.
    prompts: int = 1
    # Whether the shell may not get it, because a command takes it or it is thrown away.
    runs: bool = True

    def submitted(self, commands: int = 1) -> Reader:
        """Whole commands were typed."""
        return Reader(prompts=self.prompts + commands) if commands else self

    def given_up(self) -> Reader:
        """Ctrl-C was typed: a prompt follows, before which shells throw away what is typed."""
        return Reader(prompts=max(1, self.prompts))

    def ended(self) -> Reader:
        """A command has ended; the shell reads the next one if that was typed already."""
        return replace(self, runs=self.prompts > 1)

    def prompted(self) -> Reader:
        """A prompt was drawn."""
        left = max(0, self.prompts - 1)
        return Reader(prompts=left, runs=left > 0)

    def continued(self, before: Unfinished, line: str, end: str | None) -> Unfinished:
        """Return what is unfinished after one more line, which *end* would end; None: nothing."""
        if end is None:
            return Unfinished()
        lines = (*before.lines, line)
        if before.lines:
            return replace(before, lines=lines, end=end)
        return Unfinished(lines, prompts=self.prompts + 1, sure=not self.runs, end=end)


# A shell runs its start-up files before its first prompt.
STARTING = Reader()
# It has read everything that was typed before.
AT_PROMPT = Reader(prompts=0, runs=False)


def after_prompt(possible: Possible) -> Possible:
    """Return what may be unfinished when one more prompt has been drawn."""
    return distinct(one for before in possible for one in _after_prompt(before))


def _after_prompt(before: Unfinished) -> Possible:
    if before.prompts <= 1:
        return NOTHING
    left = replace(before, prompts=before.prompts - 1)
    return (left,) if before.sure else (left, *NOTHING)


def distinct(possible: Iterable[Unfinished]) -> Possible:
    """Return each possibility once."""
    return tuple(dict.fromkeys(possible))
