"""`skill`: print the installed guide for agents."""

from __future__ import annotations

import importlib.resources

from agent_pty.cli.command import Invocation, client_command
from agent_pty.core.command import Command, part
from agent_pty.errors import Usage

_DOCUMENTS = ("SKILL.md", "EXAMPLES.md")


def skill(call: Invocation) -> int:
    """Print one document, or all of them."""
    wanted = _DOCUMENTS if call.options.all else _DOCUMENTS[:1]
    texts = {name: _document(name) for name in wanted}
    return call.show(texts, "\n".join(texts.values()).removesuffix("\n"))


def _document(name: str) -> str:
    found = importlib.resources.files("agent_pty") / "agents" / name
    try:
        return found.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise Usage(f"{name} is not installed beside agent_pty: {error}") from error


COMMANDS = (
    client_command(
        "skill",
        "Print the guide for agents: which command to use when; with --all, examples too.",
        Command(
            parts=(part("all", "--all", action="store_true", help="print EXAMPLES.md, too"),),
            examples=("agent-pty skill", "agent-pty skill --all"),
        ),
    ),
)
