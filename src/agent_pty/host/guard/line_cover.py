"""The rules for which a typed line was approved: what it executes needs no second approval."""

from __future__ import annotations


class LineCover:
    """Told by the gate of the line, asked by the guard."""

    def __init__(self) -> None:
        self._rules: set[str] = set()

    def cover(self, rule: str) -> None:
        """A line was approved that this rule is about: so are its execs, until `uncover`."""
        self._rules.add(rule)

    def uncover(self) -> None:
        """The prompt is back."""
        self._rules.clear()

    def covers(self, rule: str | None) -> bool:
        """Whether an approved line runs that this rule is about."""
        return rule in self._rules
