"""What `k` says of a cell: as an object of the contract, or in plain words."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from agent_pty.words.bounded import cut_facts, output_of, room_beside
from agent_pty.words.call import Call, jsoned


def extras_of(cell: dict[str, Any]) -> dict[str, Any]:
    """What the contract does not have comes last, and only when there is something to say."""
    told = cell["status"] == "done" or cell["error"] == "exited"
    # An exit code that nobody could report is null. A host of an earlier build does not tell.
    unknown = cell.get("exit_code_unknown", False)
    code = {"exit_code": cell["exit_code"]} if told and (cell["exit_code"] or unknown) else {}
    others = {name: cell[name] for name in ("matched", "unmet", "now", "hint") if cell.get(name)}
    return {**code, **others}


def why(cell: dict[str, Any]) -> dict[str, Any]:
    """Return why a cell failed, if it did."""
    return {"error": cell["error"]} if cell["error"] else {}


async def say_json(
    call: Call,
    session: str,
    cell: dict[str, Any],
    most: int | None,
    last: dict[str, Any] | None = None,
) -> None:
    """Say a cell as an object; *last* has more keys for its end."""
    facts = {"cell_id": cell["cell_id"], "status": cell["status"]}
    extras = {**extras_of(cell), **(last or {})}
    if cell["status"] == "timeout":
        await say_message(call, session, cell, {**facts, "output": "", **extras}, most)
    elif cell["status"] == "error":
        if cell["error"] == "exited":
            extras = {"exit_code": cell["exit_code"], **extras}
        said = {**facts, "output": cell["error"], **extras}
        await say_message(call, session, cell, said, most)
    else:
        if cell["for"] is not None:
            facts["for"] = cell["for"]
        if most is not None:
            room = room_beside({**facts, **extras}, most)
            cell = await output_of(call, session, cell, room=room)
            extras = {**lost_of(cell), **extras, **cut_facts(cell)}
            if _grows(cell) and "cursor" in cell:
                extras["cursor"] = cell["cursor"]
        await _say_output(call, session, cell, facts, extras)


async def say_message(
    call: Call, session: str, cell: dict[str, Any], said: dict[str, Any], most: int | None
) -> None:
    """Say an object whose `output` is a message of ours; in agent mode also what was written."""
    if most is not None:
        cell = await output_of(call, session, cell, room=room_beside(said, most))
        if cell["output"]:
            said = {**said, "so_far": cell["output"], **lost_of(cell), **cut_facts(cell)}
        if cell["status"] == "timeout" and "cursor" in cell:
            said["cursor"] = cell["cursor"]
    await call.output.line(jsoned(said))


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


def lost_of(cell: dict[str, Any]) -> dict[str, Any]:
    """Return how much of an output is no longer kept, if some is not."""
    return {"lost": cell["lost"]} if cell.get("lost") else {}


async def say_plain(call: Call, session: str, cell: dict[str, Any], most: int | None) -> None:
    """Say a cell in plain words: its output, and on standard error what can be done."""
    if most is not None:
        cell = await output_of(call, session, cell, room=most - len("\n"))
    so_far = "" if most is None else cell["output"]
    if cell["status"] == "error":
        await call.output.write(so_far + "\n" if so_far else "")
        await call.output.line(cell["error"])
    elif cell["status"] == "timeout":
        await call.output.line(so_far)
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
