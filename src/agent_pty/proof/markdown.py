"""A proof as Markdown: the contract's sections, then ours.

Rule of this file: text of the record stands only in code spans and fences that are longer than any
run of backticks in it. So there is no raw HTML, no link and no image, whatever was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent_pty.ops.proof_model import Bundle, ProvedCell
from agent_pty.proof.shown_text import shown, shown_line

_LONGEST_LINE = 2000
_MOST_COMMANDS = 500
_MOST_CELLS = 200
_NONE = ["- none"]


def markdown(bundle: Bundle) -> str:
    """Return the whole document."""
    parts = [
        _head(bundle),
        _section("Commands", _commands(bundle)),
        _section("Files Changed", _files(bundle)),
        _section("Risk Flags", [f"- {code(one)}" for one in bundle.risk_flags] or _NONE),
        *([_section("Claims", _claims(bundle))] if bundle.claims else []),
        _section("Cells", _cells(bundle)),
        _section("Approvals", _approvals(bundle)),
        _section("Gate Coverage", _coverage(bundle)),
        _section("Who Typed", _people(bundle)),
        *([_section("Git Diff", [fenced(bundle.git_diff, "diff")])] if bundle.git_diff else []),
        _section("Screen Tail", [fenced(bundle.screen_tail, "text")]),
        *([_section("Left Out", _omitted(bundle))] if bundle.omitted else []),
    ]
    return "\n".join(parts)


def code(text: str) -> str:
    """Return text as a code span.

    >>> code("a `b`")
    '`` a `b` ``'
    """
    line = shown_line(text)
    if len(line) > _LONGEST_LINE:
        line = f"{line[:_LONGEST_LINE]} [... {len(line) - _LONGEST_LINE} characters]"
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line.strip() else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fenced(text: str, language: str) -> str:
    """Return text as a block whose fence is longer than any run of backticks in it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{shown(text).rstrip()}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {title}", "", *lines, ""])


def _head(bundle: Bundle) -> str:
    integrity, span = bundle.log_integrity, bundle.event_range
    lines = [f"# agent-pty proof: {bundle.session_id}", ""]
    if not integrity.verified:
        lines += [f"**The record of this session is damaged: {code(_error(bundle))}**", ""]
    lines += [
        f"- Generated: {bundle.generated_at}",
        f"- Events: {bundle.event_count} ({span.first} to {span.last})",
        f"- Log integrity: {'verified' if integrity.verified else 'failed'}",
    ]
    if not integrity.verified:
        lines.append(f"- Integrity error: {code(_error(bundle))}")
    if integrity.verdict == "verified_to_checkpoint":
        lines.append(f"- Signed: {integrity.signed_count} of {integrity.event_count} events")
    lines += [
        f"- Head: {code(integrity.head_hash or 'none')}",
        f"- Event log: {code(bundle.log_path)}",
        f"- HTML: {code(bundle.html_path)}",
        f"- Statement: {code(bundle.statement_path)}, key {code(bundle.key_id or 'none')}",
        f"- Made by: {bundle.tool.name} {bundle.tool.version}, build {bundle.tool.build}",
        f"- Program: {code(' '.join(bundle.argv or ['unknown']))}, {_ending(bundle)}",
        f"- Secrets taken out: {sum(bundle.secrets_redacted.values())}",
        "",
    ]
    return "\n".join(lines)


def _error(bundle: Bundle) -> str:
    return bundle.log_integrity.first_error or "unknown"


def _ending(bundle: Bundle) -> str:
    if bundle.state != "exited":
        return bundle.state
    if bundle.signal is not None:
        return f"ended by signal {bundle.signal}"
    return f"exit {'unknown' if bundle.exit_code is None else bundle.exit_code}"


def _commands(bundle: Bundle) -> list[str]:
    shown_ones = [f"- {code(one)}" for one in bundle.commands_run[:_MOST_COMMANDS]]
    more = len(bundle.commands_run) - len(shown_ones)
    return [*shown_ones, *_more(more)] or ["- none recorded"]


def _more(count: int) -> list[str]:
    return [f"- and {count} more, which are in the JSON file"] if count > 0 else []


def _files(bundle: Bundle) -> list[str]:
    lines = []
    for one in bundle.files_changed[:_MOST_COMMANDS]:
        notes = [note for note, is_so in _notes(one.before, one.reverted) if is_so]
        lines.append(f"- {code(one.path)} {shown_line(one.status)}{''.join(notes)}")
    return [*lines, *_more(len(bundle.files_changed) - len(lines))] or _NONE


def _notes(before: bool, reverted: bool) -> list[tuple[str, bool]]:  # noqa: FBT001  two facts
    return [(" (before the session)", before), (" (reverted)", reverted)]


def _claims(bundle: Bundle) -> list[str]:
    return [
        f"- {code(one.claim)}: **{one.result}**: {one.reason}{_events(one.events)}"
        for one in bundle.claims
    ]


def _events(numbers: list[int]) -> str:
    return f" (events {', '.join(map(str, numbers))})" if numbers else ""


def _cells(bundle: Bundle) -> list[str]:
    lines: list[str] = []
    for one in bundle.cells[:_MOST_CELLS]:
        lines.append(f"- {code(one.code)}: {_outcome(one)}")
        if one.output:
            lines += ["", *_indented(fenced(one.output, "text")), ""]
    return [*lines, *_more(len(bundle.cells) - _MOST_CELLS)] or _NONE


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.split("\n")]


def _outcome(cell: ProvedCell) -> str:
    if cell.status is None:
        return "has not ended"
    exit_code = "unknown" if cell.exit_code is None else str(cell.exit_code)
    took = "" if cell.duration_ms is None else f" in {cell.duration_ms} ms"
    return f"{code(cell.status)}, exit {exit_code}{took}"


def _approvals(bundle: Bundle) -> list[str]:
    return [
        f"- event {one.event}: {one.what} {code(one.rule or '-')}: {code(one.command or '-')}"
        + (f" by {code(one.by)}" if one.by else "")
        for one in bundle.approvals
    ] or _NONE


def _coverage(bundle: Bundle) -> list[str]:
    return [
        f"- from event {one.from_event}: line gate {one.line or 'unknown'}, "
        f"guard {one.guard or 'none'}" + (f" ({code(one.reason)})" if one.reason else "")
        for one in bundle.gate_coverage
    ] or ["- unknown: the record does not say that a gate or a guard stood"]


def _people(bundle: Bundle) -> list[str]:
    typed = [
        f"- {code(one.by)}: {one.inputs} inputs, {code(one.first_at)} to {code(one.last_at)}"
        for one in bundle.typed
    ]
    attached = [
        f"- attached: {code(one.by or 'unknown')} at {code(one.at)}"
        + (" (read only)" if one.read_only else "")
        for one in bundle.attached
    ]
    return [*typed, *attached] or _NONE


def _omitted(bundle: Bundle) -> list[str]:
    return [
        f"- {name}: {'unknown' if one.count is None else one.count}: {one.note}: "
        f"{code(one.sha256 or 'not known')}"
        for name, one in bundle.omitted.items()
    ]
