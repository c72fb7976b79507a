"""The full screen of `top`.

Events update it, and once a second the clock does, for quiet times and CPU. Keys are handled
even while the daemon is slow to answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import Any

from agent_pty.cli.attach import notice
from agent_pty.cli.command import Invocation
from agent_pty.cli.top import table
from agent_pty.cli.top.connection import Link
from agent_pty.cli.top.drawing import LEAVE, Canvas
from agent_pty.cli.top.keyboard import Keyboard
from agent_pty.cli.top.selection import Do, Menu, Order
from agent_pty.cli.top.sessions import Survey
from agent_pty.cli.top.table import Row, View
from agent_pty.client.attach import Attachment, follow
from agent_pty.client.terminal import size
from agent_pty.errors import AgentPtyError

_TICK = 1.0
# The pause between two requests: at least this long, and four times as long as the request took.
_PAUSE = 0.05
_SHARE = 4
# An escape that nothing follows within this time is the Escape key.
_ESCAPE_SECONDS = 0.05
_CHUNK = 1 << 16
_DETACH = b"\x1d"
_SIZE = (24, 80)


def run(call: Invocation, *, stdin: int, stdout: int) -> None:
    """Show the table until the person quits; both must be a terminal in raw mode."""
    asyncio.run(Live(call, stdin=stdin, stdout=stdout).run())


class Live:
    """One run of the full screen."""

    def __init__(self, call: Invocation, *, stdin: int, stdout: int) -> None:
        self._call = call
        self._stdin = stdin
        self._stdout = stdout
        self._path = call.layout.socket
        self._here = os.environ.get("AGENT_PTY_INSTANCE")
        self._survey = Survey(self._path, here=self._here)
        self._menu = Menu(sort=call.options.sort)
        self._canvas = Canvas()
        self._keyboard = Keyboard()
        self._escape: asyncio.TimerHandle | None = None
        self._size = _SIZE
        self._trouble = ""
        self._news = asyncio.Event()
        self._left = asyncio.Event()
        self._tasks = asyncio.TaskGroup()

    async def run(self) -> None:
        """Show the table until the person quits; what was ordered before that is still done."""
        loop = asyncio.get_running_loop()
        async with self._tasks:
            refreshing = [
                self._tasks.create_task(self._follow_events()),
                self._tasks.create_task(self._follow_time()),
            ]
            loop.add_signal_handler(signal.SIGWINCH, self._draw)
            loop.add_reader(self._stdin, self._typed)
            await self._left.wait()
            loop.remove_reader(self._stdin)
            for task in refreshing:
                task.cancel()
        self._survey.close()

    # -- refreshing

    async def _follow_events(self) -> None:
        while True:
            link = Link(self._path)
            with contextlib.suppress(AgentPtyError):
                async for event in link.events():
                    if self._survey.heed(event):
                        self._news.set()
            link.close()
            self._news.set()
            # Nothing reports that another daemon has started, and events may have been missed.
            await asyncio.sleep(_TICK)
            self._survey.forget()

    async def _follow_time(self) -> None:
        loop = asyncio.get_running_loop()
        tick = loop.time()
        while True:
            began = loop.time()
            due = began >= tick
            tick = began + _TICK if due else tick
            self._news.clear()
            await self._look(measure=due)
            self._draw()
            await asyncio.sleep(max(_PAUSE, _SHARE * (loop.time() - began)))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(tick):
                    await self._news.wait()

    async def _look(self, *, measure: bool) -> None:
        """Ask for the list of sessions, and for the details of the visible ones."""
        try:
            await self._survey.refresh()
            await self._survey.ask_doing(everywhere=measure)
            self._menu.show(self._survey.rows)
            shown = self._visible_rows()
            if measure:
                self._survey.measure(shown)
            await self._survey.look_at(shown, again=self._menu.chosen if measure else None)
            self._menu.show(self._survey.rows)
            self._trouble = ""
        except AgentPtyError as error:
            self._trouble = str(error)

    def _visible_rows(self) -> list[Row]:
        menu = self._menu
        height = table.plan(*self._size, len(menu.rows)).table_rows
        return [menu.rows[place] for place in table.window(len(menu.rows), menu.index, height)]

    # -- drawing

    def _draw(self) -> None:
        now = size(self._stdout) or _SIZE
        if now != self._size:
            self._size = now
            self._canvas.forget()
        rows, cols = now
        self._write(self._canvas.draw(table.picture(self._view(), rows=rows, cols=cols)))

    def _view(self) -> View:
        menu, chosen = self._menu, self._menu.chosen
        return View(
            rows=menu.rows,
            index=menu.index,
            heading=self._trouble or menu.heading,
            footer=menu.footer,
            title=_title(chosen) if chosen else "no session",
            preview=self._survey.screen(chosen) if chosen else [],
        )

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._stdout, data) :]

    # -- keys and orders

    def _typed(self) -> None:
        if self._escape is not None:
            self._escape.cancel()
        try:
            data = os.read(self._stdin, _CHUNK)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            self._left.set()
        self._press(self._keyboard.feed(data))
        if self._keyboard.unfinished:
            self._escape = asyncio.get_running_loop().call_later(
                _ESCAPE_SECONDS, lambda: self._press(self._keyboard.finish())
            )

    def _press(self, keys: list[str]) -> None:
        for key in keys:
            order = self._menu.feed(key)
            if order is not None:
                self._carry_out(order)
            if order is not None and order.do in (Do.LEAVE, Do.ATTACH):
                break  # what was typed after it was not meant for `top`
        self._news.set()  # other rows may be visible
        self._draw()

    def _carry_out(self, order: Order) -> None:
        if order.do is Do.LEAVE:
            self._left.set()
        elif order.do is Do.REDRAW:
            self._canvas.forget()
        elif order.row is not None and order.do is Do.ATTACH:
            self._attach(order.row)
        elif order.row is not None:
            self._menu.say(f"{order.do.value} {order.row.id} ...")
            self._tasks.create_task(self._act(order.do, order.row))

    async def _act(self, do: Do, row: Row) -> None:
        link = Link(self._path)
        try:
            done = await link.ask(do.value, id=row.id)
        except AgentPtyError as error:
            self._menu.say(str(error))
        else:
            self._menu.say(f"{do.past} {row.id}{_survivors(done)}")
        finally:
            link.close()
        self._news.set()
        self._draw()

    def _attach(self, row: Row) -> None:
        """Give the terminal to a session until the person detaches or it ends."""
        if row.instance == self._here or row.state != "running":
            why = "top runs in it" if row.instance == self._here else f"it is {row.state}"
            self._menu.say(f"cannot attach to {row.id}: {why}")
            return
        self._write(LEAVE)
        try:
            self._menu.say(f"{self._follow(row.id)}: {row.id}")
        except (AgentPtyError, OSError) as error:
            self._menu.say(f"cannot attach to {row.id}: {error}")
        self._canvas.forget()

    def _follow(self, name: str) -> str:
        attachment = Attachment(
            lambda _: self._call.connect(start=False),
            name=name,
            size=lambda: size(self._stdout),
            alternate=True,
            notice=notice(name, "ctrl-]"),
        )
        with contextlib.closing(attachment):
            left = follow(
                attachment,
                stdin=self._stdin,
                stdout=self._stdout,
                seconds=None,
                detach=_DETACH,
                alternate=True,
            )
        return left.value


def _title(row: Row) -> str:
    parts = [row.id, table.state(row), row.command, row.cwd, row.title, row.diagnosis]
    return " · ".join(part for part in parts if part)


def _survivors(done: Any) -> str:
    left = done.get("survivors") if isinstance(done, dict) else None
    return f"; survived: {', '.join(str(one['pid']) for one in left)}" if left else ""
