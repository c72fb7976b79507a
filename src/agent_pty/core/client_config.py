"""The configuration by which an MCP client starts us. Pure: a file's text in, the new text out.

Rule of this file: nothing else of the client's configuration changes.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_pty.errors import BadConfig

Client = Literal["claude", "codex", "cursor", "vscode"]
NAME = "agent-pty"
_INDENT = re.compile(r"^[{\[]\s*?\n([ \t]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a client looks: *path*, below HOME or the project; *key* has the servers."""

    path: str
    of_user: bool
    key: str


PLACES: dict[str, Place] = {
    "claude": Place(path=".mcp.json", of_user=False, key="mcpServers"),
    "cursor": Place(path=".cursor/mcp.json", of_user=False, key="mcpServers"),
    "vscode": Place(path=".vscode/mcp.json", of_user=False, key="servers"),
    "codex": Place(path=".codex/config.toml", of_user=True, key="mcp_servers"),
}


def merged(text: str, client: str, command: Sequence[str]) -> str:
    """Return the client's configuration with us in it, in place of what it said of us before."""
    place = PLACES[client]
    entry: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
    if client == "codex":
        return _toml(text, place, entry)
    if client == "vscode":
        entry = {"type": "stdio", **entry}
    return _json(text, place, entry)


def _json(text: str, place: Place, entry: dict[str, Any]) -> str:
    try:
        whole = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise BadConfig(
            f"{place.path} is no plain JSON ({error}): add what is printed without --write"
        ) from error
    servers = whole.get(place.key, {}) if isinstance(whole, dict) else None
    if not isinstance(servers, dict):
        raise BadConfig(f"{place.path}: {place.key} is no object")
    indent = _INDENT.search(text)
    new = {**whole, place.key: {**servers, NAME: entry}}
    return json.dumps(new, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"


def _toml(text: str, place: Place, entry: dict[str, Any]) -> str:
    try:
        known = tomllib.loads(text)
    except ValueError as error:
        raise BadConfig(f"{place.path} cannot be read: {error}") from error
    table = f"[{place.key}.{NAME}]"
    words = ", ".join(json.dumps(word) for word in entry["args"])
    lines = f"{table}\ncommand = {json.dumps(entry['command'])}\nargs = [{words}]\n"
    if NAME not in known.get(place.key, {}):
        return text + ("\n" if text and not text.endswith("\n\n") else "") + lines
    if table not in text:
        raise BadConfig(f"{place.path} has {place.key}.{NAME} in another form: change it by hand")
    before, _, after = text.partition(table)
    rest = re.search(r"^\[", after, re.MULTILINE)
    return before + lines + ("\n" + after[rest.start() :] if rest else "")
