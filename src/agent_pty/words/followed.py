"""Events that a command line follows, and a bookmark from which the next daemon goes on.

The bookmark is JSON: `seen` has the number of the last event of each session, by instance, `names`
their names, `state` whatever else the command must remember.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from agent_pty.errors import UnknownSession
from agent_pty.words.call import Call


class _Place(msgspec.Struct, kw_only=True):
    seen: dict[str, int] = msgspec.field(default_factory=dict)
    names: dict[str, str] = msgspec.field(default_factory=dict)
    state: Any = None


class Followed:
    """Yields the events of one session or of all; after each, `settle` says that it was printed."""

    def __init__(self, call: Call, after: Mapping[str, int] | None = None) -> None:
        self._call = call
        self._after = after
        self._place = _Place()
        if call.bookmark is not None:
            self._place = msgspec.json.decode(call.bookmark, type=_Place)

    @property
    def resumed(self) -> bool:
        """Whether another daemon had begun this."""
        return self._call.bookmark is not None

    @property
    def state(self) -> Any:
        """What the command remembered with the last bookmark."""
        return self._place.state

    def remember(self, state: Any) -> None:
        """Keep *state* with the next bookmark."""
        self._place.state = state

    @property
    def names(self) -> Mapping[str, str]:
        """The names of the sessions that were seen, by instance."""
        return self._place.names

    async def events(
        self, name: str | None, kinds: Sequence[str] | None = None, *, announce: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield events; with *announce* also the first, which says that none is missed."""
        after = self._place.seen if self.resumed else self._after
        source = self._call.ops.watch(name=name, kinds=kinds, after=after)
        async with contextlib.aclosing(source) as found:  # type: ignore[type-var]
            async for event in found:
                if event["event"] == "watching":
                    self._place.seen = {**event["seen"], **self._place.seen}
                    await self._bookmark()
                    if not announce:
                        continue
                self._note(event)
                yield event

    def _note(self, event: Mapping[str, Any]) -> None:
        if "seq" in event:
            self._place.seen[event["instance"]] = event["seq"]
            self._place.names[event["instance"]] = event.get("name_now") or event["id"]

    async def settle(self, state: Any = None) -> None:
        """Say that everything up to now was printed; *state* is kept with that."""
        self.remember(state)
        await self._bookmark()

    async def _bookmark(self) -> None:
        await self._call.output.bookmark(msgspec.json.encode(self._place).decode())


async def session_of(call: Call, name: str) -> dict[str, Any]:
    """Return what `list` says of one session."""
    for one in await call.ops.ask("list"):
        if one["id"] == name:
            found: dict[str, Any] = one
            return found
    raise UnknownSession(name)
