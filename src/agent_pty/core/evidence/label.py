"""One line for a person about each event, as `replay` prints it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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


_LABELS: dict[str, Callable[[dict[str, Any]], str]] = {
    "send_keys": _send,
    "exec": lambda one: f"exec {' '.join(one['argv'])} in {one['cwd']}",
    "kill": lambda one: f"kill {one['signal']}",
    "attach_human": lambda _one: "attach human",
    "exited": lambda one: f"exited {_ending(one)}",
    "policy_denied": lambda one: f"policy denied {one['rule']}: {one['command']}",
}


def _ending(payload: dict[str, Any]) -> str:
    if payload.get("signal") is not None:
        return f"signal {payload['signal']}"
    code = payload.get("exit_code")
    return "unknown" if code is None else str(code)
