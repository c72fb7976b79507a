"""The terminal emulator: the only place that knows libghostty."""

from agent_pty.emulator.cursor import Cursor
from agent_pty.emulator.emulator import Emulator
from agent_pty.emulator.event import (
    Bell,
    ClipboardWritten,
    CwdChanged,
    Event,
    Notification,
    Progress,
    TitleChanged,
)
from agent_pty.emulator.keyboard import Modifier, Modifiers
from agent_pty.emulator.style import Color, Run, Style

__all__ = [
    "Bell",
    "ClipboardWritten",
    "Color",
    "Cursor",
    "CwdChanged",
    "Emulator",
    "Event",
    "Modifier",
    "Modifiers",
    "Notification",
    "Progress",
    "Run",
    "Style",
    "TitleChanged",
]
