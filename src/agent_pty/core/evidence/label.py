"""One line for a person about each event, as `replay` prints it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agent_pty.core.short_code import shortened


def label(kind: dict[str, Any]) -> str:
    """Describe an event in the words of the seed.

    >>> label({"event_type": "action", "payload": {"type": "kill", "signal": "kill"}})
    'kill kill'
    """
    payload = kind.get("payload", {})
    if kind.get("event_type") == "observation":
        return _observation(payload)
    what = str(payload.get("type", "unknown"))
    describe = _LABELS.get(what)
    if describe is not None:
        return describe(payload)
    facts = " ".join(f"{key}={value}" for key, value in payload.items() if key != "type")
    return f"{what} {facts}".strip()


def _observation(payload: dict[str, Any]) -> str:
    lines = len((payload.get("screen_text") or "").splitlines())
    text = f"observe screen={lines} changed={len(payload.get('files_changed') or ())}"
    code = payload.get("exit_status")
    return text if code is None else f"{text} exit={code}"


def _send(payload: dict[str, Any]) -> str:
    count = len(payload["bytes"]) + payload.get("held", 0)
    held = " (held back until its line ends)" if payload.get("held") else ""
    return f"send {count} byte{'' if count == 1 else 's'}{held}"


def _recording(payload: dict[str, Any]) -> str:
    state = "ended" if payload["sealed"] else "goes on"
    return f"recording segment {payload['segment']} {state}: {_bytes(payload['bytes'])}"


def _approval(payload: dict[str, Any]) -> str:
    return f"{payload['approval_id'] or '-'} {payload['rule']}: {payload['command']}"


def _bytes(count: int | None) -> str:
    return "an unknown number of bytes" if count is None else f"{count} bytes"


_LABELS: dict[str, Callable[[dict[str, Any]], str]] = {
    "send_keys": _send,
    "exec": lambda one: f"exec {' '.join(one['argv'])} in {one['cwd']}",
    "kill": lambda one: f"kill {one['signal']}",
    "attach_human": lambda _one: "attach human",
    "exited": lambda one: f"exited {_ending(one)}",
    "wait_for": lambda one: f"wait {_predicate(one['predicate'])} for {_time(one['timeout'])}",
    "snapshot_screen": lambda _one: "snapshot screen",
    "snapshot_files": lambda one: f"snapshot files {','.join(one['globs'])}",
    "cell_started": lambda one: f"cell {one['cell_id']}: {shortened(one['code'])}",
    "cell_finished": lambda one: f"cell {one['cell_id']} {one['status']}{_code(one)}",
    "recording": _recording,
    "recording_gap": lambda one: f"recording lacks {_bytes(one['bytes'])}: {one['reason']}",
    "recording_dropped": lambda one: f"recording dropped {len(one['segments'])} segment(s)",
    "gate": lambda one: f"gate line {one['line']} guard {one['guard'] or 'none'}",
    "policy_denied": lambda one: f"policy denied {one['rule']}: {one['command']}",
    "policy_approval_requested": lambda one: f"policy approval requested {_approval(one)}",
    "policy_approval_created": lambda one: f"policy approval created {_approval(one)}",
    "policy_approval_denied": lambda one: f"policy approval denied {_approval(one)}",
    "policy_approved": lambda one: f"policy approved {_approval(one)}",
    "guarded_exec": lambda one: f"guard {one['result']} {one['rule']}: {' '.join(one['argv'])}",
    "guarded_programs": lambda one: f"guard saw {sum(one['programs'].values())} program(s)",
    "fork": lambda one: f"fork {one['source']} -> {one['target']} at {one['workspace']}",
    "proof": lambda one: f"proof json={one['json_path']} markdown={one['markdown_path']}",
}


def _predicate(found: dict[str, Any]) -> str:
    """Return a condition as the seed's replay prints it."""
    match found["type"]:
        case "any":
            return " or ".join(_predicate(one) for one in found["of"])
        case "idle":
            return f"Idle {{ quiet_for: {_time(found['quiet_for'])} }}"
        case "prompt" | "exit":
            return str(found["type"]).title()
        case "cell":
            return f"Cell {{ id: {_quoted(found['cell_id'])} }}"
    return f"{found['type'].title()} {{ pattern: {_quoted(found['pattern'])} }}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _time(found: dict[str, int]) -> str:
    if found["secs"]:
        return f"{found['secs'] + found['nanos'] / 1e9:g}s"
    return f"{found['nanos'] / 1e6:g}ms"


def _code(payload: dict[str, Any]) -> str:
    code = payload.get("exit_code")
    return "" if code is None else f" exit={code}"


def _ending(payload: dict[str, Any]) -> str:
    if payload.get("signal") is not None:
        return f"signal {payload['signal']}"
    code = payload.get("exit_code")
    return "unknown" if code is None else str(code)
