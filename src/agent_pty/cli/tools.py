"""`tools`: print the definitions of the six `pty_*` tools for a model's API."""

from __future__ import annotations

import json
import sys

from agent_pty.cli.command import Invocation, client_command, write
from agent_pty.core.command import Command, part
from agent_pty.words.tools.definition import FORMATS, definitions


def tools(call: Invocation) -> int:
    """Print them as JSON; a program passes that on as it is."""
    # Complete: some APIs refuse a schema without `properties`, even if there are none.
    indent, separators = (2, None) if sys.stdout.isatty() else (None, (",", ":"))
    found = definitions(call.options.format)
    write(json.dumps(found, indent=indent, separators=separators, ensure_ascii=False) + "\n")
    return 0


COMMANDS = (
    client_command(
        "tools",
        "Print the definitions of the six pty_* tools, for a program that calls a model.\n\n"
        "agent_pty.tools.call(name, args) carries out what the model asks for.",
        Command(
            parts=(
                part(
                    "format",
                    "--format",
                    choices=FORMATS,
                    default="mcp",
                    help="how the API declares tools (default: mcp)",
                ),
            ),
            examples=("agent-pty tools --format anthropic", "agent-pty tools --format openai"),
        ),
    ),
)
