"""Requests for any op, made from its schema: right ones, and wrong ones of every kind."""

from __future__ import annotations

from typing import Any

import msgspec

from agent_pty.ops.op import Op
from agent_pty.ops.schema import request_schema

Fields = dict[str, Any]

# A value for each field that some op requires. A new op with a required field that is not here
# fails the tests: give that field a value.
_EXAMPLES: Fields = {
    "at": "1",
    "argv": ["true"],
    "cell": "no-such-cell",
    "code": "true",
    "col": 1,
    "cols": 90,
    "direction": "down",
    "keys": ["x"],
    "message": "done",
    "other": "no-such-fork",
    "repo": "/tmp",
    "request": "00000000-00000000",
    "row": 1,
    "rows": 30,
    "signal": "CONT",
    "since": 0,
    "steps": [{"op": "resize", "rows": 30, "cols": 90}],
    "target": "no-such-session:0.0",
    "text": "x",
    "to_col": 2,
    "to_row": 2,
    "until": "idle:1ms",
    "value": "a secret",
    "what": "terminal_stop",
}
# Fields that hold the names of sessions.
_OF_SESSION: dict[str, Any] = {
    "id": lambda session: session,
    "ids": lambda session: [session],
    "name": lambda session: f"{session}-renamed",
}
# A field that is a number in one op is a text in another.
_OF_OP: dict[str, Fields] = {"changes": {"since": "0"}}
# No field takes the first, or it does not take the second.
_WRONG: tuple[Any, ...] = ([{}], 0.5)


def well_formed(op: Op, session: str, **given: Any) -> Fields:
    """Return a request about *session*: what is required, and every default.

    *given* are better values for fields of the request than the examples.
    """
    schema = request_schema(op)
    required = {name: _example(op, name, session) for name in schema.get("required", [])}
    defaults = {
        name: one["default"]
        for name, one in schema["properties"].items()
        if one.get("default") is not None
    }
    named = {"id": session} if "id" in schema["properties"] else {}
    better = {name: value for name, value in given.items() if name in required}
    return {**defaults, **required, **named, **better}


def malformed(op: Op) -> dict[str, Fields]:
    """Return wrong requests, each under the name of what is wrong with it."""
    schema = request_schema(op)
    right = well_formed(op, "nobody")
    found = {
        f"without {field}": {name: value for name, value in right.items() if name != field}
        for field in schema.get("required", [])
    }
    for field in schema["properties"]:
        wrong = ({**right, field: value} for value in _WRONG)
        if (refused := next(filter(lambda one: _is_refused(op, one), wrong), None)) is not None:
            found[f"{field} of a wrong type"] = refused
    if op.where == "session" or "id" in schema.get("required", []):
        found["unknown session"] = right
        found["unknown session, with an unknown field"] = {**right, "no_such_field": 1}
    return found


def _example(op: Op, name: str, session: str) -> Any:
    if name in _OF_SESSION:
        return _OF_SESSION[name](session)
    examples = {**_EXAMPLES, **_OF_OP.get(op.name, {})}
    assert name in examples, f"{op.name} requires {name}: give it a value in {__file__}"
    return examples[name]


def _is_refused(op: Op, fields: Fields) -> bool:
    try:
        msgspec.convert(fields, op.request)
    except msgspec.ValidationError:
        return True
    return False
