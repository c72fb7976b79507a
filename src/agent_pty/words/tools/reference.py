"""The reference of all tools: `python -m agent_pty.words.tools.reference`.

`docs/reference-tools.md` is its output; a test compares the two.
"""

from __future__ import annotations

import json
import sys

from agent_pty import ops
from agent_pty.ops.op import Op
from agent_pty.ops.schema import summary
from agent_pty.words.reference import fields_table
from agent_pty.words.tools.definition import definitions
from agent_pty.words.tools.pty_arguments import ARGUMENTS, EXAMPLES, description, schema

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
    six = "\n".join(_pty(name) for name in ARGUMENTS)
    others = "\n".join(_terminal(op) for op in ops.TABLE.values() if op.tool and op.offered("mcp"))
    return _HEAD.format(size=size) + six + "\n" + _TERMINAL + others


def _pty(name: str) -> str:
    table = fields_table(ARGUMENTS[name], required=schema(name).get("required", ()))
    example = ["```json", EXAMPLES[name], "```", ""]
    return "\n".join([f"### {name}", "", description(name), "", *table, *example])


def _terminal(op: Op) -> str:
    answers = f"Op [`{op.name}`](reference.md#{op.name}); answers `{op.answer}`."
    table = fields_table(op.request)
    return "\n".join([f"### {op.tool}", "", summary(op), "", answers, "", *table])


if __name__ == "__main__":
    sys.stdout.write(tool_reference())
