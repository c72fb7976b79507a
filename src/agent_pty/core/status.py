"""The contract's status object. Pure."""

from __future__ import annotations

from typing import Any

from agent_pty.core.duration import age


def status_text(facts: dict[str, Any]) -> str:
    """Return what people are told of a daemon that runs."""
    lines = [
        f"agent-pty daemon running: {facts['session_count']} session(s)",
        *_traces(facts),
        f"pid {facts['pid']}, up {age(facts['uptime_s'] * 1000)}",
        *(_host(one) for one in facts.get("hosts") or []),
        *_gateway(facts.get("gateway")),
    ]
    for name, why in ((facts.get("evidence") or {}).get("unavailable") or {}).items():
        lines.append(f"evidence unavailable: {name}: {why}; input is refused")
    for name, why in ((facts.get("evidence") or {}).get("not_recorded") or {}).items():
        lines.append(f"not recorded: what {name} shows: {why}")
    paused = ", ".join(facts.get("output_paused") or [])  # a daemon of another build may not say it
    return "\n".join([*lines, f"output paused: {paused}"] if paused else lines)


def _host(facts: dict[str, Any]) -> str:
    text = f"host {facts['name']}: pid {facts['pid']}, {facts['sessions']} session(s)"
    return text if facts["responsive"] else f"{text}, does not answer"


def _gateway(facts: dict[str, Any] | None) -> list[str]:
    if facts is None:
        return []
    where = ", ".join(facts["urls"]) or "serves nobody"
    return [f"gateway: pid {facts['pid']}, {where}"]


def _traces(facts: dict[str, Any]) -> list[str]:
    """Say where requests are traced, and what is wrong with it."""
    if not facts.get("trace_path"):
        return []
    lines = [f"trace log: {facts['trace_path']}"]
    if facts.get("traces_missing"):
        lines.append(f"traces missing: {facts['traces_missing']}")
    if facts.get("traces_problem"):
        lines.append(f"traces: {facts['traces_problem']}")
    otlp = facts.get("otlp")
    if otlp is not None:
        lines.append(f"traces exported to {otlp['endpoint']}{_trouble(otlp)}")
    return lines


def _trouble(otlp: dict[str, Any]) -> str:
    unsent = f", {otlp['unsent']} not sent" if otlp["unsent"] else ""
    return unsent + (f": {otlp['problem']}" if otlp["problem"] else "")


def status_object(socket: str | None, *, error: str | None) -> dict[str, Any]:
    """Return the object for a daemon that does not run; every other one begins with its keys."""
    return {
        "socket": socket,
        "running": False,
        "session_count": 0,
        "trace_path": None,
        "error": error,
        "pid": None,
    }
