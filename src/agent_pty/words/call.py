"""One command line that is being carried out: where it comes from, and the ops it may use."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent_pty.core import name as names
from agent_pty.core.safe import safe_json
from agent_pty.errors import BadRequest
from agent_pty.words.interrupt import Interrupt
from agent_pty.words.output import Output


class Ops(Protocol):
    """The daemon, as a command line sees it."""

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return an op's answer, or raise its error; fields that are None are left out."""

    def watch(
        self,
        *,
        name: str | None,
        kinds: Sequence[str] | None = None,
        after: Mapping[str, int] | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield events; the first, `watching`, says that none is missed from now on.

        *after* has the numbers of the last events seen, by instance.
        """


async def no_environment() -> None:
    """Stand for the environment of a caller that cannot be asked: it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The state of one call."""

    ops: Ops
    output: Output
    cwd: str
    session: str | None  # K_SESSION
    who: str
    interrupted: Interrupt
    bookmark: str | None = None  # where a daemon that died had come to
    terminal: bool = False  # whether standard output is one: a person reads it
    watched: bool = False  # whether standard error is one
    # Asks the caller for its environment; None if its script is too old to be asked.
    environment: Callable[[], Awaitable[Mapping[str, str] | None]] = no_environment
    k_max: str | None = None  # K_MAX

    async def resolve(self, given: str | None) -> str | None:
        """Return the session meant: the one given, else K_SESSION, else the only one there is."""
        name = given if given is not None else self.session or None
        if name is not None:
            return checked(name)
        living = [one["id"] for one in await self.ops.ask("list") if one["active"]]
        return living[0] if len(living) == 1 else None


class Refusal(Exception):
    """The command cannot be carried out; the text says why, on standard output.

    *advice* is one more line, on standard error: what the caller can do.
    """

    def __init__(self, text: str, *, advice: str | None = None) -> None:
        super().__init__(text)
        self.advice = advice


def checked(name: str) -> str:
    """Return a session name, or refuse it in the words of the contract."""
    try:
        return names.checked(name)
    except BadRequest:
        raise Refusal(f"ERR invalid session name: {name!r}") from None


def jsoned(value: Any) -> str:
    """Return JSON as the contract has it: a blank after each separator, letters as they are."""
    return safe_json(json.dumps(value, ensure_ascii=False))


Verb = Callable[[Call, list[str]], Awaitable[int]]
