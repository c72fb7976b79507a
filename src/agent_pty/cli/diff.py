"""`diff`: where two sessions went different ways; works without a daemon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_pty.cli.command import Invocation, client_command, pretty, write
from agent_pty.core.command import Command, part
from agent_pty.core.evidence.cell_outcomes import CellOutcome, cell_outcomes
from agent_pty.core.evidence.divergence import Divergence, first_difference
from agent_pty.core.evidence.recorded_text import timed_lines
from agent_pty.core.safe import one_line
from agent_pty.errors import CallerError, UnknownSession, Usage
from agent_pty.store import journal_files
from agent_pty.store.journal_reader import page
from agent_pty.store.whole_recording import whole_recording

_PAGE = 1 << 20
_CELL_FIELDS = ("code", "status", "exit_code", "output")
_DIFFER = 1


def diff(call: Invocation) -> int:
    """Compare the cells of two sessions, or what their terminals showed."""
    names = (call.options.one, call.options.other)
    try:
        by = call.options.by or _usual(call, names)
        found = _cells(call, names) if by == "cells" else _recordings(call, names)
    except CallerError as error:  # 1 would say that they differ
        raise Usage(str(error)) from error
    result: dict[str, Any] = {"same": found is None, "by": by}
    if found is not None:
        result |= {"place": found.place, "one": found.one, "other": found.other}
    write(pretty(result) if call.json else _text(names, by, found))
    return 0 if found is None else _DIFFER


def _usual(call: Invocation, names: tuple[str, str]) -> str:
    """Compare cells if both have some: prompts and directories are not in them."""
    if any(_is_file(name) for name in names):
        return "recording"
    return "cells" if all(_cells_of(call, name) for name in names) else "recording"


def _is_file(name: str) -> bool:
    return "/" in name or name.endswith((".cast", ".cast.gz"))


def _cells_of(call: Invocation, name: str) -> list[CellOutcome]:
    if _is_file(name):
        raise Usage(f"{name} is a recording: compare --by recording")
    path = journal_files.find(call.layout.log_dir, name)
    if path is None:
        raise UnknownSession(name)
    lines, after = list[bytes](), 0
    while found := page(path, after=after, most_bytes=_PAGE):
        lines += [line for line in found if b'"cell_' in line]
        after += len(found)
    return cell_outcomes(lines)


def _cells(call: Invocation, names: tuple[str, str]) -> Divergence | None:
    one, other = (_shown_cells(_cells_of(call, name)) for name in names)
    return first_difference(one, other)


def _shown_cells(cells: Sequence[CellOutcome]) -> list[dict[str, Any]]:
    return [{name: getattr(one, name) for name in _CELL_FIELDS} for one in cells]


def _recordings(call: Invocation, names: tuple[str, str]) -> Divergence | None:
    one, other = (_lines_of(call, name) for name in names)
    found = first_difference([line for _, line in one], [line for _, line in other])
    if found is None:
        return None
    sides = []
    for lines in (one, other):
        at, text = lines[found.place - 1] if found.place <= len(lines) else (None, None)
        second = None if at is None else round(at, 3)
        sides.append(None if text is None else {"second": second, "line": text})
    return Divergence(place=found.place, one=sides[0], other=sides[1])


def _lines_of(call: Invocation, name: str) -> list[tuple[float, str]]:
    found = whole_recording(call.layout.log_dir, name)
    lines = timed_lines(found.moments(), cols=found.cols)
    return [(at, line.decode(errors="replace")) for at, line in lines]


def _text(names: tuple[str, str], by: str, found: Divergence | None) -> str:
    what = "cells" if by == "cells" else "lines"
    if found is None:
        return f"the same {what}\n"
    sides = zip(names, (found.one, found.other), strict=True)
    shown = "".join(
        f"{sign} {_side(name, side)}\n" for sign, (name, side) in zip("-+", sides, strict=True)
    )
    return f"{what.removesuffix('s')} {found.place} differs\n{shown}"


def _side(name: str, side: Any) -> str:
    if side is None:
        return f"{name}: nothing more"
    if "line" in side:
        return one_line(f"{name}: at {side['second']} s: {side['line']}")
    ended = side["status"] if side["exit_code"] is None else f"exit {side['exit_code']}"
    output = f": {side['output']}" if side["output"] else ""
    return one_line(f"{name}: {side['code']} [{ended}]{output}")


COMMANDS = (
    client_command(
        "diff",
        "Show where two sessions first went different ways.\n\n"
        "Compares their cells (code, exit code, end of the output) if both have some, else the "
        "lines of their recordings; times do not count. Exit status 0: the same, 1: they differ.",
        Command(
            parts=(
                part("one", metavar="A", help="a session, running or not, or a .cast file"),
                part("other", metavar="B", help="what it is compared with"),
                part("by", "--by", choices=("cells", "recording"), help="what is compared"),
                part("log_dir", "--log-dir", metavar="DIR", help="where the records are"),
            ),
            examples=("agent-pty diff try-1 try-2", "agent-pty diff a.cast b.cast"),
        ),
    ),
)
