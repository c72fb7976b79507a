"""`answer`: a line for the cell that waits."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from agent_pty.core.command import NAME, TOKENS, Command, duration, text_or_stdin
from agent_pty.ops.cell import Id, Limit, Spill, limit_of
from agent_pty.ops.cell_model import CellReport
from agent_pty.ops.cell_text import print_result
from agent_pty.ops.context import Session
from agent_pty.ops.op import Mutation, Op


class AnswerCell(Mutation, frozen=True, kw_only=True):
    """Type a line into the cell that waits; return at its next question or its end.

    The output is what is new since then, without the echo of the line. The command exits as `run`
    does: as the code did; 4: timeout, 8: it waits again, 122: the exit code is unknown.
    """

    id: Id
    text: Annotated[
        str, Meta(description="the line, which Enter ends; a newline at its end is left out")
    ]
    timeout_ms: Limit = 30_000
    spill: Spill = True


async def answer(session: Session, request: AnswerCell) -> CellReport:
    """Answer in the session's own host."""
    return await session.cells.answer(
        request.text.removesuffix("\n"), limit=limit_of(request.timeout_ms), spill=request.spill
    )


OP = Op(
    name="answer",
    answer="cell",
    request=AnswerCell,
    where="session",
    handler=answer,
    commands=(
        Command(
            parts=(
                NAME,
                text_or_stdin("text", help="the line; - reads standard input"),
                duration("timeout_ms", default="30s", note=", 0: no limit"),
                TOKENS,
            ),
            finish=print_result,
            hidden=frozenset({"spill"}),
            examples=("agent-pty answer work yes", "pass show db | agent-pty answer work -"),
        ),
    ),
)
