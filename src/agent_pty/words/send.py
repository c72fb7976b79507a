"""The words `send` and `type` of `k`: text for whatever reads the keyboard."""

from __future__ import annotations

from agent_pty.words.call import Call, Refusal, jsoned
from agent_pty.words.cell import resolved
from agent_pty.words.placed_option import placed
from agent_pty.words.screen import asked


async def send(call: Call, words: list[str]) -> int:
    """Type a line and press Enter."""
    return await _type(call, words, usage="k send [-j] [session] <text>", enter=True)


async def type_text(call: Call, words: list[str]) -> int:
    """Type text and press nothing."""
    return await _type(call, words, usage="k type [-j] [session] <text>", enter=False)


async def _type(call: Call, words: list[str], *, usage: str, enter: bool) -> int:
    given = placed(words, usage=usage, most=2)
    if not given.words:
        raise Refusal(f"usage: {usage}")
    *named, text = given.words
    name = await resolved(call, named[0] if named else None)
    sent = await asked(call, "send", name, text=text, enter=enter)
    done = f"OK {name} {'sent' if enter else 'typed'}"
    await call.output.line(jsoned(sent) if "-j" in given.flags else done)
    return 0
