"""One line that helps after an error: what runs there, for how long, what to do about it.

It goes to standard error, beside the words of the contract, which are on standard output.
"""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent_pty.core.did_you_mean import did_you_mean
from agent_pty.core.safe import one_line
from agent_pty.core.spoken_time import spoken_time
from agent_pty.errors import (
    AgentPtyError,
    CellActive,
    NotReady,
    Refused,
    SessionEnded,
    SessionExists,
    UnknownCell,
    UnknownSession,
)
from agent_pty.ops.gated import WAITING
from agent_pty.words.call import Refusal

_MOST_NAMES = 10


class Asked(Protocol):
    """Whatever answers ops."""

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return an op's answer, or raise its error."""


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The words of one command for what can be done; `{}` stands for the session."""

    new: str
    run: str
    look: str
    peek: str
    stop: str
    kill: str
    wait: str


K = Vocabulary(
    new="k new {}",
    run="k run {} <code>",
    look="k screen {}",
    peek="k peek {}",
    stop="k int {}",
    kill="k kill {}",
    wait="k run -w 300",
)
AGENT_PTY = Vocabulary(
    new="agent-pty new --name {}",
    run="agent-pty run {} CODE",
    look="agent-pty screen {}",
    peek="agent-pty peek {}",
    stop="agent-pty interrupt {}",
    kill="agent-pty kill {}",
    wait=WAITING,
)


async def advice(
    ops: Asked, error: AgentPtyError, session: str | None, words: Vocabulary
) -> str | None:
    """Return what helps after an error about a session; None if its message says it all."""
    name = str(error.details.get("id") or session or "")
    try:
        return await _about(ops, error, name, words) if name else None
    except AgentPtyError:  # the error itself was reported; without more facts there is no advice
        return None


async def _about(ops: Asked, error: AgentPtyError, name: str, words: Vocabulary) -> str | None:
    line: str | None = None
    match error:
        case UnknownSession() if "instance" in error.details:
            line = "agent-pty list --all shows the instances of past sessions"
        case UnknownSession():
            line = await missing(ops, name, words)
        case SessionExists():
            line = await duplicate(ops, name, words)
        case CellActive():
            line = _busy(name, error.details, words)
        case NotReady():
            line = f"{words.look.format(name)} shows it, {words.stop.format(name)} stops it"
        case Refused():
            line = str(error.details.get("remedy") or "").replace(WAITING, words.wait) or None
        case SessionEnded():
            line = await _ended(ops, name, words)
    return line


async def refusal(ops: Asked, error: AgentPtyError, session: str) -> Refusal:
    """Return what `k` says about an error in a session, with advice."""
    unknown = isinstance(error, UnknownSession)
    text = f"no session '{session}'" if unknown else str(error)
    return Refusal(f"ERR {text}", advice=await advice(ops, error, session, K))


async def missing(ops: Asked, name: str, words: Vocabulary) -> str:
    """Say which sessions there are, and which of them may be meant."""
    names = await _names(ops)
    if not names:
        return f"there are no sessions: {words.new.format(name)} starts this one"
    meant = did_you_mean(name, names)
    if meant:
        return f"did you mean {meant}? {_listed(names)}"
    return f"{_listed(names)}; {words.new.format(name)} starts this one"


async def unnamed(ops: Asked, words: Vocabulary) -> str:
    """Say what to do when no session was named and it is not clear which is meant."""
    names = await _names(ops)
    if not names:
        return f"there are no sessions: {words.new.format('NAME')} starts one"
    return f"name one, or set K_SESSION; {_listed(names)}"


async def duplicate(ops: Asked, name: str, words: Vocabulary) -> str | None:
    """Say what runs in a session that exists already."""
    found = await _find(ops, name)
    if found is None:
        return None
    program = one_line(shlex.join(found["argv"]))
    begin = f"{name} has run {program}{_since(found.get('started_at'))}"
    if not found["active"]:
        return f"{begin} and has ended: {words.kill.format(name)} frees the name"
    return f"{begin}, {await _occupation(ops, name, words)}, {words.kill.format(name)} ends it"


async def _occupation(ops: Asked, name: str, words: Vocabulary) -> str:
    """Say what a session is doing, and what can be done with it."""
    try:
        cell = await ops.ask("peek", id=name)
    except UnknownCell:
        return f"no cell runs: {words.run.format(name)} uses it"
    if cell["status"] in ("done", "error"):
        return f"no cell runs: {words.run.format(name)} uses it"
    long = spoken_time(cell["duration_ms"] / 1000)
    code = one_line(cell.get("code", ""))
    return f"now {code!r} for {long}: {words.peek.format(name)} shows its output"


def _busy(name: str, details: Mapping[str, Any], words: Vocabulary) -> str | None:
    """Say what the running cell does; a host of an earlier build does not report it."""
    if "code" not in details:
        return None
    waits = details.get("for")
    does = f"waits for {waits} in" if waits else "runs"
    long = spoken_time(details["running_ms"] / 1000)
    return (
        f"{name} {does} {one_line(details['code'])!r} for {long}: "
        f"{words.peek.format(name)} shows its output, {words.stop.format(name)} stops it"
    )


async def _ended(ops: Asked, name: str, words: Vocabulary) -> str | None:
    """Say how a session has ended, unless the message does, and how to get another."""
    if words is AGENT_PTY:
        return f"{words.kill.format(name)} frees its name"
    found = await _find(ops, name)
    if found is None:
        return await missing(ops, name, words)
    code = found["exit_code"]
    how = f" with exit code {code}" if code is not None else ""
    return f"{name} has ended{how}: {words.new.format(name)} starts it anew"


async def _names(ops: Asked) -> list[str]:
    return [one["id"] for one in await ops.ask("list") if one["active"]]


async def _find(ops: Asked, name: str) -> dict[str, Any] | None:
    return next((one for one in await ops.ask("list") if one["id"] == name), None)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"sessions: {', '.join(names[:_MOST_NAMES])}{more}"


def _since(started_at: str | None) -> str:
    if started_at is None:
        return ""
    began = dt.datetime.fromisoformat(started_at)
    return f" for {spoken_time((dt.datetime.now(dt.UTC) - began).total_seconds())}"
