"""The words of `k` about what is on the terminal: `screen`, `keys`, `read`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agent_pty.core.short_json import json_size
from agent_pty.errors import AgentPtyError
from agent_pty.ops.keys_screen import rows_text, screen_remarks
from agent_pty.ops.read import fitted_pages
from agent_pty.words import advice
from agent_pty.words.bounded import bound, left_out, room_beside, say, say_object
from agent_pty.words.call import Call, Refusal, checked, jsoned
from agent_pty.words.cell import resolved
from agent_pty.words.option import milliseconds, parsed

_KEYS = "k keys <session> key..."
_SCREEN = ("-s", "--screen")

# What is said of a screen if a bound has no space for all that is known.
_ESSENTIAL = ("rows", "cols", "text", "cursor", "alternate_screen", "hash")


async def screen(call: Call, words: list[str]) -> int:
    """Say what a person would see."""
    given = parsed(words, usage="k screen [-j] [session]", flags=("-j",))
    name = await resolved(call, given.words[0] if given.words else None)
    seen = await asked(call, "screen", name)
    most, rest = bound(call, given), f"agent-pty screen {name}"
    if "-j" in given.flags:
        if most is not None and json_size(seen) > most:
            seen = {name: seen[name] for name in _ESSENTIAL}
        await say_object(call, seen, most=most, rest=f"{rest} --json")
    else:
        await say(call, seen["text"].rstrip("\n"), most=most, rest=rest)
    return 0


async def keys(call: Call, words: list[str]) -> int:
    """Press keys by name."""
    flags = ("-j", *_SCREEN)
    given = parsed(words, usage=_KEYS, flags=flags, numbers=("-t",))
    rest, seen = list(given.words), set(given.flags)
    while rest and rest[-1] in flags:  # no key is called so
        seen.add(rest.pop())
    if len(rest) <= 1:
        raise Refusal(f"usage: {_KEYS}")
    name, shows = checked(rest[0]), not seen.isdisjoint(_SCREEN)
    looks = {"screen": True, "timeout_ms": milliseconds(given, 3)} if shows else {}
    pressed = await asked(call, "keys", name, keys=rest[1:], **looks)
    most, look = bound(call, given), f"agent-pty screen {name}"
    if "-j" in seen:
        await say_object(call, pressed, most=most, rest=look)
    elif not shows:
        await call.output.line(f"OK {name} keys={pressed['keys']}")
    else:
        text = rows_text(pressed["screen"])
        if text:
            await say(call, text.removesuffix("\n"), most=most, rest=look)
        for remark in screen_remarks(pressed["screen"]):
            await call.output.err(f"k: {remark}")
    return 0


async def read(call: Call, words: list[str]) -> int:
    """Say the last lines that the session wrote."""
    given = parsed(words, usage="k read [-n N] [session]", flags=("-j",), numbers=("-n",))
    name = await resolved(call, given.words[0] if given.words else None)
    fields = {"id": name, "tail": max(0, given.numbers.get("-n", 25))}
    page = await asked(call, "read", name, tail=fields["tail"])
    most = bound(call, given)
    if most is not None:
        page = await _fitted(call, fields, page, most)
    await call.output.line(jsoned(page) if "-j" in given.flags else page["text"].rstrip("\n"))
    return 0


async def _fitted(
    call: Call, fields: dict[str, Any], page: dict[str, Any], most: int
) -> dict[str, Any]:
    """Return a page with as much of its text as fits beside what else is in it."""

    async def pages() -> AsyncIterator[dict[str, Any]]:
        yield page

    room = room_beside({**page, "text": ""}, most)
    _, short = await fitted_pages(call.ops.ask, fields, pages(), room)
    if short.rest:
        await call.output.err(f"k: {short.rest}")
    return {**page, "text": short.text, **left_out(short)}


async def asked(call: Call, op: str, name: str, **fields: Any) -> dict[str, Any]:
    """Return an op's answer; a failure is refused in the words of the contract."""
    try:
        answer: dict[str, Any] = await call.ops.ask(op, id=name, **fields)
    except AgentPtyError as error:
        raise await advice.refusal(call.ops, error, name) from None
    return answer
