"""An agent with plain tmux: it types, pauses, looks at the screen, and looks again if need be."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from functools import partial

from bench.tasks.tool import Answer, Failed, Tool

# The prompt of the shell, which the start-up file of a task sets, alone on the last line.
SHELL = r"(?:^|\n)ready>\Z"
# The guides pause for half a second. Looking less and less often is kinder to tmux.
_PAUSES = (0.5, 1.0, 2.0)
_LOOKS = 60


def pauses() -> Iterator[Callable[[], None]]:
    """Yield what to call between two looks, until an agent would give up."""
    lengths = itertools.chain(_PAUSES, itertools.repeat(_PAUSES[-1]))
    for length in itertools.islice(lengths, _LOOKS):
        # An agent that cannot wait for a sign pauses: that is the subject here.
        yield partial(time.sleep, length)  # noqa: TID251


class TmuxAgent:
    """Sessions of one private server, in the size that tmux gives them."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    def tmux(self, *words: str) -> Answer:
        """Run one command of tmux."""
        return self._tool.call(["tmux", *words])

    def new(self, *sessions: str) -> None:
        """Start a shell in each session."""
        for session in sessions:
            self.tmux("new-session", "-d", "-s", session)

    def type(self, session: str, *words: str) -> Answer:
        """Type words and press keys, without looking."""
        # tmux takes a semicolon at the end of a word for the end of its command.
        safe = (word[:-1] + r"\;" if word.endswith(";") else word for word in words)
        return self.tmux("send-keys", "-t", session, "--", *safe)

    def look(self, session: str) -> str:
        """Return the screen and what has left it lately, without the empty rows below."""
        argv = ("capture-pane", "-p", "-J", "-t", session, "-S", "-200")
        return self.tmux(*argv).text.rstrip()

    def until(self, session: str, sign: str) -> str:
        """Look until the pattern *sign* shows."""
        seen = ""
        for pause in pauses():
            pause()
            seen = self.look(session)
            if re.search(sign, seen):
                return seen
        raise Failed(f"{sign!r} never showed; last seen: {seen[-500:]!r}")

    def press(self, session: str, *keys: str, sign: str) -> str:
        """Press keys, then look until *sign* shows."""
        self.type(session, *keys)
        return self.until(session, sign)

    def run(self, session: str, line: str, sign: str = SHELL) -> str:
        """Type a line with Enter, then look until *sign* shows."""
        return self.press(session, line, "Enter", sign=sign)

    def end(self) -> None:
        """End all sessions."""
        self.tmux("kill-server")
