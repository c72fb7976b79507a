"""`tools`: print the definitions of the six `pty_*` tools for a model's API."""

from __future__ import annotations

from agent_pty.cli.command import Invocation, client_command, pretty, write
from agent_pty.core.command import Command, part
from agent_pty.words.tools.definition import FORMATS, definitions


def tools(call: Invocation) -> int:
    """Print them as JSON; a program passes that on as it is."""
    write(pretty(definitions(call.options.format)))
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
