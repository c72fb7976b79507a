"""What `run`, `poll` and `peek` print about a cell for people, and their exit status."""

from __future__ import annotations

from typing import Any

from agent_pty.core.command import Call, text_room
from agent_pty.core.exit_code import UNMET_STATUS, cell_status
from agent_pty.core.short_json import LEFT_OUT, json_size
from agent_pty.ops.excerpt import INLINE, fits, room_for

_TIMED_OUT = 4
_WAITS = 8
# What is said of a cell if a budget has no space for all that is known.
_ESSENTIAL = frozenset(
    (
        "cell_id",
        "status",
        "output",
        "exit_code_unknown",
        "error",
        "for",
        "hint",
        "path",
        "matched",
        "unmet",
        "now",
    )
)
_LONGEST_PATH = 100


async def print_result(call: Call, cell: dict[str, Any]) -> int:
    """Print a cell; return its own exit status, or one that says why it has none."""
    await print_so_far(call, cell)
    if cell.get("matched"):
        return 0
    by_status = {"timeout": _TIMED_OUT, "waiting": _WAITS}
    unmet = UNMET_STATUS if cell.get("unmet") else 0
    return by_status.get(cell["status"]) or cell_status(cell) or unmet


async def print_so_far(call: Call, cell: dict[str, Any]) -> int:
    """Print a cell as it is now; whatever its status, that is success."""
    cell = await _fitted(call, cell)
    if call.json or cell["output"]:
        await call.show(cell, cell["output"].removesuffix("\n"))
    name = call.options.name
    remarks = () if call.json else (_remark(cell, name), unmet_remark(cell), _now(cell))
    for remark in filter(None, remarks):
        await call.warn(remark)
    return 0


async def _fitted(call: Call, cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell whose output keeps to `--max-tokens` and begins where `--since` says."""
    room, since = text_room(call), getattr(call.options, "since", None)
    shown = cell
    if room is not None and call.json and json_size(cell) > room:
        shown = {name: one for name, one in cell.items() if _is_essential(name, one)}
        room = max(room - json_size({**shown, "output": ""}) - _reported(cell), room // 3)
    if since is None and (room is None or fits(cell, room)):
        return shown
    since = since if since is not None else cell.get("since")  # an answer begins there
    wanted = {"id": call.options.name, "cell": cell["cell_id"], "since": since}
    part = await call.ask("excerpt", **wanted, fit=room_for(INLINE if room is None else room))
    cut = part["left_out"] is not None
    left_out = {LEFT_OUT: part["left_out"]} if cut else {}
    facts = {name: part[name] for name in ("path", "cursor", "lost")}
    return {**shown, "output": part["text"], "truncated": cut, **facts, **left_out}


def _is_essential(name: str, value: Any) -> bool:
    return name == "exit_code" or (name in _ESSENTIAL and value not in (None, False))


def _reported(cell: dict[str, Any]) -> int:
    """Return how many bytes an object gets if its output is cut: the lines, the file, the place."""
    path = 0 if cell["path"] else _LONGEST_PATH
    return path + len(f'"{LEFT_OUT}":1000000000,"truncated":true,"cursor":{cell["size"]},\n')


def _remark(cell: dict[str, Any], name: str) -> str | None:
    """Return what the output alone does not show."""
    which = f"cell {cell['cell_id']}"
    match cell["status"]:
        case "error":
            return f"{which}: {cell['error']}"
        case "timeout":
            long = (
                f"{which} has taken longer than its limit and runs on: poll, peek or interrupt it"
            )
            return f"{long}; {cell['hint']}" if cell["hint"] else long
        case "waiting":
            todo = cell["hint"] or f"agent-pty answer {name} TEXT, or interrupt it"
            return f"{which} waits for {cell['for']}: {todo}"
        case "running" if cell.get("matched"):
            return f"{which} runs on: {cell['matched']} came true"
        case "running":
            return f"{which} is running" + (f"; {cell['hint']}" if cell["hint"] else "")
    return f"{which}: {fault}" if (fault := _fault(cell)) else _where(cell)


def unmet_remark(cell: dict[str, Any]) -> str | None:
    """Say which conditions of a run did not come true."""
    if not cell.get("unmet"):
        return None
    when = "so far" if cell["status"] in ("timeout", "waiting") else "before it ended"
    return f"cell {cell['cell_id']}: {cell['unmet']} did not come true {when}"


def _now(cell: dict[str, Any]) -> str | None:
    """Say which program the cell has left at the keyboard."""
    return cell["hint"] if cell.get("now") else None


def _where(cell: dict[str, Any]) -> str | None:
    return f"the whole output is in {cell['path']}" if cell["path"] else None


def _fault(cell: dict[str, Any]) -> str | None:
    """Return what is not known of a cell that has ended."""
    if cell.get("lost"):  # a host of an earlier build does not count it
        return f"{cell['lost']} bytes of its output could not be kept"
    if cell.get("exit_code_unknown"):
        why = None if cell.get("now") else cell["hint"]
        return f"its exit code is unknown: {why or 'what ran the code does not report it'}"
    return None
