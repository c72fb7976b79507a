"""Tells the keeper what it cannot see of a pane: another pipe, and how its program ended."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from agent_pty.keeper.birth import birth
from agent_pty.keeper.channel import ChannelClosed
from agent_pty.keeper.link import KeeperError, KeeperLink
from agent_pty.keeper.message import Exit, Hold, NoteEnd
from agent_pty.ops.model import Ending


class TmuxCustodian:
    """See `terminal.tmux_device.Custodian`; *keeper* returns the present connection."""

    def __init__(self, keeper: Callable[[], KeeperLink], instance: str, pid: int) -> None:
        self.instance = instance
        self._keeper = keeper
        self._pid = pid

    async def reopened(self, fd: int) -> None:
        """Have the keeper hold another pipe; without a keeper, the next one gets it from us."""
        hold = Hold(instance=self.instance, pid=self._pid, birth=birth(self._pid), replaces=True)
        with contextlib.suppress(ChannelClosed, KeeperError):
            await self._keeper().ask(hold, [fd])

    async def ended(self, ending: Ending) -> None:
        """Have the keeper know the end; without a keeper, the daemon learns it from this host."""
        note = NoteEnd(instance=self.instance, ended=Exit(code=ending.code, signal=ending.signal))
        with contextlib.suppress(ChannelClosed, KeeperError):
            await self._keeper().ask(note)
