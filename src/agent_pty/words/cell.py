"""The words about cells: `run`, `await`, `fire`, `poll`, `peek`, `int`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable
from typing import Any

from agent_pty.core.exit_code import UNKNOWN_STATUS, UNMET_STATUS, cell_status
from agent_pty.errors import (
    AgentPtyError,
    CellActive,
    InterruptFailed,
    NotReady,
    NotWaiting,
    SessionEnded,
    UnknownCell,
    UnknownSession,
)
from agent_pty.words import advice
from agent_pty.words.call import Call, Refusal, checked, jsoned
from agent_pty.words.option import Parsed, milliseconds, parsed

RUN = "k run [-j] [-t N] [session] <code>"
FIRE = "k fire [-t N] [session] <code>"
_NO_SESSION = "ERR: no session found."
_TIMED_OUT, _WAITS = 124, 125  # as `timeout` has it, and the number behind it
_MOST_WORDS = 2


async def run(call: Call, words: list[str]) -> int:
    """Run code and say its output."""
    given = parsed(words, usage=RUN, flags=("-j", "-e"), numbers=("-t",), texts=("-u",))
    session, code = await _target(call, given, RUN)
    until = given.texts.get("-u")
    fields = {"code": code, "timeout_ms": milliseconds(given, 30), "until": until}
    running = call.ops.ask("run", id=session, **fields, spill=False)
    own = "-e" in given.flags or until is not None
    return await say_outcome(call, session, running, json="-j" in given.flags, own=own)


async def say_outcome(
    call: Call, session: str, running: Awaitable[Any], *, json: bool, own: bool
) -> int:
    """Say how a cell ended or what it asks; return the exit status: with *own* the cell's."""
    try:
        cell = await _interruptible(call, session, running)
    except InterruptFailed as error:
        return await _unstopped(call, error, json=json)
    except AgentPtyError as error:
        return await _failed(call, error, session, json=json)
    await (_say_json if json else _say_plain)(call, session, cell)
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
    session, wanted = await _asked(call, words)
    try:
        cell = await call.ops.ask("poll", id=session, cell=wanted, spill=False)
    except (UnknownCell, UnknownSession) as error:
        return await _no_cell(call, error, session, wanted)
    if cell["status"] == "running":
        running = {"cell_id": cell["cell_id"], "status": "running"}
        await call.output.line(jsoned({**running, **_extras(cell)}))
        return 0
    if cell["status"] == "timeout" and cell["told"]:
        again = {"cell_id": cell["cell_id"], "status": "timeout", "output": "use k int or k kill"}
        await call.output.line(jsoned({**again, **_extras(cell)}))
        return 1
    await _say_json(call, session, cell)
    return 0


async def peek(call: Call, words: list[str]) -> int:
    """Say what a cell wrote so far; nothing is collected."""
    session, wanted = await _asked(call, words)
    try:
        cell = await call.ops.ask("peek", id=session, cell=wanted)
    except (UnknownCell, UnknownSession) as error:
        return await _no_cell(call, error, session, wanted)
    facts = {"cell_id": cell["cell_id"], "status": cell["status"]}
    if cell["for"] is not None:
        facts["for"] = cell["for"]
    if cell.get("code"):  # a host of an earlier build does not report it
        facts["code"] = cell["code"]
    await _say_output(call, session, cell, facts, {**_extras(cell), **_why(cell)})
    return 0


async def _asked(call: Call, words: list[str]) -> tuple[str, str | None]:
    given = parsed(words, usage="k poll [session] [cell_id]", flags=("-j",))
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
    if isinstance(error, (CellActive, NotReady)):
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
        await call.output.err(f"k: {line}")


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


def _extras(cell: dict[str, Any]) -> dict[str, Any]:
    """What the contract does not have comes last, and only when there is something to say."""
    told = cell["status"] == "done" or cell["error"] == "exited"
    # An exit code that nobody could report is null. A host of an earlier build does not tell.
    unknown = cell.get("exit_code_unknown", False)
    code = {"exit_code": cell["exit_code"]} if told and (cell["exit_code"] or unknown) else {}
    others = {name: cell[name] for name in ("matched", "unmet", "now", "hint") if cell.get(name)}
    return {**code, **others}


def _why(cell: dict[str, Any]) -> dict[str, Any]:
    return {"error": cell["error"]} if cell["error"] else {}


async def _say_json(call: Call, session: str, cell: dict[str, Any]) -> None:
    facts = {"cell_id": cell["cell_id"], "status": cell["status"]}
    if cell["status"] == "timeout":
        await call.output.line(jsoned({**facts, "output": "", **_extras(cell)}))
    elif cell["status"] == "error":
        extras = _extras(cell)
        if cell["error"] == "exited":
            extras = {"exit_code": cell["exit_code"], **extras}
        await call.output.line(jsoned({**facts, "output": cell["error"], **extras}))
    else:
        if cell["for"] is not None:
            facts["for"] = cell["for"]
        await _say_output(call, session, cell, facts, _extras(cell))


async def _say_output(
    call: Call,
    session: str,
    cell: dict[str, Any],
    facts: dict[str, Any],
    extras: dict[str, Any],
) -> None:
    """Say an object whose `output` may be larger than memory is to hold: page by page."""
    if not cell["truncated"] or _grows(cell):
        await call.output.line(jsoned({**facts, "output": cell["output"], **extras}))
        return
    lost = 0
    await call.output.write(jsoned(facts)[:-1] + ', "output": "')
    async with contextlib.aclosing(_pages(call, session, cell)) as pages:
        async for page in pages:
            lost += page["lost"]
            await call.output.write(jsoned(page["text"])[1:-1])
    extras = {**({"lost": lost} if lost else {}), **extras}
    await call.output.line('"' + (", " + jsoned(extras)[1:-1] if extras else "") + "}")


async def _say_plain(call: Call, session: str, cell: dict[str, Any]) -> None:
    if cell["status"] == "error":
        await call.output.line(cell["error"])
    elif cell["status"] == "timeout":
        await call.output.line("")
        await call.output.err(
            f"k: timed out; cell {cell['cell_id']} runs on: k peek {session} shows its output, "
            f"k poll {session} collects it, k int {session} stops it"
        )
        if cell["hint"]:
            await call.output.err(f"k: {cell['hint']}")
    else:
        await _say_text(call, session, cell)
    if cell.get("now"):
        await call.output.err(f"k: {cell['hint']}")
    if cell.get("unmet") and cell["status"] != "timeout":
        await call.output.err(f"k: {cell['unmet']} did not come true")
    if _grows(cell):
        await call.output.err(
            f"k: {cell['matched']} came true; cell {cell['cell_id']} runs on: "
            f"k peek {session} shows its output, k int {session} stops it"
        )
    if cell["status"] == "waiting":
        hint = cell["hint"] or (
            f"answer with k answer {session} TEXT (or k keys), or stop it with k int {session}"
        )
        await call.output.err(f"k: waiting for {cell['for']}: {hint}")


def _grows(cell: dict[str, Any]) -> bool:
    """Whether the cell runs on: its output may never end, so its beginning and end must do."""
    return cell["status"] == "running" and bool(cell.get("matched"))


async def _say_text(call: Call, session: str, cell: dict[str, Any]) -> None:
    if not cell["truncated"] or _grows(cell):
        await call.output.line(cell["output"])
        return
    async with contextlib.aclosing(_pages(call, session, cell)) as pages:
        async for page in pages:
            await call.output.write(not_kept(page["lost"]) + page["text"])
    await call.output.line("")


def not_kept(count: int) -> str:
    """Return the line that stands for text which the session no longer has."""
    return f"[... {count} bytes could not be kept ...]\n" if count else ""


async def _pages(
    call: Call, session: str, cell: dict[str, Any]
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the output, page by page; while one is said, the next is on its way."""

    def fetch(since: int) -> asyncio.Task[dict[str, Any]]:
        asking = call.ops.ask("output", id=session, cell=cell["cell_id"], since=since)
        return asyncio.get_running_loop().create_task(asking)

    coming: asyncio.Task[dict[str, Any]] | None = fetch(cell.get("since", 0))
    try:
        while coming is not None:
            page = await coming
            coming = fetch(page["next"]) if page["more"] else None
            await asyncio.sleep(0)  # so that it is asked for now, not when this one was said
            if page["lost"]:
                await call.output.err(f"k: {page['lost']} bytes of the output are no longer kept")
            yield page
    finally:
        if coming is not None:
            coming.cancel()
