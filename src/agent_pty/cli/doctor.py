"""`doctor`: look for what could go wrong before it does. Never raises."""

from __future__ import annotations

from agent_pty.cli.command import Command

COMMANDS: tuple[Command, ...] = ()
