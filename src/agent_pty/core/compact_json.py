"""JSON as `agent-pty --json` prints it: one compact line for programs, indented for people.

Our own fields that say nothing (null, an empty text, list or object, nothing lost) are left out.
Those of the contract stay, because its readers expect every key.
"""

from __future__ import annotations

import json
from typing import Any, Final

from agent_pty.core.safe import safe_json

_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})
# Fields of a cell that say something only if they are not 0 or false.
_COUNTS: Final = frozenset(("exit_code_unknown", "told", "lost"))
# Whatever the object, these are an answer: what a program wrote, how it ended (null: unknown), and
# what is left of it (none, which was verified); and that there is no keeper.
_ANSWERS: Final = frozenset(("output", "text", "content", "exit_code", "survivors", "keeper_pid"))
# The fields of the contract's objects that may be empty. An object is known by a field that no
# other has.
_CONTRACT: Final = {
    "tmux_session": frozenset(("env", "rows", "cols", "process_id", "log_path", "tmux_session")),
    "spans": frozenset(("spans",)),
    "spinner_lines": frozenset(
        [
            "prompt",
            "command",
            "error_lines",
            "urls",
            "file_paths",
            "spinner_lines",
            "active_process",
        ]
    ),
    "stderr_tail": frozenset(
        [
            "stdout_tail",
            "stderr_tail",
            "exit_status",
            "files_changed",
            "git_snapshot",
            "process_snapshot",
        ]
    ),
    "root_pid": frozenset(("processes",)),
    "session_count": frozenset(("socket", "trace_path", "error", "pid")),
    "unchanged": frozenset(("rows",)),
    "daemon_running": frozenset(("socket", "log_dir", "checks", "orphans")),
    "source_id": frozenset(("branch",)),
    "freed_bytes": frozenset(("removed", "kept")),
    # Not of the contract, but an answer: there is nothing to merge.
    "diff_bytes": frozenset(("files",)),
    "ok": frozenset(("data", "error", "details", "detail")),
}


def json_line(value: Any, *, for_people: bool) -> str:
    """Return JSON and a line end; *for_people* it is indented."""
    said = _without_empty(value)
    if for_people:
        return safe_json(json.dumps(said, indent=2, ensure_ascii=False)) + "\n"
    return safe_json(json.dumps(said, separators=(",", ":"), ensure_ascii=False)) + "\n"


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        stay = _ANSWERS.union(*(names for mark, names in _CONTRACT.items() if mark in value))
        return {
            name: _without_empty(one)
            for name, one in value.items()
            if name in stay or not (one in _EMPTY or (name in _COUNTS and not one))
        }
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    return value
