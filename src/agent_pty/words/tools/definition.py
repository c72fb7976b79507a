"""The six tools as the definitions that model APIs take."""

from __future__ import annotations

from typing import Any, Literal

from agent_pty.words.tools.pty_arguments import ARGUMENTS, description, schema

Format = Literal["anthropic", "openai", "mcp"]
FORMATS: tuple[Format, ...] = ("anthropic", "openai", "mcp")


def definitions(form: Format) -> list[dict[str, Any]]:
    """Return the six in one of the formats."""
    return [_definition(form, name) for name in ARGUMENTS]


def _definition(form: Format, name: str) -> dict[str, Any]:
    named = {"name": name, "description": description(name)}
    match form:
        case "anthropic":
            return {**named, "input_schema": schema(name)}
        case "openai":
            return {"type": "function", "function": {**named, "parameters": schema(name)}}
        case "mcp":
            return {**named, "inputSchema": schema(name)}
