"""The word `exec` of `k`: one program in a terminal of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agent_pty.core.budget import fitted
from agent_pty.core.exit_code import program_status
from agent_pty.core.short_json import LEFT_OUT
from agent_pty.errors import AgentPtyError
from agent_pty.ops.read import fitted_pages
from agent_pty.words.bounded import bound, left_out, room_beside
from agent_pty.words.call import Call, Refusal, jsoned
from agent_pty.words.cell_text import not_kept
from agent_pty.words.interrupt import GivenUp, give_up
from agent_pty.words.option import milliseconds, parsed
from agent_pty.words.session import COLS, ROWS

_TIMED_OUT, _INTERRUPTED = 124, 130
_INLINE = 64 * 1024
_EXEC = "k exec [-j] [-t N] [--pager] -- argv..."


async def execute(call: Call, words: list[str]) -> int:
    """Run one program in a terminal of its own and say what it wrote; exit as it did."""
    given = parsed(words, usage=_EXEC, flags=("-j", "-e", "--pager"), numbers=("-t",))
    argv = given.words[1:] if given.words[:1] == ["--"] else given.words
    if not argv:
        raise Refusal(f"usage: {_EXEC}")
    limit, most = max(0, milliseconds(given, 30)), bound(call, given)
    asking = call.ops.ask(
        "exec",
        argv=argv,
        repo=call.cwd,
        timeout_ms=limit,
        rows=ROWS,
        cols=COLS,
        environment=await call.environment(),
        pager="--pager" in given.flags,
        inline=None if most is None else min(_INLINE, most // 3),
    )
    try:
        done = await call.interrupted.guard(asking, give_up)
    except GivenUp:
        return _INTERRUPTED
    except AgentPtyError as error:
        failed = {"status": "error", "output": str(error)}
        await call.output.line(jsoned(failed) if "-j" in given.flags else str(error))
        return 1
    if most is not None:
        done = await _bounded(call, done, most)
    return await _say_executed(call, done, json="-j" in given.flags)


async def _bounded(call: Call, done: dict[str, Any], most: int) -> dict[str, Any]:
    """Return what is bounded; the session stays if it has more, because nothing else has it."""
    room = room_beside({**done, "output": ""}, most)
    if not done["truncated"]:
        return {**done, "output": fitted(done["output"], room, rest="").text}
    fields = {"id": done["session"], "since": 0}
    _, short = await fitted_pages(call.ops.ask, fields, _readings(call, done["session"]), room)
    if not done["running"]:
        name = done["session"]
        await call.output.err(f"k: session {name} has all of it; k kill {name} removes it")
    return {**done, "output": short.text, "truncated": False, **left_out(short)}


async def _say_executed(call: Call, done: dict[str, Any], *, json: bool) -> int:
    code = 128 + done["signal"] if done["signal"] else done["exit_code"]
    kept = done["truncated"] and not done["running"]
    pages = _pages(call, done["session"]) if kept else _one(done)
    if json:
        named = done["running"] or LEFT_OUT in done
        extras = {LEFT_OUT: done[LEFT_OUT]} if LEFT_OUT in done else {}
        extras |= {"session": done["session"]} if named else {}
        known = code == 0 or (done["running"] and code is None)
        await _say_json(call, done, pages, extras | ({} if known else {"exit_code": code}))
    else:
        await _say_plain(call, pages)
    if kept:  # only for its output
        await call.ops.ask("kill", id=done["session"])
    if done["running"]:
        await call.output.err(f"k: timed out; it goes on as session {done['session']}")
        return _TIMED_OUT
    return program_status(done["exit_code"], done["signal"])


# Text, and how many bytes before it are missing.
Page = tuple[str, int]


async def _readings(call: Call, session: str) -> AsyncIterator[dict[str, Any]]:
    since, more = 0, True
    while more:
        page = await call.ops.ask("read", id=session, since=since)
        yield page
        since, more = page["cursor"], page["more"]


async def _pages(call: Call, session: str) -> AsyncIterator[Page]:
    async for page in _readings(call, session):
        yield page["text"], _missing(page)


async def _one(done: dict[str, Any]) -> AsyncIterator[Page]:
    yield done["output"], _missing(done)


def _missing(answer: dict[str, Any]) -> int:
    gap = answer.get("gap")
    return int(gap["end"] - gap["start"]) if gap else 0


async def _say_json(
    call: Call, done: dict[str, Any], pages: AsyncIterator[Page], extras: dict[str, Any]
) -> None:
    """Say an object whose output may be large; its last line end is no part of it."""
    status = "timeout" if done["running"] else "done"
    await call.output.write(f'{{"status": "{status}", "output": "')
    held, lost = "", 0
    async for page, missing in pages:
        text, lost = held + page, lost + missing
        held = "\n" if text.endswith("\n") else ""
        await call.output.write(jsoned(text.removesuffix("\n"))[1:-1])
    extras = {**({"lost": lost} if lost else {}), **extras}
    await call.output.line('"' + (", " + jsoned(extras)[1:-1] if extras else "") + "}")


async def _say_plain(call: Call, pages: AsyncIterator[Page]) -> None:
    last = "\n"
    async for text, missing in pages:
        await call.output.write(not_kept(missing) + text)
        last = text[-1:] or last
    if last != "\n":
        await call.output.line("")
