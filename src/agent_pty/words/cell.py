"""The words about cells: `run`, `await`, `fire`, `poll`, `peek`, `int`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from agent_pty.core.exit_code import UNKNOWN_STATUS, UNMET_STATUS, cell_status
from agent_pty.errors import (
    AgentPtyError,
    CellActive,
    InterruptFailed,
    NotReady,
    NotWaiting,
    Refused,
    SessionEnded,
    UnknownCell,
    UnknownSession,
)
from agent_pty.words import advice
from agent_pty.words.bounded import bound, cut_facts, output_of, room_beside, say_advice
from agent_pty.words.call import Call, Refusal, checked, jsoned
from agent_pty.words.cell_text import extras_of, lost_of, say_json, say_message, say_plain, why
from agent_pty.words.option import Parsed, milliseconds, parsed

RUN = "k run [-j] [-t N] [session] <code>"
FIRE = "k fire [-t N] [session] <code>"
_NO_SESSION = "ERR: no session found."
_TIMED_OUT, _WAITS = 124, 125  # as `timeout` has it, and the number behind it
_MOST_WORDS = 2
# `peek` is bounded in any case: what it shows is on its way, and may be without end.
_PEEK = 8000


async def run(call: Call, words: list[str]) -> int:
    """Run code and say its output."""
    given = parsed(words, usage=RUN, flags=("-j", "-e"), numbers=("-t", "-w"), texts=("-u",))
    session, code = await _target(call, given, RUN)
    until = given.texts.get("-u")
    fields = {"code": code, "timeout_ms": milliseconds(given, 30), "until": until}
    if "-w" in given.numbers:
        fields["wait_approval_ms"] = max(0, round(given.numbers["-w"] * 1000))
    running = call.ops.ask("run", id=session, **fields, spill=False)
    own = "-e" in given.flags or until is not None
    return await say_outcome(
        call, session, running, json="-j" in given.flags, own=own, most=bound(call, given)
    )


async def say_outcome(
    call: Call, session: str, running: Awaitable[Any], *, json: bool, own: bool, most: int | None
) -> int:
    """Say how a cell ended or what it asks; return the exit status: with *own* the cell's."""
    try:
        cell = await _interruptible(call, session, running)
    except InterruptFailed as error:
        return await _unstopped(call, error, json=json)
    except AgentPtyError as error:
        return await _failed(call, error, session, json=json)
    await (say_json if json else say_plain)(call, session, cell, most)
    status = _status(cell, own=own)
    if status == UNKNOWN_STATUS and cell["exit_code"] is None and not json:
        await call.output.err("k: the exit code is unknown: what ran the code does not report it")
    return status


async def _interruptible(call: Call, session: str, running: Awaitable[Any]) -> dict[str, Any]:
    """Await a cell; if the caller presses Ctrl-C, stop it and tell how it ended."""

    async def stop() -> None:
        await call.ops.ask("interrupt", id=session)

    cell: dict[str, Any] = await call.interrupted.guard(running, stop)
    return cell


async def fire(call: Call, words: list[str]) -> int:
    """Start code and say its cell."""
    given = parsed(words, usage=FIRE, flags=("-j",), numbers=("-t",))
    session, code = await _target(call, given, FIRE)
    limit = milliseconds(given, 300)
    try:
        cell = await call.ops.ask("fire", id=session, code=code, timeout_ms=limit)
    except AgentPtyError as error:
        return await _failed(call, error, session, json=True)
    await call.output.line(jsoned({"cell_id": cell["cell_id"], "status": "fired"}))
    return 0


async def _target(call: Call, given: Parsed, usage: str) -> tuple[str, str]:
    """Return session and code: two words, or one word for the session that is understood."""
    if not given.words or len(given.words) > _MOST_WORDS:
        raise Refusal(f"usage: {usage}")
    if len(given.words) == _MOST_WORDS:
        return checked(given.words[0]), given.words[1]
    word = given.words[0]
    if any(one["id"] == word for one in await call.ops.ask("list")):
        wanted = f"{word} is a session: give the code that it must run"
        raise Refusal(f"usage: {usage}", advice=wanted)
    return await resolved(call, None), word


async def resolved(call: Call, given: str | None) -> str:
    """Return the session meant, or refuse."""
    session = await call.resolve(given)
    if session is None:
        raise Refusal(_NO_SESSION, advice=await advice.unnamed(call.ops, advice.K))
    return session


async def poll(call: Call, words: list[str]) -> int:
    """Say how a cell is; a result is given once."""
    given = parsed(words, usage="k poll [session] [cell_id]", flags=("-j",))
    session, wanted = await _asked(call, given)
    most = bound(call, given)
    try:
        cell = await call.ops.ask("poll", id=session, cell=wanted, spill=False)
    except (UnknownCell, UnknownSession) as error:
        return await _no_cell(call, error, session, wanted)
    code = {} if most is None else _code(cell)
    if cell["status"] == "running":
        running = {"cell_id": cell["cell_id"], "status": "running"}
        await call.output.line(jsoned({**running, **extras_of(cell), **code}))
        return 0
    if cell["status"] == "timeout" and cell["told"]:
        again = {"cell_id": cell["cell_id"], "status": "timeout", "output": "use k int or k kill"}
        await say_message(call, session, cell, {**again, **extras_of(cell), **code}, most)
        return 1
    await say_json(call, session, cell, most, code)
    return 0


async def peek(call: Call, words: list[str]) -> int:
    """Say what a cell wrote so far, or since an earlier cursor; nothing is collected."""
    usage = "k peek [--since N] [session] [cell_id]"
    given = parsed(words, usage=usage, flags=("-j",), numbers=("--since",))
    session, wanted = await _asked(call, given)
    try:
        cell = await call.ops.ask("peek", id=session, cell=wanted)
    except (UnknownCell, UnknownSession) as error:
        return await _no_cell(call, error, session, wanted)
    facts = {"cell_id": cell["cell_id"], "status": cell["status"]}
    if cell["for"] is not None:
        facts["for"] = cell["for"]
    facts |= _code(cell)
    extras = {**extras_of(cell), **why(cell)}
    room = room_beside({**facts, **extras}, bound(call, given) or _PEEK)
    since = given.numbers.get("--since")
    since = None if since is None else max(0, int(since))
    cell = await output_of(call, session, cell, room=room, since=since)
    said = {**facts, "output": cell["output"], **lost_of(cell), **extras, **cut_facts(cell)}
    # A host of an earlier build does not know it.
    cursor = {"cursor": cell["cursor"]} if "cursor" in cell else {}
    await call.output.line(jsoned({**said, **cursor}))
    return 0


def _code(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the beginning of a cell's code; a host of an earlier build does not report it."""
    return {"code": cell["code"]} if cell.get("code") else {}


async def _asked(call: Call, given: Parsed) -> tuple[str, str | None]:
    first, second = [*given.words, None, None][:2]
    return await resolved(call, first), second


async def _no_cell(call: Call, error: AgentPtyError, session: str, wanted: str | None) -> int:
    if wanted is not None:
        unknown = {"cell_id": wanted, "status": "error", "output": "unknown cell"}
        await call.output.line(jsoned(unknown))
    else:
        await _refused(call, f"no active cell on '{session}'", json=True)
    await advise(call, error, session)
    return 1


async def interrupt(call: Call, words: list[str]) -> int:
    """Stop what runs; a session that is not there has nothing to stop."""
    given = parsed(words, usage="k int [session]", flags=("-j",))
    session = await resolved(call, given.words[0] if given.words else None)
    try:
        await call.ops.ask("interrupt", id=session)
    except InterruptFailed as error:
        return await _unstopped(call, error, json=True)
    except (UnknownSession, SessionEnded):
        pass
    shown = jsoned({"session": session, "status": "ok"}) if "-j" in given.flags else "OK"
    await call.output.line(shown)
    return 0


async def _unstopped(call: Call, error: InterruptFailed, *, json: bool) -> int:
    failed = "interrupt failed; use k kill"
    facts = {"cell_id": error.details.get("cell_id"), "status": "error", "output": failed}
    await call.output.line(jsoned(facts) if json else failed)
    return 1


# -- saying it


def _reason(error: AgentPtyError, session: str) -> str:
    if isinstance(error, (UnknownSession, SessionEnded)):
        return f"no session '{session}'"
    if isinstance(error, (CellActive, NotReady, Refused)):
        return str(error)
    if isinstance(error, NotWaiting):
        return _unasked(error, session)
    return f"send failed: {error}"


def _unasked(error: NotWaiting, session: str) -> str:
    cell, program = error.details.get("cell_id"), error.details.get("program")
    if program is not None:
        return (
            f"no cell runs in '{session}', but {program} has its keyboard: use k run if it is at "
            "its prompt, else k send"
        )
    if cell is None:
        return f"nothing runs in '{session}' that could be answered: use k run"
    return (
        f"cell {cell} runs, but waits for no answer: k wait {session} --until cell:{cell} returns "
        f"when it asks, k send {session} TEXT types all the same"
    )


async def _failed(call: Call, error: AgentPtyError, session: str, *, json: bool) -> int:
    await _refused(call, _reason(error, session), json=json)
    await advise(call, error, session)
    return 1


async def advise(call: Call, error: AgentPtyError, session: str) -> None:
    """Say on standard error what the caller can do about an error."""
    line = await advice.advice(call.ops, error, session, advice.K)
    if line is not None:
        await say_advice(call, line)


async def _refused(call: Call, reason: str, *, json: bool) -> int:
    await call.output.line(jsoned({"status": "error", "output": reason}) if json else reason)
    return 1


def _status(cell: dict[str, Any], *, own: bool) -> int:
    if not own:
        return 1 if cell["status"] == "error" else 0
    if cell.get("matched"):
        return 0
    by_status = {"timeout": _TIMED_OUT, "waiting": _WAITS}
    unmet = UNMET_STATUS if cell.get("unmet") else 0
    return by_status.get(cell["status"]) or cell_status(cell) or unmet
