"""The prompt of a program without marks, as it was learned from the cells before."""

from __future__ import annotations


class LearnedPrompt:
    """Tells the prompt from output that precedes it on its line (`abc$ `), where that is known."""

    def __init__(self) -> None:
        self._line: str | None = None
        self._prompt = ""

    def ended(self, line: str, before: str | None) -> None:
        """A cell ended at *line*; *before* is the prompt it was typed at, None if of another."""
        self._line = line
        known = (before or "").rstrip()
        # As `without_prompt` has it, which has given the rest of the line as output.
        self._prompt = before if before and known and line.rstrip().endswith(known) else line

    def at(self, line: str) -> str:
        """Return the prompt that *line* ends with, as far as it is known."""
        return self._prompt if line == self._line else line
