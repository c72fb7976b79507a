"""Whether a terminal's output is stopped: by Ctrl-S (flow control), or by the program itself.

The kernel has no question for that, but it says whether the terminal takes more output. It takes
none while it is stopped, and for a moment whenever a program has just written more than we have
read. So there must be a second sign: the stop key was typed, or nothing has come for a while.
"""

from __future__ import annotations

import time

from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.tty import FlowKeys

# More than the kernel holds of what a program wrote before its terminal was stopped.
_MOST_ON_THE_WAY = 128 * 1024
# A program that could write would have been given the processor within this time.
_SILENCE = 1.0


class FlowControl:
    """Tells a stopped terminal from one that is only busy."""

    def __init__(self, output: TerminalOutput) -> None:
        self._output = output
        self._stop_typed_at: int | None = None  # how much the terminal had written by then

    def note_typed(self, data: bytes, keys: FlowKeys | None) -> None:
        """Look for the *keys* that stop and resume output; call it before *data* is typed."""
        if keys is None:
            return
        stop, start = data.rfind(keys.stop), data.rfind(keys.start)
        if stop > start:
            self._stop_typed_at = self._output.written
        elif start >= 0:
            self._stop_typed_at = None

    def is_paused(self, *, refuses: bool | None, quiet_since: float) -> bool | None:
        """Whether output is stopped; *refuses* is what `tty.refuses_output` says."""
        if not refuses:
            return refuses
        return self._stop_was_typed() or time.monotonic() - quiet_since > _SILENCE

    def _stop_was_typed(self) -> bool:
        """Whether the stop key was the last of the two, and has not lost its effect since."""
        typed_at = self._stop_typed_at
        return typed_at is not None and self._output.written - typed_at < _MOST_ON_THE_WAY
