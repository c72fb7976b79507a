"""`k batch`: several cells in one call, one after the other, until one fails."""

from __future__ import annotations

from agent_pty.words import cell
from agent_pty.words.bounded import bound, share
from agent_pty.words.call import Call, Refusal
from agent_pty.words.option import BOUND, Parsed, parsed

USAGE = "k batch [-j] [-e] [-t N] <session> <code>..."
_LEAST_WORDS = 2
_FAILED = 1


async def batch(call: Call, words: list[str]) -> int:
    """Run each code as `k run` does; `-t` limits each of them, not all together.

    The session must be named: a mistyped name must not become code. The bytes of agent mode are
    for all steps together: each has an equal share.
    """
    given = parsed(words, usage=USAGE, flags=("-j", "-e"), numbers=("-t",))
    if len(given.words) < _LEAST_WORDS:
        raise Refusal(f"usage: {USAGE}")
    session, *codes = given.words
    json = ["-j"] if "-j" in given.flags else []
    limit = [*_limit(given), BOUND, str(share(bound(call, given), len(codes)))]
    for number, code in enumerate(codes, 1):
        # With -e the status of a step that has not succeeded is never 0.
        status = await cell.run(call, [*json, "-e", *limit, session, code])
        if status:
            await call.output.err(f"k: {_report(number, len(codes), status)}")
            return status if "-e" in given.flags else _FAILED
    return 0


def _limit(given: Parsed) -> list[str]:
    """Return the option for each step: plain seconds, which may be negative, or a duration."""
    limit = given.numbers.get("-t")
    if limit is None:
        return []
    return ["-t", f"{limit}" if isinstance(limit, int) else f"{round(limit * 1000)}ms"]


def _report(number: int, count: int, status: int) -> str:
    left = count - number
    not_run = f"; {left} not run" if left else ""
    return f"step {number} of {count} failed with status {status}{not_run}"
