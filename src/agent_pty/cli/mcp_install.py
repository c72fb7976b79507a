"""`mcp install`: tell an MCP client how it starts us."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys

from agent_pty.cli.command import Invocation, client_command, write
from agent_pty.client.directory import here
from agent_pty.core.client_config import PLACES, merged
from agent_pty.core.command import Command, part
from agent_pty.errors import BadConfig


def install(call: Invocation) -> int:
    """Print the configuration of a client, or merge it into the client's file."""
    client, options = call.options.client, call.options
    command = [_script(), "mcp-stdio", "--tools", options.tools]
    path = _path(client)
    if not options.write:
        write(merged("", client, command))
        sys.stderr.write(f"for {path}; --write adds it there\n")
        return 0
    text = _text(path)
    new = merged(text, client, command)
    backup = f"{path}.bak" if text else None
    if backup is not None and new != text:
        shutil.copy2(path, backup)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _replace(path, new)
    kept = f" (as it was: {backup})" if backup is not None and new != text else ""
    return call.show({"client": client, "path": path, "backup": backup}, f"wrote {path}{kept}")


def _script() -> str:
    beside = os.path.join(os.path.dirname(sys.executable), "agent-pty")
    return beside if os.access(beside, os.X_OK) else shutil.which("agent-pty") or "agent-pty"


def _path(client: str) -> str:
    place = PLACES[client]
    return os.path.join(os.path.expanduser("~") if place.of_user else here(), place.path)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"cannot read {path}: {error}", path=path) from error


def _replace(path: str, text: str) -> None:
    """Write beside it first, so that a full disk leaves the old file."""
    beside = f"{path}.new"
    try:
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise BadConfig(f"cannot write {path}: {error.strerror}", path=path) from error


COMMANDS = (
    client_command(
        "mcp",
        "Tell an MCP client how to start agent-pty: print its configuration, or add it.\n\n"
        "Claude Code, Cursor and VS Code look in the project's directory, Codex in\n"
        "the home. The six pty_* tools are chosen, because models' APIs refuse the\n"
        "dots of terminal.*; --tools changes that.",
        Command(
            parts=(
                part("action", "action", choices=("install",), help="what to do"),
                part(
                    "client",
                    "--client",
                    required=True,
                    choices=sorted(PLACES),
                    help="which client",
                ),
                part("write", "--write", action="store_true", help="add it to the client's file"),
                part(
                    "tools",
                    "--tools",
                    choices=("terminal", "pty", "all"),
                    default="pty",
                    help="which tools to offer (default: pty)",
                ),
            ),
            examples=(
                "agent-pty mcp install --client claude",
                "agent-pty mcp install --client codex --write",
            ),
        ),
    ),
)
