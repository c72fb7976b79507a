"""How `history` and `watch` show the past to people: text, and in colour what happened to cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_DIM, _RESET = "\x1b[2m", "\x1b[0m"
_DIM_CYAN, _DIM_GREEN, _YELLOW = "\x1b[2;36m", "\x1b[2;32m", "\x1b[33m"
_SHORT = 8


def dim(text: str) -> str:
    """Show as a remark."""
    return f"{_DIM}{text}{_RESET}"


def told(entry: Mapping[str, Any]) -> str | None:
    """Return the line of one entry; None for what people need not see."""
    kind, text = entry["kind"], entry["text"]
    if kind == "text":
        return text.rstrip() if text.strip() and text.strip() != "..." else None
    if kind == "fired":
        return f"{_DIM_CYAN}── {text[:_SHORT]} ──{_RESET}"
    if kind == "done":
        return f"{_DIM_GREEN}── ✓ ──{_RESET}"
    if kind == "notify":
        return f"{_YELLOW}📢 {text}{_RESET} {dim('(' + entry['who'] + ')')}"
    return dim(f"── {kind} ──")


def story(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines of entries, without what repeats itself."""
    lines: list[str] = []
    for entry in entries:
        line = told(entry)
        if line is not None and (not lines or lines[-1] != line):
            lines.append(line)
    return lines
