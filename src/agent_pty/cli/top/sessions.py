"""What `top` shows: the sessions, what they cost, and the screens of those in sight.

Rule of the file: looking changes nothing. Screens are rendered, not read: a reader of the
transcript, or of `screen`, leaves traces that are meant for the agent's next look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from agent_pty.cli.top.connection import Link
from agent_pty.cli.top.table import Row
from agent_pty.cli.top.usage import Meter, Usage
from agent_pty.errors import AgentPtyError

# A host that does not answer in this time is left alone for some time.
_PATIENCE = 1.0
_REST = 10.0
_HERE = "(top runs here)"


class Survey:
    """Keeps what was seen; *here* is the instance of the session that we run in, if any."""

    def __init__(self, path: str, *, here: str | None) -> None:
        self._link = Link(path)
        self._here = here
        self._listed: Sequence[dict[str, Any]] = ()
        self._usage: dict[int, Usage] = {}
        self._meter = Meter()
        self._screens: dict[str, list[str]] = {}
        # The cursor a screen was taken at; without one it is to be taken again.
        self._fresh: dict[str, int | None] = {}
        self._attached: dict[str, int] = {}
        self._tired: dict[str | None, float] = {}

    def close(self) -> None:
        """Hang up."""
        self._link.close()

    def forget(self) -> None:
        """Take every screen again: something may have been missed."""
        self._fresh.clear()

    def heed(self, event: dict[str, Any]) -> bool:
        """Note an event; False if it changes nothing that is shown."""
        instance = event.get("instance")
        if event["event"] == "lagged":
            self.forget()
        if instance is not None and instance == self._here:
            return bool(event["event"] != "output")  # that was us, drawing
        if event["event"] in ("attached", "detached"):
            self._attached[event["instance"]] = event["attached"]
        if instance is not None:
            self._fresh.pop(instance, None)
        return True

    async def refresh(self) -> list[Row]:
        """Ask which sessions there are."""
        self._listed = await self._link.ask("list")
        known = {info["instance"] for info in self._listed}
        for kept in (self._screens, self._fresh, self._attached):
            for gone in kept.keys() - known:
                del kept[gone]
        return self.rows

    @property
    def rows(self) -> list[Row]:
        """Every session as it was seen last."""
        return [self._row(info) for info in self._listed]

    def _row(self, info: dict[str, Any]) -> Row:
        usage = self._usage.get(info["pid"] or 0) if info["state"] == "running" else None
        return Row(
            id=info["id"],
            instance=info["instance"],
            state=info["state"],
            exit_code=info["exit_code"],
            signal=info["signal"],
            quiet_ms=info["quiet_ms"],
            host=info["host"],
            attached=self._attached.get(info["instance"], info["attached"]),
            pid=info["pid"],
            cpu_percent=usage.cpu_percent if usage else None,
            memory_bytes=usage.memory_bytes if usage else None,
            title=info["title"],
            last_line=self._last_line(info["instance"]),
            diagnosis=info["diagnosis"],
        )

    def screen(self, row: Row) -> Sequence[str]:
        """Return what a session shows, as far as it was seen."""
        if row.instance == self._here:
            return [_HERE]
        return self._screens.get(row.instance, [])

    def _last_line(self, instance: str) -> str:
        if instance == self._here:
            return _HERE
        lines = self._screens.get(instance, [])
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def measure(self, rows: Iterable[Row]) -> None:
        """Measure CPU and memory of these sessions."""
        pids = [row.pid for row in rows if row.state == "running" and row.pid is not None]
        self._usage = self._meter.measure(pids)

    async def look_at(self, rows: Iterable[Row], *, again: Row | None = None) -> None:
        """Take the screens of these sessions, where they changed; that of *again* anyway."""
        cursors = {info["instance"]: info["cursor"] for info in self._listed}
        now = asyncio.get_running_loop().time()
        for row in rows:
            cursor = cursors.get(row.instance)
            stale = row == again or self._fresh.get(row.instance, -1) != cursor
            if stale and self._can_show(row, now) and await self._take(row):
                self._fresh[row.instance] = cursor

    def _can_show(self, row: Row, now: float) -> bool:
        away = row.state == "lost" or row.instance == self._here
        return not away and self._tired.get(row.host, 0.0) <= now

    async def _take(self, row: Row) -> bool:
        try:
            async with asyncio.timeout(_PATIENCE):
                rendered = await self._link.ask("render", id=row.id)
        except TimeoutError:
            self._tired[row.host] = asyncio.get_running_loop().time() + _REST
            return False
        except ConnectionError:
            raise
        except AgentPtyError:  # it went away, or changed its name, since it was listed
            return False
        self._screens[row.instance] = rendered["content"].split("\n")
        return True


def snapshot(path: str, *, here: str | None) -> list[Row]:
    """Look once, at everything."""
    return asyncio.run(_everything(Survey(path, here=here)))


async def _everything(survey: Survey) -> list[Row]:
    try:
        rows = await survey.refresh()
        survey.measure(rows)
        await survey.look_at(rows)
        return survey.rows
    finally:
        survey.close()
