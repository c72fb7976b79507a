"""The words of `k` about what is on the terminal: `screen`, `keys`, `read`."""

from __future__ import annotations

from typing import Any

from agent_pty.errors import AgentPtyError, UnknownSession
from agent_pty.words.call import Call, Refusal, checked, jsoned
from agent_pty.words.cell import resolved
from agent_pty.words.option import parsed


async def screen(call: Call, words: list[str]) -> int:
    """Say what a person would see."""
    given = parsed(words, usage="k screen [-j] [session]", flags=("-j",))
    name = await resolved(call, given.words[0] if given.words else None)
    seen = await asked(call, "screen", name)
    await call.output.line(jsoned(seen) if "-j" in given.flags else seen["text"].rstrip("\n"))
    return 0


async def keys(call: Call, words: list[str]) -> int:
    """Press keys by name."""
    given = parsed(words, usage="k keys <session> key...", flags=("-j",))
    if len(given.words) <= 1:
        raise Refusal("usage: k keys <session> key...")
    name = checked(given.words[0])
    pressed = await asked(call, "keys", name, keys=given.words[1:])
    shown = jsoned(pressed) if "-j" in given.flags else f"OK {name} keys={pressed['keys']}"
    await call.output.line(shown)
    return 0


async def read(call: Call, words: list[str]) -> int:
    """Say the last lines that the session wrote."""
    given = parsed(words, usage="k read [-n N] [session]", flags=("-j",), numbers=("-n",))
    name = await resolved(call, given.words[0] if given.words else None)
    page = await asked(call, "read", name, tail=max(0, given.numbers.get("-n", 25)))
    await call.output.line(jsoned(page) if "-j" in given.flags else page["text"].rstrip("\n"))
    return 0


async def asked(call: Call, op: str, name: str, **fields: Any) -> dict[str, Any]:
    """Return an op's answer; a failure is refused in the words of the contract."""
    try:
        answer: dict[str, Any] = await call.ops.ask(op, id=name, **fields)
    except UnknownSession:
        raise Refusal(f"ERR no session '{name}'") from None
    except AgentPtyError as error:
        raise Refusal(f"ERR {error}") from None
    return answer
