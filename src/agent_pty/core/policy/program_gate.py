"""The gate of programs that are no shells: lines for them are judged by what leads out of them."""

from __future__ import annotations

from collections.abc import Callable

from agent_pty.core.policy.input_line import InputLine
from agent_pty.core.policy.line_gate import Judgement
from agent_pty.core.policy.policy_file import Policy
from agent_pty.core.policy.program_text import judged_text


class ProgramGate:
    """Follows what is typed into REPLs, editors, pagers and whatever else reads keys.

    *changed* is called whenever the line is another one.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.line = InputLine()
        self._changed = changed

    def become(self, line: InputLine) -> None:
        """Know this line from now on."""
        self.line = line
        self._changed()

    def judge(self, family: str | None, keys: str, policy: Policy) -> Judgement:
        """Judge what these keys would make a program run; *family* None: it is not known.

        Keys that move something are the program's own affair, so no line is opaque here.
        """
        line = self.line.copy()
        texts = [one.text for one in line.feed(keys) if one is not None]
        line.forget_opaque()
        command = "\n".join(texts)

        verdict = judged_text(family, command, policy)
        return Judgement(verdict=verdict, command=command, accept=lambda: self.become(line))
