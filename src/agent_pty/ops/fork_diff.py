"""`fork-diff`: two attempts side by side: their files, their cells and how they ended."""

from __future__ import annotations

from itertools import zip_longest
from typing import Annotated, Any

from msgspec import Meta, Struct

from agent_pty.core.command import Call, Command, part
from agent_pty.core.evidence.cell_outcomes import CellOutcome
from agent_pty.core.safe import one_line
from agent_pty.ops.context import Registry
from agent_pty.ops.fork_merge import ChangedFile
from agent_pty.ops.op import Op, Request

_CODE_WIDTH = 34


class ForkDiff(Request, frozen=True, kw_only=True):
    """Compare two forks, or a fork and its source: files, cells and outcomes side by side."""

    id: Annotated[str, Meta(description="a fork, or the source of the other")]
    other: Annotated[str, Meta(description="what it is compared with")]


class Attempt(Struct, frozen=True, kw_only=True):
    """One side: what was changed since the fork was made, what was run, and how it stands.

    *state* is that of the session, `gone` if there is none any more. *cells* are the last ones.
    """

    id: str
    workspace: str
    branch: str | None
    state: str
    exit_code: int | None
    changes: list[ChangedFile]
    cells: list[CellOutcome]


class ComparedFile(Struct, frozen=True, kw_only=True):
    """A file that one side has changed: how each has, null if it has not; *same*: to the byte."""

    path: str
    status: str | None
    other_status: str | None
    same: bool


class ForkCompared(Struct, frozen=True, kw_only=True):
    """Both sides, and their files in one list."""

    one: Attempt
    other: Attempt
    files: list[ComparedFile]


async def fork_diff(registry: Registry, request: ForkDiff) -> ForkCompared:
    """Have the daemon compare them."""
    compared: ForkCompared = await registry.forks.diff(request)
    return compared


def _text(_call: Call, answer: dict[str, Any]) -> str:
    one, other = answer["one"], answer["other"]
    lines = [f"{'':4}{one['id']:<24}{other['id']}", "files:"]
    for file in answer["files"]:
        same = "same" if file["same"] else "differ"
        mine, theirs = file["status"] or "-", file["other_status"] or "-"
        lines.append(f"    {mine:<3}{theirs:<3}{same:<8}{file['path']}")
    lines.append("cells:")
    for mine, theirs in zip_longest(one["cells"], other["cells"]):
        lines.append(f"    {_cell(mine):<{_CODE_WIDTH + 8}}{_cell(theirs)}".rstrip())
    lines.append("outcomes:")
    lines += [f"    {side['id']}: {_outcome(side)}" for side in (one, other)]
    return "\n".join(one_line(line) for line in lines)


def _cell(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    code = " ".join(cell["code"].split())
    shown = code if len(code) <= _CODE_WIDTH else code[: _CODE_WIDTH - 3] + "..."
    ended = cell["status"] or "running"
    return f"{shown} [{ended if cell['exit_code'] is None else cell['exit_code']}]"


def _outcome(side: dict[str, Any]) -> str:
    failed = sum(cell["exit_code"] not in (0, None) for cell in side["cells"])
    changed = len(side["changes"])
    last = side["cells"][-1]["exit_code"] if side["cells"] else None
    ending = "" if last is None else f", last cell exit {last}"
    return f"{side['state']}, {changed} file(s) changed, {failed} cell(s) failed{ending}"


OP = Op(
    name="fork_diff",
    answer="fork_compared",
    request=ForkDiff,
    where="daemon",
    handler=fork_diff,
    commands=(
        Command(
            name="fork-diff",
            parts=(
                part("name", into="id", metavar="A", help="a fork, or the source of the other"),
                part("other", into="other", metavar="B", help="what it is compared with"),
            ),
            text=_text,
            examples=("agent-pty fork-diff repair-a repair-b", "agent-pty fork-diff work repair-a"),
        ),
    ),
)
