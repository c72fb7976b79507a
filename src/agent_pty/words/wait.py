"""The word `wait` of `k`: return when a condition is true."""

from __future__ import annotations

from typing import Any

from agent_pty.errors import AgentPtyError, SessionEnded, WaitTimeout
from agent_pty.words import advice
from agent_pty.words.bounded import placed_bound, say, say_object
from agent_pty.words.call import Call, Refusal
from agent_pty.words.cell import resolved
from agent_pty.words.interrupt import GivenUp, give_up
from agent_pty.words.placed_option import Placed, placed

USAGE = "k wait [-j] [-t D] [session] --until COND"
_UNTIL, _FAIL_ON = ("--until", "-u"), "--fail-on"
_TIMED_OUT, _INTERRUPTED = 124, 130
# What a screen shows at its end is most likely what the wait hoped for, or why it did not come.
_LAST_LINES = 5


async def wait(call: Call, words: list[str]) -> int:
    """Say which condition came true and the text that made it so."""
    given = placed(words, usage=USAGE, most=1, values=("-t", *_UNTIL, _FAIL_ON))
    until = [one for name in _UNTIL for one in given.values.get(name, ())]
    if not until:
        raise Refusal(f"usage: {USAGE}\nCOND: text, regex:P, screen:P, prompt, idle:2s, cell:ID")
    session = await resolved(call, given.words[0] if given.words else None)
    asking = call.ops.ask(
        "wait",
        id=session,
        until=until,
        fail_on=given.values.get(_FAIL_ON),
        timeout_ms=max(0, given.milliseconds(30)),
        files=False,
    )
    try:
        seen = await call.interrupted.guard(asking, give_up)
    except GivenUp:
        return _INTERRUPTED
    except (WaitTimeout, SessionEnded) as error:
        return await _say_unmet(call, given, session, error)
    except AgentPtyError as error:
        raise await advice.refusal(call.ops, error, session) from None
    return await _say_met(call, given, session, seen)


async def _say_met(call: Call, given: Placed, session: str, seen: dict[str, Any]) -> int:
    status = "failed" if seen["failed"] else "matched"
    facts = {"session": session, "status": status, "until": seen["matched"]}
    guess = {"guess": True} if seen.get("guess") else {}
    plain = f"{'ERR' if seen['failed'] else 'OK'} {session} {status} {seen['matched']}"
    match = seen["match"] or ""
    most, rest = placed_bound(call, given), f"agent-pty screen {session}"
    line = seen.get("line") or match  # a host of an earlier build does not report it
    if "-j" in given.flags:
        more = {"line": line} if line != match else {}
        found = {**facts, "match": match, "cursor": seen["cursor"], **more}
        await say_object(call, {**found, **guess}, most=most, rest=rest)
    else:
        shown = f"{plain}\n{line}" if line and line != seen["matched"] else plain
        await say(call, shown, most=most, rest=rest)
        if guess:
            await call.output.err("k: the prompt is a guess: the program does not mark it")
    return 1 if seen["failed"] else 0


async def _say_unmet(
    call: Call, given: Placed, session: str, error: WaitTimeout | SessionEnded
) -> int:
    """Say that it did not come true, and how the screen ends."""
    status = "timeout" if isinstance(error, WaitTimeout) else "exited"
    most, rest = placed_bound(call, given), f"agent-pty screen {session}"
    screen = _last_lines(error.details.get("observation"))
    if "-j" in given.flags:
        facts = {"session": session, "status": status, "output": str(error), "screen": screen}
        await say_object(call, facts, most=most, rest=rest)
    else:
        if screen:
            await say(call, screen, most=most, rest=rest)
        await call.output.err(f"k: {error}")
    return _TIMED_OUT if status == "timeout" else 1


def _last_lines(seen: dict[str, Any] | None) -> str:
    text: str = seen["screen"]["text"] if seen else ""
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    return "\n".join(lines[-_LAST_LINES:])
