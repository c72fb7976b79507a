"""The cells of a session and how each ended, from the lines of its journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

_CELLS = (b'"type":"cell_started"', b'"type":"cell_finished"')


class CellOutcome(Struct, frozen=True, kw_only=True):
    """A cell; *status* is null while it runs, *exit_code* if it is not known.

    *output* is the end of what it wrote.
    """

    cell_id: str
    code: str
    status: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    output: str | None = None


def cell_outcomes(lines: Iterable[bytes]) -> list[CellOutcome]:
    """Return the cells in the order in which they began; damaged lines are passed over."""
    found: dict[str, CellOutcome] = {}
    for line in lines:
        if any(word in line for word in _CELLS):
            payload = _payload(line)
            name = str(payload.get("cell_id"))
            if payload.get("type") == "cell_started":
                found[name] = CellOutcome(cell_id=name, code=payload["code"])
            elif name in found:
                found[name] = msgspec.structs.replace(
                    found[name],
                    status=payload["status"],
                    exit_code=payload["exit_code"],
                    duration_ms=payload["duration_ms"],
                    output=payload["output"],
                )
    return list(found.values())


def _payload(line: bytes) -> dict[str, Any]:
    try:
        event = msgspec.json.decode(line)
        payload: dict[str, Any] = event["kind"]["payload"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return {}
    return payload
