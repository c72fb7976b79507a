"""The words of `km`: events of cells as JSON lines."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from agent_pty import __version__
from agent_pty.errors import AgentPtyError, UnknownCell, UnknownSession
from agent_pty.words import advice
from agent_pty.words.call import Call, Refusal, checked, jsoned
from agent_pty.words.followed import Followed
from agent_pty.words.help import KM_HELP
from agent_pty.words.session import find
from agent_pty.words.watch import events

_CELL = re.compile(r"[0-9a-f]{12}")
# After one of these nothing more comes of a cell, or nothing unless somebody acts.
_LAST = frozenset({"done", "interrupted", "exited", "error", "timeout", "waiting"})
_UNKNOWN = {"status": "error", "message": "unknown cell"}
_CLOSED = frozenset({"exited", "killed", "lost"})


async def run(call: Call, argv: list[str]) -> int:
    """Carry out one command line and return its exit status."""
    if not argv or argv[0] in ("-h", "--help"):
        await call.output.write(KM_HELP)
        return 0
    if argv[0] == "--version":
        await call.output.line(f"km {__version__} (agent-pty)")
        return 0
    try:
        monitor = _monitor(call, argv)
    except Refusal as refusal:
        await call.output.err(str(refusal))
        return 1
    return await monitor.follow()


def _monitor(call: Call, argv: list[str]) -> _Monitor:
    session = None
    if argv[0] != "--all":
        session = _named(argv[0])
    cell, once = None, False
    for word in argv[1:]:
        if word == "-1":
            once = True
        elif _CELL.fullmatch(word) and session is not None:
            cell = word
        else:
            raise Refusal(f"unknown arg: {word}")
    return _Monitor(call, session, cell, once=once)


def _named(name: str) -> str:
    try:
        return checked(name)
    except Refusal:
        raise Refusal(f"km: invalid session name: {name!r}") from None


class _Monitor:
    """Follows events and says those that were asked for."""

    def __init__(self, call: Call, session: str | None, cell: str | None, *, once: bool) -> None:
        self._call = call
        self._session = session
        self._cell = cell
        self._once = once
        self._followed = Followed(call)
        self._closed: set[str] = set(self._followed.state or ())

    async def follow(self) -> int:
        if self._followed.resumed:
            status = await self._missed_ends()
            if status is not None:
                return status
        elif self._session is not None and not await self._lives(self._session):
            await self._say(
                session=self._session, status="error", message=f"no session '{self._session}'"
            )
            error = UnknownSession(self._session)
            line = await advice.advice(self._call.ops, error, self._session, advice.K)
            if line is not None:
                await self._call.output.err(f"km: {line}")
            return 1
        # Listen first, look back then: what ends in between is seen twice, never missed.
        async for event in events(self._call, self._followed, self._session):
            if event is None:
                return 0
            status = await self._hear(event)
            if status is not None:
                return status
            await self._followed.settle(sorted(self._closed))
        return 1

    async def _missed_ends(self) -> int | None:
        """Report sessions that were killed just when the daemon died, which nobody can report."""
        names = {one["id"] for one in await self._call.ops.ask("list")}
        known = {self._session} if self._session is not None else set(self._followed.names.values())
        for gone in sorted(known - names):
            status = await self._close(gone, _now())
            if status is not None:
                return status
        return None

    async def _lives(self, session: str) -> bool:
        found = await find(self._call, session)
        return found is not None and bool(found["active"])

    async def _hear(self, event: dict[str, Any]) -> int | None:
        kind, ts = event["event"], event.get("ts") or _now()
        if kind == "watching":
            return None if self._followed.resumed else await self._look_back()
        if kind == "cell":
            return await self._hear_cell(event, ts)
        if kind == "notify":
            facts = {"from": event["from"], "message": event["message"]}
            await self._say(session=event["id"], status="notify", **facts, ts=ts)
        elif kind in _CLOSED:
            return await self._close(event["id"], ts)
        elif kind == "created":
            self._closed.discard(event["id"])
        return None

    async def _close(self, session: str, ts: str) -> int | None:
        """Tell the end once: a session that is killed exits first."""
        if session not in self._closed:
            self._closed.add(session)
            await self._say(session=session, status="closed", ts=ts)
        return 0 if self._session is not None else None

    async def _look_back(self) -> int | None:
        """A cell that has ended before anybody listened is told of at once."""
        if self._cell is None or self._session is None:
            return None
        try:
            fact = await self._call.ops.ask("cell", id=self._session, cell=self._cell)
        except UnknownCell:
            await self._say(cell_id=self._cell, session=self._session, **_UNKNOWN)
            return 1
        except AgentPtyError:
            return None
        # Of a limit that was passed the caller knows, and waits for the end now.
        if fact["status"] not in _LAST - {"timeout"}:
            return None
        extra = {"for": fact["for"]} if fact["for"] else {}
        return await self._tell(self._session, fact["status"], extra, fact["at"])

    async def _hear_cell(self, event: dict[str, Any], ts: str) -> int | None:
        if self._cell not in (None, event["cell_id"]):
            return None
        extra = {"for": event["for"]} if "for" in event else {}
        return await self._tell(event["id"], event["status"], extra, ts, event["cell_id"])

    async def _tell(
        self, session: str, status: str, extra: dict[str, str], ts: str, cell: str | None = None
    ) -> int | None:
        facts = {"session": session, "status": status, **extra, "ts": ts}
        await self._say(cell_id=cell or self._cell, **facts)
        return 0 if self._once and status in _LAST else None

    async def _say(self, **facts: Any) -> None:
        facts.setdefault("ts", _now())
        await self._call.output.line(jsoned(facts))


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
