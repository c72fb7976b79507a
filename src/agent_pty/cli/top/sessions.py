"""What `top` shows: the sessions, their CPU and memory, and the screens of the visible ones.

Rule of the file: `top` changes nothing in a session. It asks for screens with `render`, because
`read` and `screen` leave traces that are meant for the agent's next call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from agent_pty.cli.top.connection import Link
from agent_pty.cli.top.table import Row
from agent_pty.cli.top.usage import Meter, Usage
from agent_pty.errors import AgentPtyError

# A host that does not answer within the first time is not asked again for the second.
_ANSWER_SECONDS = 1.0
_PAUSE_SECONDS = 10.0
_HERE = "(top runs here)"


class Survey:
    """Keeps what the daemon reported; *here* is the instance in which `top` runs, if any."""

    def __init__(self, path: str, *, here: str | None) -> None:
        self._link = Link(path)
        self._here = here
        self._listed: Sequence[dict[str, Any]] = ()
        self._usage: dict[int, Usage] = {}
        self._meter = Meter()
        self._screens: dict[str, list[str]] = {}
        # The cursor at which a screen was rendered; without one it must be rendered again.
        self._fresh: dict[str, int | None] = {}
        self._attached: dict[str, int] = {}
        self._doing: dict[str, dict[str, Any]] = {}
        self._changed: set[str] = set()  # sessions that may do something else now
        # When to ask a host again that did not answer.
        self._ask_again_at: dict[str | None, float] = {}

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def forget(self) -> None:
        """Render every screen again next time: an event may have been missed."""
        self._fresh.clear()

    def heed(self, event: dict[str, Any]) -> bool:
        """Note an event; False if it changes nothing that is shown."""
        instance = event.get("instance")
        if event["event"] == "lagged":
            self.forget()
        if instance is not None and instance == self._here:
            return bool(event["event"] != "output")  # output of `top` itself
        if event["event"] in ("attached", "detached"):
            self._attached[event["instance"]] = event["attached"]
        if instance is not None:
            self._fresh.pop(instance, None)
            self._changed.add(instance)
        return True

    async def refresh(self) -> list[Row]:
        """Ask the daemon for the list of sessions."""
        self._listed = await self._link.ask("list")
        known = {info["instance"] for info in self._listed}
        for kept in (self._screens, self._fresh, self._attached, self._doing):
            for gone in kept.keys() - known:
                del kept[gone]
        return self.rows

    @property
    def rows(self) -> list[Row]:
        """Every session as it was reported last."""
        return [self._row(info) for info in self._listed]

    def _row(self, info: dict[str, Any]) -> Row:
        usage = self._usage.get(info["pid"] or 0) if info["state"] == "running" else None
        doing = self._doing.get(info["instance"], {}) if info["state"] == "running" else {}
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
            output_paused=info.get("output_paused"),  # not known to a daemon of an earlier build
            doing=doing.get("what"),
            command=doing.get("command"),
            cwd=doing.get("cwd"),
        )

    def screen(self, row: Row) -> Sequence[str]:
        """Return the last rendered screen of a session; empty if there is none."""
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

    async def ask_doing(self, *, everywhere: bool) -> None:
        """Ask what sessions do: all of them, or only those of which an event came."""
        changed, self._changed = self._changed, set()
        now = asyncio.get_running_loop().time()
        for row in self.rows:
            if not (everywhere or row.instance in changed) or row.state != "running":
                continue
            if self._can_show(row, now) and (found := await self._asked(row, "doing")) is not None:
                self._doing[row.instance] = found

    async def look_at(self, rows: Iterable[Row], *, again: Row | None = None) -> None:
        """Render the screens of these sessions that changed; that of *again* in any case."""
        cursors = {info["instance"]: info["cursor"] for info in self._listed}
        now = asyncio.get_running_loop().time()
        for row in rows:
            cursor = cursors.get(row.instance)
            stale = row == again or self._fresh.get(row.instance, -1) != cursor
            if not stale or not self._can_show(row, now):
                continue
            if (rendered := await self._asked(row, "render")) is not None:
                self._screens[row.instance] = rendered["content"].split("\n")
                self._fresh[row.instance] = cursor

    def _can_show(self, row: Row, now: float) -> bool:
        away = row.state == "lost" or row.instance == self._here
        return not away and self._ask_again_at.get(row.host, 0.0) <= now

    async def _asked(self, row: Row, op: str) -> dict[str, Any] | None:
        """Return what a session answers; None if it cannot."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                answer: dict[str, Any] = await self._link.ask(op, id=row.id)
        except TimeoutError:
            self._ask_again_at[row.host] = asyncio.get_running_loop().time() + _PAUSE_SECONDS
            return None
        except ConnectionError:
            raise
        except AgentPtyError:  # it ended or was renamed after it was listed
            return None
        return answer


def snapshot(path: str, *, here: str | None) -> list[Row]:
    """Return all sessions, measured and with their screens, once."""
    return asyncio.run(_everything(Survey(path, here=here)))


async def _everything(survey: Survey) -> list[Row]:
    try:
        rows = await survey.refresh()
        survey.measure(rows)
        await survey.ask_doing(everywhere=True)
        await survey.look_at(rows)
        return survey.rows
    finally:
        survey.close()
