"""Fit a JSON object into a number of bytes: its keys stay, its lists and texts are cut.

Lists are cut first: what they say can mostly be found in the texts. So are the modes of a
terminal. `left_out` is added to the object: how many entries, or lines of text, a key has lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from agent_pty.core.budget import fitted
from agent_pty.core.safe import safe_json

LEFT_OUT: Final = "left_out"
# Texts below this are names and facts, not something to cut.
_LONG: Final = 120
# An object of ours that is cut like a list.
_MODES: Final = "modes"

_Path = tuple[str, ...]


def json_size(value: Any) -> int:
    """Return how many bytes *value* has as JSON with a blank after each separator."""
    return len(safe_json(json.dumps(value, ensure_ascii=False)).encode("utf-8", "replace"))


def shortened(answer: dict[str, Any], room: int, *, rest: str) -> dict[str, Any]:
    """Return *answer*, cut until it has at most *room* bytes or nothing more can be cut.

    *rest* says where all of it is.
    """
    if json_size(answer) <= room:
        return answer
    short: dict[str, Any] = {**_copied(answer), LEFT_OUT: {}}
    for kind in ((list, dict), str):
        found = [path for path, value in _leaves(answer) if isinstance(value, kind)]
        found.sort(key=lambda path: json_size(_at(short, path)), reverse=True)
        for path in found:
            excess = json_size(short) - room
            if excess > 0:
                _cut(short, path, excess, rest)
    return short


def newest(entries: list[Any], room: int) -> list[Any]:
    """Return as many entries of the end of a list as fit."""
    sizes = [json_size(entry) + len(", ") for entry in entries]
    total, kept = len("[]"), len(entries)
    while kept and total + sizes[kept - 1] <= room:
        kept -= 1
        total += sizes[kept]
    return entries[kept:]


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(one) for name, one in value.items()}
    return value


def _leaves(value: dict[str, Any], path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    for name, one in value.items():
        if isinstance(one, dict) and name != _MODES:
            yield from _leaves(one, (*path, name))
        elif (isinstance(one, (list, dict)) and one) or (isinstance(one, str) and len(one) > _LONG):
            yield (*path, name), one


def _at(value: dict[str, Any], path: _Path) -> Any:
    for name in path:
        value = value[name]
    return value


def _cut(short: dict[str, Any], path: _Path, excess: int, rest: str) -> None:
    """Make one list or text smaller by *excess* and by what it takes to report that."""
    parent, name = _at(short, path[:-1]), path[-1]
    value, note = parent[name], len('"": 100000, ') + len(".".join(path))
    room = max(0, json_size(value) - excess - note)
    if isinstance(value, list):
        parent[name] = _first_entries(value, room)
        count = len(value) - len(parent[name])
    elif isinstance(value, dict):
        parent[name], count = {}, len(value)
    else:
        text = fitted(value, max(_LONG, room), rest=rest)
        parent[name], count = text.text, text.left_out or 0
    if count:
        short[LEFT_OUT][".".join(path)] = count


def _first_entries(entries: list[Any], room: int) -> list[Any]:
    kept, total = 0, len("[]")
    while kept < len(entries) and total + json_size(entries[kept]) + len(", ") <= room:
        total += json_size(entries[kept]) + len(", ")
        kept += 1
    return entries[:kept]
