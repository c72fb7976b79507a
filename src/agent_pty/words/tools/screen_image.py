"""A picture of a screen, for models that see."""

from __future__ import annotations

from typing import Any

from agent_pty.words.tools.tool import ToolOps

# Added to the arguments of the tool that returns a screen.
ARGUMENT: dict[str, Any] = {
    "image": {"type": "boolean", "description": "also return a picture of it (PNG)"}
}


async def screen_image(asked: ToolOps, name: str) -> str:
    """Return the screen of a session as a PNG in base64."""
    rendered = await asked.ask("render", id=name, format="png")
    return str(rendered["content"])
