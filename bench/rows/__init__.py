"""The rows of the table, in the order in which they are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from bench.ground import Ground
from bench.rows import (
    active,
    append,
    drain,
    evidence,
    flood,
    guard,
    kill,
    memory,
    output,
    pending,
    readers,
    redaction,
    rounds,
    schema,
    tasks,
    verdict,
)
from bench.series import Result

Row = Callable[[Ground], list[Result]]

ROWS: Mapping[str, Row] = {
    **{row.key: partial(rounds.run, row) for row in rounds.TIMED},
    "schema": schema.run,
    "output": output.run,
    "drain": drain.run,
    "redaction": redaction.run,
    "verdict": verdict.run,
    "append": append.run,
    "evidence": evidence.run,
    "guard": guard.run,
    "kill": kill.run,
    "flood": flood.run,
    "active": active.run,
    "pending": pending.run,
    "readers": readers.run,
    "memory": memory.run,
    "tasks": tasks.run,
}
