"""The JSON schema of an op's request, for tools, HTTP and whoever else describes ops."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from agent_pty.ops.op import Op, Request


def request_schema(op: Op) -> dict[str, Any]:
    """Return the schema of an op's fields, without references to elsewhere."""
    return _schema(op.request)


@functools.cache
def _schema(request: type[Request]) -> dict[str, Any]:
    whole = msgspec.json.schema(request)
    found = _inlined(whole, whole.get("$defs", {}))
    named = {name: one for name, one in found.items() if name not in {"title", "description"}}
    return {**named, "type": "object"}


def summary(op: Op) -> str:
    """Return what an op does: the first paragraph of its help, in one line."""
    return " ".join((op.request.__doc__ or "").split("\n\n")[0].split())


def _inlined(schema: Any, defs: dict[str, Any]) -> Any:
    """Replace references by what they refer to."""
    if isinstance(schema, list):
        return [_inlined(one, defs) for one in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _inlined(defs[reference.rpartition("/")[2]], defs)
    return {name: _inlined(one, defs) for name, one in schema.items() if name != "$defs"}
