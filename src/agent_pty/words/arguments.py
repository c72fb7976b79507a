"""The arguments of a command: those of its parts, and one option for every other field.

What an option is called, takes and means is in the request type: its name, its type, its default
and its description.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agent_pty.core.command import Argument, Command, Fields, Part, argument
from agent_pty.ops.op import Op

_KEY = "idempotency key: the same again does nothing"
_TYPES: dict[type[msgspec.inspect.Type], str] = {
    msgspec.inspect.IntType: "number",
    msgspec.inspect.BoolType: "true or false",
    msgspec.inspect.ListType: "list",
    msgspec.inspect.DictType: "object",
}


def parts_of(op: Op, command: Command) -> list[Part]:
    """Return every part of a command, the derived ones last."""
    filled = {name for one in command.parts for name in one.fields} | command.hidden
    fields = [one for one in msgspec.structs.fields(op.request) if one.name not in filled]
    return [
        *command.parts,
        *(_derived(one) for one in fields),
    ]


def _derived(field: msgspec.structs.FieldInfo) -> Part:
    given = _argument(field, msgspec.inspect.type_info(field.type))
    name = field.name

    async def fill(call: Any) -> Fields:
        return {name: getattr(call.options, name)}

    return Part(arguments=(given,), fields=(name,), fill=fill)


def _argument(field: msgspec.structs.FieldInfo, info: msgspec.inspect.Type) -> Argument:
    kind, description = _unwrapped(info)
    text = _key_or(field, description)
    if field.required:
        return argument(field.name, help=text, **_value(kind))
    if isinstance(kind, msgspec.inspect.BoolType):
        return _switch(field, text)
    shown = text if field.default in (msgspec.NODEFAULT, None) else _with_default(text, field)
    return argument(_flag(field.name), dest=field.name, help=shown, **_value(kind))


def _switch(field: msgspec.structs.FieldInfo, text: str) -> Argument:
    """Return the option that turns a field into the opposite of its default."""
    if field.default:
        flag, action = f"--no-{_dashed(field.name)}", "store_false"
        text = f"do not {text}"
    else:
        flag, action = _flag(field.name), "store_true"
    return argument(flag, dest=field.name, action=action, default=None, help=text)


def _value(kind: msgspec.inspect.Type) -> dict[str, Any]:
    """Return what `argparse` must know to read a value of a type."""
    if isinstance(kind, msgspec.inspect.IntType):
        return {"type": int, "metavar": "N"}
    if isinstance(kind, msgspec.inspect.LiteralType):
        return {"choices": list(kind.values)}
    if isinstance(kind, msgspec.inspect.ListType):
        return {"action": "append", "metavar": "TEXT"}
    return {"metavar": "TEXT"}


def _unwrapped(info: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, str]:
    """Return a type without annotations and without None, and its description."""
    text = ""
    while True:
        if isinstance(info, msgspec.inspect.Metadata):
            text = text or str((info.extra_json_schema or {}).get("description", ""))
            info = info.type
        elif isinstance(info, msgspec.inspect.UnionType):
            info = next(one for one in info.types if not isinstance(one, msgspec.inspect.NoneType))
        else:
            return info, text


def described(field: msgspec.structs.FieldInfo) -> tuple[str, str]:
    """Return the type of a field in a word or two, and its description."""
    kind, text = _unwrapped(msgspec.inspect.type_info(field.type))
    if isinstance(kind, msgspec.inspect.LiteralType):
        return " or ".join(f'`"{value}"`' for value in sorted(map(str, kind.values))), text
    return _TYPES.get(type(kind), "text"), _key_or(field, text)


def _key_or(field: msgspec.structs.FieldInfo, text: str) -> str:
    return _KEY if field.name == "key" else text


def _with_default(text: str, field: msgspec.structs.FieldInfo) -> str:
    return f"{text} (default: {field.default})"


def _flag(name: str) -> str:
    return f"--{_dashed(name)}"


def _dashed(name: str) -> str:
    return name.replace("_", "-")


async def fields_of(parts: Sequence[Part], call: Any) -> Fields:
    """Return the fields that a command line gives; what it does not say is None."""
    fields: Fields = {}
    for part in parts:
        if part.fill is not None:
            fields |= await part.fill(call)
    return fields
