"""`doctor`: find problems before they do harm. Never raises, never starts a daemon."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agent_pty.cli.command import Invocation, client_command, pretty, write
from agent_pty.cli.doctor import daemon_checks
from agent_pty.cli.doctor.checks import LOOKS, Check, examine
from agent_pty.core.command import Command, part

if TYPE_CHECKING:
    from agent_pty.cli.doctor.leftovers import Orphan  # imports psutil, which may be broken


def doctor(call: Invocation) -> int:
    """Run every check, and report what is wrong."""
    found = [examine(name, look, call) for name, look in LOOKS]
    seen = daemon_checks.look(call)
    found += seen.checks
    orphans = seen.orphans if call.options.orphans else None
    write(
        pretty(_report(found, seen.status, seen.log_dir, orphans))
        if call.json
        else _text(found, seen.status, orphans or [])
    )
    if _ok(found):
        return 0
    sys.stderr.write("error: doctor found failing checks\n")
    return 1


def _ok(checks: list[Check]) -> bool:
    return all(one.ok for one in checks)


def _report(
    checks: list[Check], status: dict[str, Any], log_dir: str | None, orphans: list[Orphan] | None
) -> dict[str, Any]:
    report = {
        "ok": _ok(checks),
        "daemon_running": status["running"],
        "socket": status["socket"],
        "log_dir": log_dir,
        "checks": [{"name": one.name, "ok": one.ok, "detail": one.detail} for one in checks],
        "status": status,
    }
    if orphans is not None:
        report["orphans"] = [
            {"pid": one.pid, "command": one.command, "instance": one.instance} for one in orphans
        ]
    return report


def _text(checks: list[Check], status: dict[str, Any], orphans: list[Orphan]) -> str:
    lines = [
        f"doctor: {'ok' if _ok(checks) else 'failed'}",
        f"daemon: {'running' if status['running'] else 'not running'}",
        *(f"- {one.name}: {'ok' if one.ok else 'failed'} ({one.detail})" for one in checks),
        *(f"orphan: {one.pid} {_printable(one.command)}" for one in orphans),
    ]
    return "\n".join(lines) + "\n"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


COMMANDS = (
    client_command(
        "doctor",
        "Check this machine, the home directory and the daemon, and name remedies; starts nothing.",
        Command(
            parts=(
                part(
                    "orphans",
                    "--orphans",
                    action="store_true",
                    help="list processes that belong to no session",
                ),
                part(
                    "log_dir",
                    "--log-dir",
                    metavar="DIR",
                    help="where evidence is stored (default: ~/.agent-pty/runs)",
                ),
                part(
                    "shell",
                    "--shell",
                    metavar="PATH",
                    help="shell to test (default: bash, else sh)",
                ),
            ),
            examples=("agent-pty doctor", "agent-pty doctor --json --orphans"),
        ),
    ),
)
