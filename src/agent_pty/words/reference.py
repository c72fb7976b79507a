"""The reference of all ops, written from the table: `python -m agent_pty.words.reference`.

`docs/reference.md` is its output; a test compares the two.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Collection
from typing import Any

import msgspec

from agent_pty import ops
from agent_pty.core.command import Argument
from agent_pty.ops.op import Op
from agent_pty.words.agent_pty import of_op
from agent_pty.words.arguments import described
from agent_pty.words.parser import Subcommand

_HEAD = """\
# Reference of ops

Written from the op table (`src/agent_pty/ops/`) by `make reference`; do not edit. A field means the
same on every transport. Envelopes, streams, keys and errors are described in
[protocol.md](protocol.md). [reference-cli.md](reference-cli.md) has every command,
[reference-tools.md](reference-tools.md) every tool for models.

"""
_WIDTH = 100


def reference() -> str:
    """Return the page."""
    listed = list(ops.TABLE.values())
    index = " · ".join(f"[`{op.name}`](#{op.name})" for op in listed)
    return _HEAD + index + "\n\n" + "\n".join(_section(op) for op in listed)


def _section(op: Op) -> str:
    summary = " ".join((op.request.__doc__ or "").split())
    kind = "a stream" if op.stream else f"answers `{op.answer}`"
    where = "the daemon" if op.where == "daemon" else "the session's host"
    lines = [f"## {op.name}", "", summary, "", f"Answered by {where}; {kind}.", ""]
    lines += fields_table(op.request)
    for command in op.commands:
        examples = (f"# {example}" for example in command.examples)
        lines += ["```sh", usage(of_op(op, command)), *examples, "```", ""]
    return "\n".join(lines)


def fields_table(kind: type[msgspec.Struct], *, required: Collection[str] = ()) -> list[str]:
    """Return the lines of a table of fields, none if there are none.

    Fields in *required* are said to be so, although they have a default.
    """
    rows = [_row(field, also=field.name in required) for field in msgspec.structs.fields(kind)]
    head = ["| field | type | default | meaning |", "|---|---|---|---|"]
    return [*head, *rows, ""] if rows else []


def listed_arguments(one: Subcommand) -> list[Argument]:
    """Return the arguments of a subcommand that its help shows."""
    every = [argument for part in one.parts for argument in part.arguments]
    return [each for each in every if each.options.get("help") != argparse.SUPPRESS]


def usage(one: Subcommand) -> str:
    """Return a usage line; that of `argparse` differs between versions of Python."""
    given = listed_arguments(one)
    places = [_word(each) for each in given if not each.names[0].startswith("-")]
    flags = [_word(each) for each in given if each.names[0].startswith("-")]
    line = " ".join(["agent-pty", one.name, *places, *flags])
    return textwrap.fill(line, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _word(argument: Argument) -> str:
    name, options = argument.names[0], argument.options
    if not name.startswith("-"):
        shown = str(options.get("metavar", name)).upper()
        return {"?": f"[{shown}]", "*": f"[{shown}...]", "+": f"{shown}..."}.get(
            options.get("nargs", ""), shown
        )
    if "choices" in options:
        name += " " + "|".join(options["choices"])
    elif "action" not in options or options["action"] == "append":
        name += f" {options.get('metavar', 'N')}"
    return name if options.get("required") else f"[{name}]"


def _row(field: msgspec.structs.FieldInfo, *, also: bool) -> str:
    kind, text = described(field)
    default = "required" if also else _default(field)
    return f"| `{field.name}` | {kind} | {default} | {text} |"


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    if field.default_factory is not msgspec.NODEFAULT:
        return f"`{_shown(field.default_factory())}`"
    return f"`{_shown(field.default)}`"


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()


if __name__ == "__main__":
    sys.stdout.write(reference())
