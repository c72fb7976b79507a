"""`k history`, and how the past is shown to people: text, and in colour what happened to cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent_pty.core.safe import one_line
from agent_pty.words.bounded import bound, say, say_list
from agent_pty.words.call import Call
from agent_pty.words.cell import resolved
from agent_pty.words.option import parsed
from agent_pty.words.screen import asked

_DIM, _RESET = "\x1b[2m", "\x1b[0m"
_DIM_CYAN, _DIM_GREEN, _YELLOW, _RED = "\x1b[2;36m", "\x1b[2;32m", "\x1b[33m", "\x1b[31m"
_SHORT = 8
_PER_STEP = 5


def dim(text: str) -> str:
    """Show as a remark."""
    return f"{_DIM}{text}{_RESET}"


def line_of(entry: Mapping[str, Any]) -> str | None:
    """Return the line of one entry; None for what people need not see."""
    kind, text = entry["kind"], one_line(entry["text"])
    if kind == "text":
        return text.rstrip() if text.strip() and text.strip() != "..." else None
    if kind == "fired":
        return f"{_DIM_CYAN}── {text[:_SHORT]} ──{_RESET}"
    if failure := _failure(kind, entry.get("exit_code")):
        return f"{_RED}── ✗ {failure} ──{_RESET}"
    if kind == "done":
        return f"{_DIM_GREEN}── ✓ ──{_RESET}"
    if kind == "notify":
        return f"{_YELLOW}📢 {text}{_RESET} {dim('(' + one_line(entry['who']) + ')')}"
    return dim(f"── {kind} ──")


def _failure(kind: str, exit_code: int | None) -> str:
    """Say how a cell failed; empty if it did not, or if that is not known."""
    if kind in ("interrupted", "error"):
        return kind
    if not exit_code:
        return ""
    return f"exit {exit_code}" if kind == "done" else f"{kind}, exit {exit_code}"


def lines_of(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines of entries, without what repeats itself."""
    lines: list[str] = []
    for entry in entries:
        line = line_of(entry)
        if line is not None and (not lines or lines[-1] != line):
            lines.append(line)
    return lines


async def history(call: Call, words: list[str]) -> int:
    """Say the last lines with what happened to cells, for people."""
    given = parsed(words, usage="k history [-n N] [session]", flags=("-j",), numbers=("-n",))
    name = await resolved(call, given.words[0] if given.words else None)
    lines = int(max(0, given.numbers.get("-n", 5))) * _PER_STEP
    # Blank and repeated lines are left out afterwards, so ask for more.
    past = await asked(call, "history", name, lines=min(100_000, lines * 4))
    most, rest = bound(call, given), f"agent-pty read {name}"
    if "-j" in given.flags:
        entries = past["entries"][-lines:] if lines else []
        await say_list(call, entries, most=most, rest=rest)
        return 0
    shown = lines_of(past["entries"])[-lines:] if lines else []
    if shown:
        await say(call, "\n".join(shown), most=most, rest=rest)
    return 0
