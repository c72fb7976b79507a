"""`doctor`: look for what could go wrong before it does. Never raises, never starts a daemon."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agent_pty.cli.command import Command, Invocation, argument, pretty, write

if TYPE_CHECKING:
    from agent_pty.cli.check import Check
    from agent_pty.cli.orphan import Orphan


def _doctor(call: Invocation) -> int:
    # Not above: with subprocess, psutil and the emulator every command would start 300 ms later.
    from agent_pty.cli import check, life  # noqa: PLC0415

    checks = [check.examine(name, lambda look=look: look(call)) for name, look in check.LOOKS]
    lived = life.look(call)
    report = _report(call, [*checks, *lived.checks], lived.status)
    if call.options.orphans:
        report["orphans"] = [orphan.to_wire() for orphan in lived.orphans]
    write(pretty(report) if call.json else _text(report))
    if report["ok"]:
        return 0
    sys.stderr.write("error: doctor found failing checks\n")
    return 1


def _report(call: Invocation, checks: list[Check], status: dict[str, Any]) -> dict[str, Any]:
