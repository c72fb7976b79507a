"""The words that look and type: `screen`, `keys`, `read`, `history`."""

from __future__ import annotations

from typing import Any

from agent_pty.errors import AgentPtyError, UnknownSession
from agent_pty.words.cell import resolved
from agent_pty.words.option import parsed
from agent_pty.words.speaker import Refusal, Speaker, checked, jsoned
from agent_pty.words.story import story

_PER_STEP = 5


async def screen(speaker: Speaker, words: list[str]) -> int:
    """Say what a person would see."""
    given = parsed(words, usage="k screen [-j] [session]", flags=("-j",))
    name = await resolved(speaker, given.words[0] if given.words else None)
    seen = await _asked(speaker, "screen", name)
    await speaker.said.line(jsoned(seen) if "-j" in given.flags else seen["text"].rstrip("\n"))
    return 0


async def keys(speaker: Speaker, words: list[str]) -> int:
    """Press keys by name."""
    given = parsed(words, usage="k keys <session> key...", flags=("-j",))
    if len(given.words) <= 1:
        raise Refusal("usage: k keys <session> key...")
    name = checked(given.words[0])
    pressed = await _asked(speaker, "keys", name, keys=given.words[1:])
    shown = jsoned(pressed) if "-j" in given.flags else f"OK {name} keys={pressed['keys']}"
    await speaker.said.line(shown)
    return 0


async def read(speaker: Speaker, words: list[str]) -> int:
    """Say the last lines that the session wrote."""
    given = parsed(words, usage="k read [-n N] [session]", flags=("-j",), numbers=("-n",))
    name = await resolved(speaker, given.words[0] if given.words else None)
    page = await _asked(speaker, "read", name, tail=max(0, given.numbers.get("-n", 25)))
    await speaker.said.line(jsoned(page) if "-j" in given.flags else page["text"].rstrip("\n"))
    return 0


async def history(speaker: Speaker, words: list[str]) -> int:
    """Say the last lines with what happened to cells, for people."""
    given = parsed(words, usage="k history [-n N] [session]", flags=("-j",), numbers=("-n",))
    name = await resolved(speaker, given.words[0] if given.words else None)
    lines = max(0, given.numbers.get("-n", 5)) * _PER_STEP
    # Blank and repeated lines are left out afterwards, so ask for more.
    past = await _asked(speaker, "history", name, lines=min(100_000, lines * 4))
    if "-j" in given.flags:
        await speaker.said.line(jsoned(past["entries"][-lines:] if lines else []))
        return 0
    for line in story(past["entries"])[-lines:] if lines else []:
        await speaker.said.line(line)
    return 0


async def _asked(speaker: Speaker, op: str, name: str, **fields: Any) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = await speaker.ops.ask(op, id=name, **fields)
    except UnknownSession:
        raise Refusal(f"ERR no session '{name}'") from None
    except AgentPtyError as error:
        raise Refusal(f"ERR {error}") from None
    return answer
