"""The end of a program: noticed even when the keeper, which reports its exit code, is gone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from agent_pty.process import table


class ExitWatch:
    """Calls *on_end* once, when the process has ended."""

    def __init__(self, pid: int, birth: float | None, on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._handle = -1
        loop = asyncio.get_running_loop()
        if not hasattr(os, "pidfd_open"):  # macOS: the end of the terminal must suffice
            return
        try:
            self._handle = os.pidfd_open(pid)
        except OSError:
            loop.call_soon(on_end)
            return
        found = table.entry(pid)
        if found is None or (birth is not None and found.birth != birth):
            self.close()
            loop.call_soon(on_end)
            return
        loop.add_reader(self._handle, self._ended)

    def _ended(self) -> None:
        self.close()
        self._on_end()

    def close(self) -> None:
        """Stop watching."""
        if self._handle >= 0:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1
