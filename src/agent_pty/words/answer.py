"""The word `answer` of `k`: a line for the cell that waits."""

from __future__ import annotations

from agent_pty.words.bounded import placed_bound
from agent_pty.words.call import Call, Refusal
from agent_pty.words.cell import resolved, say_outcome
from agent_pty.words.placed_option import placed

USAGE = "k answer [-j] [-e] [-t D] [session] <text>"


async def answer(call: Call, words: list[str]) -> int:
    """Type a line into the cell that waits; say its reply as `run` says an output."""
    given = placed(words, usage=USAGE, most=2, flags=("-j", "-e"), values=("-t",))
    if not given.words:
        raise Refusal(f"usage: {USAGE}")
    *named, text = given.words
    session = await resolved(call, named[0] if named else None)
    limit = given.milliseconds(30)
    most = placed_bound(call, given)
    running = call.ops.ask("answer", id=session, text=text, timeout_ms=limit, spill=False)
    return await say_outcome(
        call, session, running, json="-j" in given.flags, own="-e" in given.flags, most=most
    )
