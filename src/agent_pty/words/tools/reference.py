"""The reference of all tools: `python -m agent_pty.words.tools.reference`.

`docs/reference-tools.md` is its output; a test compares the two.
"""

from __future__ import annotations

import json
import sys

from agent_pty import ops
from agent_pty.ops.op import Op
from agent_pty.words.reference import fields_table
from agent_pty.words.tools.definition import definitions
from agent_pty.words.tools.pty_arguments import ARGUMENTS, EXAMPLES, description, schema
from agent_pty.words.tools.terminal import terminal_tools
from agent_pty.words.tools.tool import Tool

_TYPES = {"boolean": "true or false", "integer": "number", "string": "text"}

_HEAD = """\
# Reference of tools

Written from the declarations of the tools by `make reference`; do not edit. Agents call them over
MCP (`agent-pty mcp-stdio`, or `/mcp` of `agent-pty serve-http`); `--tools pty|terminal|all` chooses
which are offered. All of them work in the same sessions.

## The six

For models. They answer with text; what was wrong with a call is in the text, with a right call.
`agent-pty tools --format anthropic|openai|mcp` prints their definitions, {size} bytes for MCP, and
[Python](python.md#tools-for-models) calls them. What they may start and stop is decided by
[configuration.md](configuration.md).

"""
_TERMINAL = """\
## terminal.*

Each is an op of [reference.md](reference.md). The structured result is what the envelope has in
`data`: `{"type": ..., "data": ...}`. Some APIs of models refuse the dot in these names; the six
have none.

"""


def tool_reference() -> str:
    """Return the page."""
    size = len(json.dumps(definitions("mcp")).encode())
    of_tools = {op.tool: op for op in ops.TABLE.values()}
    six = [_pty(name) for name in ARGUMENTS]
    others = [_terminal(tool, of_tools[tool.name]) for tool in terminal_tools(None)]
    return "\n".join(
        [_HEAD.format(size=size) + six[0], *six[1:], _TERMINAL + others[0], *others[1:]]
    )


def _pty(name: str) -> str:
    table = fields_table(ARGUMENTS[name], required=schema(name).get("required", ()))
    example = ["```json", EXAMPLES[name], "```", ""]
    return "\n".join([f"### {name}", "", description(name), "", *table, *example])


def _terminal(tool: Tool, op: Op) -> str:
    answers = f"Op [`{op.name}`](reference.md#{op.name}); answers `{op.answer}`."
    table = fields_table(op.request)
    # What the tool takes besides the fields of its op.
    own = {
        name: one
        for name, one in tool.schema["properties"].items()
        if name not in op.request.__struct_fields__
    }
    rows = [
        f"| `{name}` | {_TYPES[one['type']]} | optional | {one['description']} |"
        for name, one in own.items()
    ]
    lines = [f"### {tool.name}", "", tool.description, "", answers, "", *table[:-1], *rows]
    return "\n".join([*lines, ""] if table else lines)


if __name__ == "__main__":
    sys.stdout.write(tool_reference())
