"""`excerpt`: a cell's output, fitted into a number of bytes."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from agent_pty.core.budget import printed_size
from agent_pty.ops.cell_model import OutputExcerpt
from agent_pty.ops.context import Session
from agent_pty.ops.op import LARGEST_PAGE, Op, Request

# As much as a report of a cell has.
INLINE = 64 * 1024
# Less would have space for nothing but the note.
LEAST_BYTES = 24


class Excerpt(Request, frozen=True, kw_only=True):
    """Read the beginning and the end of a cell's output, and how many lines are between them."""

    id: Annotated[str, Meta(description="name of the session")]
    cell: Annotated[str, Meta(description="id of the cell")]
    since: Annotated[int, Meta(ge=0, description="`cursor` of an earlier answer")] = 0
    fit: Annotated[
        int, Meta(ge=LEAST_BYTES, le=LARGEST_PAGE, description="bytes of text, counted as in JSON")
    ] = 8000


async def excerpt(session: Session, request: Excerpt) -> OutputExcerpt:
    """Return what fits."""
    return await session.cells.excerpt(request.cell, since=request.since, room=request.fit)


def room_for(fit: int) -> int:
    """Return a number of bytes that the op takes."""
    return max(LEAST_BYTES, min(LARGEST_PAGE, fit))


def fits(cell: dict[str, Any], room: int) -> bool:
    """Whether a cell's report has all of its output, and in no more than *room* bytes."""
    return not cell["truncated"] and printed_size(cell["output"]) <= room


OP = Op(name="excerpt", answer="excerpt", request=Excerpt, where="session", handler=excerpt)
