"""Agent mode of `k`: `-m BYTES` or K_MAX bounds every answer, whatever was written.

An answer that does not fit is its beginning and its end, the number of lines left out between
them, and where all of it is.
"""

from __future__ import annotations

from typing import Any

from agent_pty.core.budget import Fitted, fitted
from agent_pty.core.short_json import LEFT_OUT, json_size, newest, shortened
from agent_pty.errors import UnknownCell, UnknownSession
from agent_pty.ops.excerpt import fits, room_for
from agent_pty.words.call import Call, Refusal, jsoned
from agent_pty.words.option import BOUND, Parsed
from agent_pty.words.placed_option import Placed

# Less would have no space for a path and a line of text.
_LEAST = 256
# What an object may get beside its output: the number of lines left out, the file, the cursor.
_REPORTED = 200


def bound(call: Call, given: Parsed) -> int | None:
    """Return how many bytes an answer may have; None outside of agent mode."""
    if BOUND in given.numbers:
        return _checked(int(given.numbers[BOUND]), BOUND)
    return environment_bound(call)


def placed_bound(call: Call, given: Placed) -> int | None:
    """Return the same for options that may also stand after the words."""
    if BOUND not in given.values:
        return environment_bound(call)
    text = given.values[BOUND][-1]
    if not text.isascii() or not text.isdigit():
        raise Refusal(f"usage: {given.usage}\n{BOUND} takes a number of bytes, not {text!r}")
    return _checked(int(text), BOUND)


def environment_bound(call: Call) -> int | None:
    """Return the bound that K_MAX sets; None if it sets none."""
    text = (call.k_max or "0").strip()
    if not text.isascii() or not text.isdigit():
        raise Refusal(f"ERR K_MAX={call.k_max!r}: give a number of bytes, such as 8000")
    return _checked(int(text), "K_MAX")


def _checked(count: int, name: str) -> int | None:
    if count == 0:
        return None
    if count < _LEAST:
        raise Refusal(f"ERR {name} {count}: give at least {_LEAST} bytes, or 0 for no bound")
    return count


def refused_text(call: Call, text: str) -> str:
    """Return why something was refused, within the bound of K_MAX unless that is the reason."""
    try:
        most = environment_bound(call)
    except Refusal:
        return text
    return text if most is None else fitted(text, most - len("\n"), rest="").text


def share(most: int | None, parts: int) -> int:
    """Return what one of several answers in the same call may have; 0 outside of agent mode."""
    return 0 if most is None else max(_LEAST, most // parts)


async def say_advice(call: Call, line: str) -> None:
    """Print on standard error what helps, within the bound of K_MAX."""
    await call.output.err(refused_text(call, f"k: {line}"))


async def say(call: Call, text: str, *, most: int | None, rest: str) -> None:
    """Print text and a line end; *rest* is the command that prints all of it."""
    if most is None:
        await call.output.line(text)
        return
    short = fitted(text, most - len("\n"), rest=f"all of it: {rest}")
    await call.output.line(short.text)
    if short.rest:
        await call.output.err(f"k: {short.rest}")


async def say_object(call: Call, value: dict[str, Any], *, most: int | None, rest: str) -> None:
    """Print an object; *rest* is the command that prints all of it."""
    short = value if most is None else shortened(value, most, rest=f"all of it: {rest}")
    await call.output.line(jsoned(short))


async def say_list(call: Call, entries: list[Any], *, most: int | None, rest: str) -> None:
    """Print a list, of one that is too long the last entries."""
    kept = entries if most is None else newest(entries, most)
    await call.output.line(jsoned(kept))
    if len(kept) < len(entries):
        missing = len(entries) - len(kept)
        await call.output.err(f"k: {missing} entries left out; all of them: {rest}")


async def output_of(
    call: Call,
    session: str,
    cell: dict[str, Any],
    *,
    room: int,
    since: int | None = None,
) -> dict[str, Any]:
    """Return a cell with an output of at most *room* bytes, from *since* on."""
    if since is None and fits(cell, room):
        return cell
    begin = since if since is not None else cell.get("since")  # an answer begins there
    try:
        part = await call.ops.ask(
            "excerpt", id=session, cell=cell["cell_id"], since=begin, fit=room_for(room)
        )
    except (UnknownCell, UnknownSession):  # it was killed meanwhile
        text = fitted(cell["output"], room, rest="").text
        return {**cell, "output": text, "truncated": False}
    return {**cell, **part, "output": part["text"], "truncated": False}


def room_beside(facts: dict[str, Any], most: int) -> int:
    """Return how much of a bound is left for the output of an object that has *facts*."""
    return max(most - json_size(facts) - _REPORTED, most // 2)


def cut_facts(cell: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of an output that was cut: how many lines are missing, and the file."""
    if cell.get(LEFT_OUT) is None:
        return {}
    path = {"path": cell["path"]} if cell["path"] else {}
    return {LEFT_OUT: cell[LEFT_OUT], **path}


def left_out(short: Fitted) -> dict[str, Any]:
    """Return the key that says how many lines a text has lost; nothing if none."""
    return {} if short.left_out is None else {LEFT_OUT: short.left_out}
