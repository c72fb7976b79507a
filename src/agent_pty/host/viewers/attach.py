"""People attached to a session: what they see of it, made safe for their own terminals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from agent_pty.core.safe import LEAVE_ALTERNATE, QUIET, Allowed, SafeOutput, one_line
from agent_pty.core.window import Window
from agent_pty.host import principal
from agent_pty.host.events import Attached, Batch, Detached, Event, Exited, Lost, Signal, Typed
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.host.viewers.buffer import Buffer
from agent_pty.host.viewers.size import AttachedSize

# If more than this is written between two reads, nobody could follow it: repaint instead.
_LIMIT = 128 * 1024
_CLEAR = b"\x1b[H\x1b[2J"
_ENTER_ALTERNATE = b"\x1b[?1049h"
# Repaints each second: for one viewer, and for all viewers of one session together.
_REPAINTS_EACH = 20
_REPAINTS_ALL = 200
_NOTICE_SECONDS = 5.0


@dataclass(slots=True, kw_only=True, eq=False)
class Viewer:
    """One person; what is for them waits in their buffer."""

    allowed: Allowed
    raw: bool
    window: Window
    # While it is shown, the viewer gets the screen with it instead of output.
    notice: str | None = None
    buffer: Buffer = field(default_factory=lambda: Buffer(limit=_LIMIT))


class Viewers:
    """A listener: everybody who is attached. What is the same for several is made once."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._emulator = terminal.output.emulator
        self._viewers: set[Viewer] = set()
        self._filters: dict[Allowed, SafeOutput] = {}
        self._size = AttachedSize(terminal)

    def __len__(self) -> int:
        return len(self._viewers)

    def notice(self, event: Event | Signal) -> None:
        """Show output; let everybody go when the session ends."""
        if isinstance(event, Batch):
            self._offer(event.data)
        elif isinstance(event, Typed) and event.kind == InputKind.ATTACH:
            self.end_notices()
        elif isinstance(event, Exited | Lost):
            self.close()

    def _offer(self, data: bytes) -> None:
        """Give everybody what the program wrote, except a viewer that has fallen behind."""
        safe: dict[Allowed, bytes | None] = {}
        for viewer in self._viewers:
            if viewer.buffer.overflowed:
                continue
            if not viewer.raw and viewer.allowed not in safe:
                known = self._filters.setdefault(viewer.allowed, SafeOutput(viewer.allowed))
                kept = known.feed(data)
                safe[viewer.allowed] = None if known.take_switched() else kept
            shown = data if viewer.raw else safe[viewer.allowed]
            if shown is None or viewer.notice is not None:
                viewer.buffer.overflow()
            else:
                viewer.buffer.offer(shown)
        # A filter that missed a batch has lost its place.
        self._filters = {flags: self._filters[flags] for flags in safe}

    async def attach(
        self,
        *,
        read_only: bool,
        history: int,
        allowed: Allowed,
        raw: bool,
        repaint: bool,
        window: Window,
    ) -> AsyncGenerator[bytes]:
        """Yield the past, at most *history* bytes of it, then the present until the end.

        With *repaint*, and on an alternate screen, begin with the screen as it is.
        """
        viewer = Viewer(allowed=allowed, raw=raw, window=window)
        timer = self._enter(viewer)
        log, output, by = self._terminal.events, self._terminal.output, principal.acting.get()
        log.publish(Attached(cursor=output.cursor, by=by, read_only=read_only, attached=len(self)))
        try:
            if repaint or window.alternate:
                yield self._repaint(viewer)
            elif history:
                yield self._past(history, viewer)
            while not (piece := await viewer.buffer.take()).end:
                if not piece.overflowed:
                    yield piece.data
                    continue
                yield self._repaint(viewer)
                await asyncio.sleep(max(1 / _REPAINTS_EACH, len(self) / _REPAINTS_ALL))
        finally:
            timer.cancel()
            self._leave(viewer)
            log.publish(Detached(cursor=output.cursor, by=by, attached=len(self)))

    def _enter(self, viewer: Viewer) -> asyncio.TimerHandle:
        """Let a person in; return the timer that ends their notice."""
        if not self._terminal.running:
            viewer.buffer.end()
        elif viewer.window.size is not None:
            self._size.enter(viewer, *viewer.window.size)
        viewer.notice = viewer.window.notice
        self._viewers.add(viewer)
        loop = asyncio.get_running_loop()
        return loop.call_later(_NOTICE_SECONDS, self._end_notice, viewer)

    def _leave(self, viewer: Viewer) -> None:
        self._viewers.discard(viewer)
        self._size.leave(viewer)

    def _end_notice(self, viewer: Viewer) -> None:
        if viewer.notice is not None:
            viewer.notice = None
            viewer.buffer.overflow()

    def show_notice(self, text: str) -> None:
        """Show a line to everybody, on the last row, until somebody types."""
        for viewer in self._viewers:
            viewer.notice = text
            viewer.buffer.overflow()

    def end_notices(self) -> None:
        """Show the screen again as it is."""
        for viewer in self._viewers:
            self._end_notice(viewer)

    def resize(self, *, rows: int, cols: int, attached: bool) -> tuple[int, int]:
        """Change the size; if a person who is *attached* did, only while they are.

        Return rows and columns as they are then.
        """
        if attached:
            self._size.follow(rows, cols)
        else:
            self._size.set(rows, cols)
        return self._emulator.rows, self._emulator.cols

    def close(self) -> None:
        """Let everybody go."""
        for viewer in self._viewers:
            viewer.buffer.end()
        self._size.close()

    def _past(self, history: int, viewer: Viewer) -> bytes:
        """Let the past scroll by, then paint the screen: both terminals then show the same."""
        if self._emulator.alternate:
            return self._repaint(viewer)
        painted = self._emulator.format("vt", scrollback=True).encode()
        above = b"\r\n".join(painted.split(b"\r\n")[: self._emulator.scrollback_rows])
        if len(above) > history:
            # Begin with a line: half a sequence at the start would show.
            above = above[above.find(b"\n", len(above) - history) + 1 :]
        return SafeOutput().feed(above) + b"\r\n" * self._emulator.rows + self._repaint(viewer)

    def _repaint(self, viewer: Viewer) -> bytes:
        """Paint the screen as it is now over whatever the person has."""
        if viewer.window.alternate:
            start = QUIET.replace(LEAVE_ALTERNATE, b"")
        else:
            start = QUIET + (_ENTER_ALTERNATE if self._emulator.alternate else b"")
        painted = start + _CLEAR + SafeOutput().feed(self._emulator.format("vt").encode())
        return painted if viewer.notice is None else painted + self._overlay(viewer.notice)

    def _overlay(self, notice: str) -> bytes:
        """Write a line over the last row, and leave the cursor and its colours as they are."""
        emulator = self._emulator
        text = one_line(notice)[: emulator.cols - 1]
        return f"\x1b7\x1b[?6l\x1b(B\x0f\x1b[{emulator.rows};1H\x1b[0;7m{text}\x1b[0m\x1b8".encode()
